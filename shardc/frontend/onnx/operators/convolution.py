"""Convolutions."""

from __future__ import annotations

from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import add, mul, pad, sub, transpose
from shardc.frontend.onnx.operators.windows import Pairs, padding, window
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.attrs import ConvDims
from shardc.graph.types import TensorType
from shardc.ops import hlo


def convolve(
    e: Emitter,
    x: Tensor,
    kernel: Tensor,
    strides: tuple[int, ...],
    pads: Pairs,
    spread: tuple[int, ...],
    dilations: tuple[int, ...],
    groups: int,
    transposed: bool = False,
) -> Tensor:
    """x[N, C, …] with kernel[O, C / groups, …], or [C / groups, O, …] if `transposed`.

    `spread` is the distance that the elements of x are moved apart to.
    """
    rank = x.rank - 2
    first = tuple(range(2, rank + 2))
    inputs, outputs = (0, 1) if transposed else (1, 0)
    if groups < 1 or x.shape[1] != kernel.shape[inputs] * groups or kernel.shape[outputs] % groups:
        raise Invalid(f"a kernel {kernel.type} in {groups} groups does not fit {x.type}")
    sizes = [
        ((size - 1) * apart + 1 + sum(pair) - ((k - 1) * d + 1)) // stride + 1
        for size, apart, pair, k, d, stride in zip(
            x.shape[2:], spread, pads, kernel.shape[2:], dilations, strides, strict=True
        )
    ]
    return e.op(
        hlo.convolution.name,
        x,
        kernel,
        window_strides=strides,
        padding=pads,
        lhs_dilation=spread,
        rhs_dilation=dilations,
        window_reversal=(False,) * rank,
        dimension_numbers=ConvDims(0, 1, first, inputs, outputs, first, 0, 1, first),
        feature_group_count=groups,
        batch_group_count=1,
        precision_config=("DEFAULT", "DEFAULT"),
        result=TensorType((x.shape[0], kernel.shape[outputs], *(max(0, s) for s in sizes)), x.dtype),
    )


def biased(e: Emitter, x: Tensor, bias: Tensor) -> Tensor:
    """x plus a number per channel."""
    return add(e, x, e.broadcast_in_dim(bias, x.shape, (1,)))


def _plain(n: Node, x: Tensor, kernel: Tensor) -> Tensor:
    if x.rank < 3 or kernel.rank != x.rank:
        raise Invalid(f"an image {x.type} and a kernel {kernel.type}")
    _check_kernel(n, kernel)
    w = window(n, x.shape[2:], kernel.shape[2:])
    ones = (1,) * (x.rank - 2)
    return convolve(n.e, x, kernel, w.strides, w.pads, ones, w.dilations, n.int("group", 1))


def _check_kernel(n: Node, kernel: Tensor) -> None:
    """The kernel has the shape that the node states, if it states one."""
    stated = n.ints("kernel_shape")
    if stated is not None and tuple(stated) != kernel.shape[2:]:
        raise Invalid(f"kernel_shape {list(stated)} for a kernel {kernel.type}")


def _conv(n: Node) -> Tensor:
    result = _plain(n, n.x(0), n.x(1))
    return biased(n.e, result, n.x(2)) if n.has(2) else result


def _conv_transpose(n: Node) -> Tensor:
    """The gradient of a convolution: the image spread out by the strides, the kernel reversed."""
    e, x, kernel, groups = n.e, n.x(0), n.x(1), n.int("group", 1)
    rank = x.rank - 2
    _check_kernel(n, kernel)
    strides = n.ints("strides") or (1,) * rank
    dilations = n.ints("dilations") or (1,) * rank
    more = n.ints("output_padding") or (0,) * rank
    reach = tuple((k - 1) * d + 1 for k, d in zip(kernel.shape[2:], dilations, strict=True))
    full = [s * (size - 1) + m + r for s, size, m, r in zip(strides, x.shape[2:], more, reach, strict=True)]
    pads = _transposed_pads(n, full, strides, x.shape[2:])
    channels, outputs = kernel.shape[0], kernel.shape[1]
    if groups < 1 or channels % groups:
        raise Invalid(f"{channels} channels in {groups} groups")
    parts = e.reshape(kernel, (groups, channels // groups, outputs, *kernel.shape[2:]))
    moved = transpose(e, parts, (1, 0, 2, *range(3, rank + 3))) if groups > 1 else parts
    swapped = e.reshape(moved, (channels // groups, groups * outputs, *kernel.shape[2:]))
    turned = e.op(hlo.reverse.name, swapped, dimensions=tuple(range(2, rank + 2)))
    around = tuple((r - 1, r - 1 + m) for r, m in zip(reach, more, strict=True))
    cut = [(min(0, a - low), min(0, b - high)) for (a, b), (low, high) in zip(around, pads, strict=True)]
    inside = tuple(
        (max(0, a - low), max(0, b - high)) for (a, b), (low, high) in zip(around, pads, strict=True)
    )
    result = convolve(e, x, turned, (1,) * rank, inside, strides, dilations, groups, transposed=True)
    result = pad(e, result, 0, (0, 0, *(low for low, _ in cut)), (0, 0, *(high for _, high in cut)))
    return biased(e, result, n.x(2)) if n.has(2) else result


def _transposed_pads(n: Node, full: list[int], strides: tuple[int, ...], sizes: tuple[int, ...]) -> Pairs:
    """What is cut off the whole result: the padding of the convolution that this is the gradient of."""
    auto, shape = n.text("auto_pad", "NOTSET"), n.ints("output_shape")
    if shape is not None:
        shape = shape[-len(full) :]
    elif auto in ("SAME_UPPER", "SAME_LOWER"):
        shape = tuple(size * stride for size, stride in zip(sizes, strides, strict=True))
    if shape is None:
        return padding(n, sizes, sizes, strides)
    totals = [whole - wanted for whole, wanted in zip(full, shape, strict=True)]
    if auto == "SAME_UPPER":
        return tuple((total // 2, total - total // 2) for total in totals)
    return tuple((total - total // 2, total // 2) for total in totals)


def _shifted(n: Node, x: int, zero: int, at: int) -> Tensor:
    """An input in i32, less its zero point, which may be one per channel."""
    e, whole = n.e, n.e.cast(n.x(x), "i32")
    if not n.has(zero):
        return whole
    point = e.cast(n.x(zero), "i32")
    if point.type.size == 1:
        return sub(e, whole, e.reshape(point, ()))
    return sub(e, whole, e.broadcast_in_dim(point, whole.shape, (at,)))


def _conv_integer(n: Node) -> Tensor:
    return _plain(n, _shifted(n, 0, 2, 1), _shifted(n, 1, 3, 0))


def _qlinear_conv(n: Node) -> Tensor:
    from shardc.frontend.onnx.operators.quantise import requantise

    e = n.e
    product = _plain(n, _shifted(n, 0, 2, 1), _shifted(n, 3, 5, 0))
    if n.has(8):
        product = biased(e, product, n.x(8))
    scale = mul(e, n.x(4), e.reshape(n.x(1), ()))
    if scale.type.size > 1:
        scale = e.broadcast_in_dim(scale, product.shape, (1,))
    else:
        scale = e.reshape(scale, ())
    scaled = mul(e, e.cast(product, "f32"), scale)
    return requantise(e, scaled, e.reshape(n.x(6), ()), e.reshape(n.x(7), ()))


OPERATORS: dict[str, Lower] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "ConvInteger": _conv_integer,
    "QLinearConv": _qlinear_conv,
}
