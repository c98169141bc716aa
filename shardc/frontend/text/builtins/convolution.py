"""conv: a window of a kernel slid over an image."""

from __future__ import annotations

from shardc.frontend.text.builtins.products import same_dtype
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor, Value
from shardc.graph.attrs import ConvDims
from shardc.graph.types import TensorType
from shardc.ops import hlo

_SPATIAL = "DHW"


def conv(
    e: Emitter,
    x: Tensor,
    kernel: Tensor,
    strides: int | tuple[int, ...] = 1,
    padding: Value = "VALID",
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
    layout: str = "NCHW",
) -> Tensor:
    """jax.lax.conv_general_dilated for one to three spatial dimensions (W, HW, DHW).

    layout NCHW: x[N, C, H, W], kernel[O, C / groups, H, W]; NHWC: x[N, H, W, C], kernel[H, W, C / groups, O].
    padding is "SAME", "VALID", a number, or a (low, high) pair per spatial dimension.
    """
    rank = x.rank - 2
    if not 1 <= rank <= 3 or kernel.rank != x.rank:
        raise e.error(
            f"conv takes an image and a kernel of one rank from 3 to 5, not {x.type} and {kernel.type}"
        )
    dims = _dims(e, layout, rank)
    image, window = same_dtype(e, x, kernel)
    stride, dilate = per_dim(e, "strides", strides, rank), per_dim(e, "dilation", dilation, rank)
    _check_channels(e, image, window, dims, groups)
    sizes = [image.shape[i] for i in dims.input_spatial]
    reach = [(window.shape[i] - 1) * d + 1 for i, d in zip(dims.kernel_spatial, dilate, strict=True)]
    pads = paddings(e, padding, sizes, reach, stride)
    shape = [0] * image.rank
    shape[dims.output_batch] = image.shape[dims.input_batch]
    shape[dims.output_feature] = window.shape[dims.kernel_output_feature]
    for i, (at, size) in enumerate(zip(dims.output_spatial, sizes, strict=True)):
        shape[at] = max(0, (size + sum(pads[i]) - reach[i]) // stride[i] + 1)
    return e.op(
        hlo.convolution.name,
        image,
        window,
        window_strides=stride,
        padding=pads,
        lhs_dilation=(1,) * rank,
        rhs_dilation=dilate,
        window_reversal=(False,) * rank,
        dimension_numbers=dims,
        feature_group_count=groups,
        batch_group_count=1,
        precision_config=("DEFAULT", "DEFAULT"),
        result=TensorType(tuple(shape), image.dtype),
    )


def _dims(e: Emitter, layout: str, rank: int) -> ConvDims:
    spatial = _SPATIAL[-rank:]
    first, last = tuple(range(2, rank + 2)), tuple(range(1, rank + 1))
    if layout in ("NC" + spatial, "NCHW"):
        return ConvDims(0, 1, first, 1, 0, first, 0, 1, first)
    if layout in (f"N{spatial}C", "NHWC"):
        kernel = tuple(range(rank))
        return ConvDims(0, rank + 1, last, rank, rank + 1, kernel, 0, rank + 1, last)
    raise e.error(f'layout "{layout}" is not NC{spatial} or N{spatial}C')


def per_dim(e: Emitter, name: str, value: int | tuple[int, ...], rank: int) -> tuple[int, ...]:
    """A positive number for each of `rank` dimensions."""
    values = (value,) * rank if isinstance(value, int) else value
    if len(values) != rank or any(one < 1 for one in values):
        raise e.error(f"{name} is a positive number, or one per spatial dimension ({rank})")
    return values


def _check_channels(e: Emitter, image: Tensor, window: Tensor, dims: ConvDims, groups: int) -> None:
    channels, taken = image.shape[dims.input_feature], window.shape[dims.kernel_input_feature]
    outputs = window.shape[dims.kernel_output_feature]
    if groups < 1 or outputs % groups:
        raise e.error(f"{outputs} output channels cannot be in {groups} groups")
    if channels != taken * groups:
        times = f" in {groups} groups" if groups > 1 else ""
        raise e.error(f"the image has {channels} channels, and the kernel takes {taken}{times}")


def paddings(
    e: Emitter, padding: Value, sizes: list[int], reach: list[int], strides: tuple[int, ...]
) -> tuple[tuple[int, int], ...]:
    """(low, high) for each spatial dimension; `reach` is how far a window goes."""
    if padding == "VALID":
        return ((0, 0),) * len(sizes)
    if padding == "SAME":
        total = [
            max(0, (-(-size // stride) - 1) * stride + window - size)
            for size, window, stride in zip(sizes, reach, strides, strict=True)
        ]
        return tuple((pad // 2, pad - pad // 2) for pad in total)
    if isinstance(padding, int):
        return ((padding, padding),) * len(sizes)
    pairs: list[tuple[int, int]] = []
    for item in padding if isinstance(padding, tuple) else ():
        match item:
            case (int() as low, int() as high):
                pairs.append((low, high))
            case _:
                break
    if len(pairs) != len(sizes):
        raise e.error('padding is "SAME", "VALID", a number, or a (low, high) pair per spatial dimension')
    return tuple(pairs)
