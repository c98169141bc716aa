"""Activations: functions of (emitter, x) and the node's numbers."""

from __future__ import annotations

from collections.abc import Callable

from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import abs_, add, calc, choose, compare, div, mul, sub
from shardc.frontend.text.builtins.elementwise import gelu
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import is_float
from shardc.ops import hlo


def relu(e: Emitter, x: Tensor) -> Tensor:
    return calc(e, hlo.maximum, x, 0)


def leaky_relu(e: Emitter, x: Tensor, alpha: float) -> Tensor:
    return choose(e, compare(e, "LT", x, 0), mul(e, x, alpha), x)


def elu(e: Emitter, x: Tensor, alpha: float) -> Tensor:
    """alpha (exp x - 1) below zero."""
    low = e.op(hlo.exponential_minus_one.name, x)
    return choose(e, compare(e, "LT", x, 0), mul(e, low, alpha), x)


def hard_sigmoid(e: Emitter, x: Tensor, alpha: float, beta: float) -> Tensor:
    """max(0, min(1, alpha x + beta))."""
    line = add(e, mul(e, x, alpha), beta)
    return calc(e, hlo.maximum, calc(e, hlo.minimum, line, 1), 0)


def softplus(e: Emitter, x: Tensor) -> Tensor:
    """log(1 + exp x), without overflow."""
    small = e.op(hlo.exponential.name, e.op(hlo.negate.name, abs_(e, x)))
    return add(e, relu(e, x), e.op(hlo.log_plus_one.name, small))


def softsign(e: Emitter, x: Tensor) -> Tensor:
    return div(e, x, add(e, abs_(e, x), 1))


def thresholded_relu(e: Emitter, x: Tensor, alpha: float) -> Tensor:
    return choose(e, compare(e, "GT", x, alpha), x, 0)


def _selu(n: Node) -> Tensor:
    return mul(n.e, elu(n.e, n.x(0), n.float("alpha")), n.float("gamma"))


def _celu(n: Node) -> Tensor:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""
    e, x, alpha = n.e, n.x(0), n.float("alpha")
    low = mul(e, e.op(hlo.exponential_minus_one.name, div(e, x, alpha)), alpha)
    return add(e, relu(e, x), calc(e, hlo.minimum, low, 0))


def _prelu(n: Node) -> Tensor:
    e, x = n.e, n.x(0)
    return choose(e, compare(e, "LT", x, 0), mul(e, x, n.x(1)), x)


def _hard_swish(n: Node) -> Tensor:
    return mul(n.e, n.x(0), hard_sigmoid(n.e, n.x(0), 1 / 6, 0.5))


def _mish(n: Node) -> Tensor:
    return mul(n.e, n.x(0), n.e.op(hlo.tanh.name, softplus(n.e, n.x(0))))


def _swish(n: Node) -> Tensor:
    return mul(n.e, n.x(0), n.e.op(hlo.logistic.name, mul(n.e, n.x(0), n.float("alpha", 1.0))))


def _gelu(n: Node) -> Tensor:
    return gelu(n.e, n.x(0), n.text("approximate") == "tanh")


def _shrink(n: Node) -> Tensor:
    """x - bias above lambd, x + bias below -lambd, else 0."""
    e, x, bias, edge = n.e, n.x(0), n.float("bias"), n.float("lambd")
    wide = x if is_float(x.dtype) else e.cast(x, "f32")
    low = choose(e, compare(e, "LT", wide, -edge), add(e, wide, bias), 0)
    return e.cast(choose(e, compare(e, "GT", wide, edge), sub(e, wide, bias), low), x.dtype)


def _with(function: Callable[..., Tensor], *names: str) -> Lower:
    """An activation with these attributes."""
    return lambda n: function(n.e, n.x(0), *(n.float(name) for name in names))


OPERATORS: dict[str, Lower] = {
    "Relu": _with(relu),
    "LeakyRelu": _with(leaky_relu, "alpha"),
    "Elu": _with(elu, "alpha"),
    "Selu": _selu,
    "Celu": _celu,
    "PRelu": _prelu,
    "HardSigmoid": _with(hard_sigmoid, "alpha", "beta"),
    "HardSwish": _hard_swish,
    "Softplus": _with(softplus),
    "Softsign": _with(softsign),
    "ThresholdedRelu": _with(thresholded_relu, "alpha"),
    "Mish": _mish,
    "Swish": _swish,
    "Gelu": _gelu,
    "Shrink": _shrink,
}
