"""Normalisations."""

from __future__ import annotations

from math import prod

from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import (
    abs_,
    add,
    axis,
    calc,
    choose,
    compare,
    div,
    mul,
    sqrt,
    sub,
    wide,
)
from shardc.frontend.onnx.operators.reductions import mean, moments, square_sum, sum_
from shardc.frontend.text.builtins.reductions import combiner
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType
from shardc.ops import hlo


def channels(e: Emitter, x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A number per channel, laid along dimension 1."""
    return e.broadcast_in_dim(x, shape, (1,))


def _inverse(e: Emitter, variance: Tensor, epsilon: float) -> Tensor:
    """1 / sqrt(variance + epsilon)."""
    return e.op(hlo.rsqrt.name, add(e, variance, epsilon))


def _batch(n: Node) -> Tensor | list[Tensor]:
    """(x - mean) / sqrt(var + epsilon) * scale + bias; in training of the batch's own moments."""
    e, x = n.e, n.x(0)
    epsilon = n.float("epsilon", 1e-5)
    mean_, variance = n.x(3), n.x(4)
    if n.int("training_mode"):
        return _training(n, epsilon)
    scale = calc(e, hlo.multiply, e.cast(n.x(1), variance.dtype), _inverse(e, variance, epsilon))
    center = sub(e, x, channels(e, e.cast(mean_, x.dtype), x.shape))
    scaled = mul(e, center, channels(e, e.cast(scale, x.dtype), x.shape))
    return add(e, scaled, channels(e, e.cast(n.x(2), x.dtype), x.shape))


def _training(n: Node, epsilon: float) -> list[Tensor]:
    e, x, momentum = n.e, n.x(0), n.float("momentum", 0.9)
    dims = tuple(i for i in range(x.rank) if i != 1)
    average = mean(e, x, dims)
    center = sub(e, x, channels(e, average, x.shape))
    variance = mean(e, mul(e, center, center), dims)
    scale = mul(e, n.x(1), _inverse(e, variance, epsilon))
    y = add(e, mul(e, center, channels(e, scale, x.shape)), channels(e, n.x(2), x.shape))
    news = [
        add(e, mul(e, old, momentum), mul(e, new, 1 - momentum))
        for old, new in ((n.x(3), average), (n.x(4), variance))
    ]
    return [y, *news]


def _instance(n: Node) -> Tensor:
    e, x = n.e, n.x(0)
    center, variance = moments(e, x, tuple(range(2, x.rank)))
    y = mul(e, center, _inverse(e, variance, n.float("epsilon", 1e-5)))
    return add(e, mul(e, y, channels(e, n.x(1), x.shape)), channels(e, n.x(2), x.shape))


def _layer(n: Node) -> list[Tensor]:
    """Over all axes from `axis` on, computed in f32."""
    e, x = n.e, n.x(0)
    dims = tuple(range(axis(n.int("axis", -1), x.rank), x.rank))
    floats = wide(e, x)
    center, variance = moments(e, floats, dims)
    inverse = _inverse(e, variance, n.float("epsilon", 1e-5))
    y = mul(e, e.cast(mul(e, center, inverse), x.dtype), n.x(1))
    y = add(e, y, n.x(2)) if n.has(2) else y
    return [y, mean(e, floats, dims, True), inverse]


def _rms(n: Node) -> Tensor:
    e, x = n.e, n.x(0)
    dims = tuple(range(axis(n.int("axis", -1), x.rank), x.rank))
    floats = wide(e, x)
    inverse = _inverse(e, mean(e, mul(e, floats, floats), dims, True), n.float("epsilon", 1e-5))
    scaled = mul(e, floats, inverse)
    return e.cast(mul(e, scaled, e.cast(n.x(1), scaled.dtype)), n.type(1).dtype)


def _group(n: Node) -> Tensor:
    """Channels in groups; before opset 21 scale and bias are per group."""
    e, x, groups = n.e, n.x(0), n.int("num_groups")
    size = x.shape[1] // groups
    parts = e.reshape(wide(e, x), (x.shape[0], groups, size * prod(x.shape[2:])))
    center, variance = moments(e, parts, (2,))
    y = mul(e, center, _inverse(e, variance, n.float("epsilon", 1e-5)))
    scale, bias = (e.cast(n.x(i), y.dtype) for i in (1, 2))
    if scale.shape[0] == groups and n.version < 21:
        y = add(e, mul(e, y, channels(e, scale, y.shape)), channels(e, bias, y.shape))
        return e.cast(e.reshape(y, x.shape), x.dtype)
    y = e.reshape(y, x.shape)
    return e.cast(add(e, mul(e, y, channels(e, scale, y.shape)), channels(e, bias, y.shape)), x.dtype)


def _lp(n: Node) -> Tensor:
    """x over its p-norm; 0 where that is 0."""
    e, x = n.e, n.x(0)
    dims = (axis(n.int("axis", -1), x.rank),)
    if n.int("p", 2) == 1:
        norm = sum_(e, abs_(e, x), dims, True)
    else:
        norm = sqrt(e, square_sum(e, x, dims, True))
    whole = e.broadcast_to(norm, x.shape)
    return choose(e, compare(e, "EQ", whole, 0), e.splat(0.0, x.type), div(e, x, whole))


def _local_response(n: Node) -> Tensor:
    """x / (bias + alpha / size * sum of squares of the channels around) ** beta."""
    e, x, size = n.e, n.x(0), n.int("size")
    squares = mul(e, x, x)
    ones = (1,) * x.rank
    (total,) = e.ops(
        hlo.reduce_window.name,
        squares,
        e.splat(0.0, TensorType((), x.dtype)),
        regions=[combiner(e, hlo.add.name, x.dtype)],
        window_dimensions=tuple(size if i == 1 else 1 for i in range(x.rank)),
        window_strides=ones,
        base_dilations=ones,
        window_dilations=ones,
        padding=tuple(((size - 1) // 2, size // 2) if i == 1 else (0, 0) for i in range(x.rank)),
    )
    inner = add(e, mul(e, total, n.float("alpha", 1e-4) / size), n.float("bias", 1.0))
    return div(e, x, calc(e, hlo.power, inner, n.float("beta", 0.75)))


def _mean_variance(n: Node) -> Tensor:
    e, x = n.e, n.x(0)
    dims = tuple(sorted(axis(a, x.rank) for a in n.ints("axes") or (0, 2, 3)))
    center, variance = moments(e, x, dims)
    return div(e, center, add(e, sqrt(e, variance), 1e-9))


OPERATORS: dict[str, Lower] = {
    "BatchNormalization": _batch,
    "InstanceNormalization": _instance,
    "LayerNormalization": _layer,
    "RMSNormalization": _rms,
    "GroupNormalization": _group,
    "LpNormalization": _lp,
    "LRN": _local_response,
    "MeanVarianceNormalization": _mean_variance,
}
