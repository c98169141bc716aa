"""OneFlow's expand and repeat: shapes, strides, and what each device makes of its block.

expand copies dimensions of size 1, and the whole tensor over new leading dimensions. The element of the
output at some position is that of the input at the sum of position times output stride, with stride 0 where
copied.
Splits of the input carry over to the output, where a device's own sizes take the place of the logical ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec import Struct

from shardc.layout.mesh import LayoutError
from shardc.layout.sharding import Dim, Sharding
from shardc.layout.slices import local_shapes
from shardc.layout.uneven import Policy

Shape = tuple[int, ...]


class LocalExpand(Struct, frozen=True):
    """What one device computes: `input` of `input_stride` expanded to `sizes`, read by `output_stride`."""

    input: Shape
    input_stride: Shape
    sizes: Shape
    output_stride: Shape


class RepeatAsExpand(Struct, frozen=True):
    """repeat as a reshape, an expand and a reshape: the shape after each."""

    reshape_in: Shape
    expand_size: Shape
    reshape_out: Shape


def strides(shape: Sequence[int]) -> Shape:
    """How many elements apart neighbours along each dimension are, in row-major order."""
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def expanded_shape(shape: Sequence[int], sizes: Sequence[int]) -> Shape:
    """The shape of expand(input of `shape`, sizes); -1 keeps a dimension. LayoutError if it cannot be."""
    new = len(sizes) - len(shape)
    if new < 0:
        raise LayoutError(
            f"the number of sizes provided ({len(sizes)}) must be greater or equal to the number of "
            f"dimensions of the tensor ({len(shape)})"
        )
    for i, size in enumerate(sizes):
        if size < -1:
            raise LayoutError(f"negative size {size} for dimension {i}")
        if size == -1 and i < new:
            raise LayoutError(f"-1 is not allowed in dimension {i}, which is new")
        if i >= new and size not in (-1, shape[i - new]) and shape[i - new] != 1:
            raise LayoutError(
                f"the expanded size ({size}) must match the existing size ({shape[i - new]}) at dimension "
                f"{i - new}, which is not 1"
            )
    return tuple(shape[i - new] if size == -1 else size for i, size in enumerate(sizes))


def expand_strides(shape: Sequence[int], sizes: Sequence[int]) -> Shape:
    """Per dimension of the output how far apart in the input neighbours are: 0 where they are copies."""
    out = expanded_shape(shape, sizes)
    new = len(out) - len(shape)
    kept = strides(shape)
    return tuple(kept[i - new] if i >= new and size == shape[i - new] else 0 for i, size in enumerate(out))


def expanded_sharding(sharding: Sharding, shape: Sequence[int], sizes: Sequence[int]) -> Sharding:
    """How the output lies if the input lies so. LayoutError if a dimension that is copied is split."""
    out = expanded_shape(shape, sizes)
    new = len(out) - len(shape)
    for i, dim in enumerate(sharding.dims):
        if dim.axes and out[i + new] != shape[i]:
            raise LayoutError(
                f"dimension {i} is split and cannot be expanded from {shape[i]} to {out[i + new]}"
            )
    dims = (Dim(),) * new + sharding.dims
    return Sharding(sharding.mesh, dims, sharding.replicated, sharding.unreduced, sharding.kind)


def local_expand(
    sharding: Sharding, shape: Sequence[int], sizes: Sequence[int], device: int, policy: Policy = "balanced"
) -> LocalExpand:
    """What device number `device` of the mesh computes if the input lies as `sharding` says."""
    out = expanded_sharding(sharding, shape, sizes)
    mine = tuple(local_shapes(sharding, shape, policy)[device].tolist())
    theirs = tuple(local_shapes(out, expanded_shape(shape, sizes), policy)[device].tolist())
    stride = tuple(
        0 if kept == 0 else own
        for kept, own in zip(expand_strides(shape, sizes), _aligned(strides(mine), len(theirs)), strict=True)
    )
    return LocalExpand(mine, strides(mine), theirs, stride)


def repeat_as_expand(shape: Sequence[int], repeats: Sequence[int]) -> RepeatAsExpand:
    """How repeat is an expand. Of a dimension of size n, repeated r times:

    n, r > 1    reshape to 1, n; expand to r, n; reshape to r * n
    otherwise   expand n to r if n is 1 or r is 0, else keep it
    """
    new = len(repeats) - len(shape)
    if new < 0:
        raise LayoutError(
            f"Number of dimensions of repeat dims ({len(repeats)}) can not be smaller than number of "
            f"dimensions of tensor ({len(shape)})"
        )
    for i, times in enumerate(repeats):
        if times < 0:
            raise LayoutError(f"dimension {i} cannot be repeated {times} times")
    before: list[int] = []
    expanded = list(repeats[:new])
    after = list(repeats[:new])
    for size, times in zip(shape, repeats[new:], strict=True):
        apart = size > 1 and times > 1
        before += [1, size] if apart else [size]
        expanded += [times, size] if apart else [size if times == 1 else times if size == 1 else size * times]
        after.append(size * times)
    return RepeatAsExpand(tuple(before), tuple(expanded), tuple(after))


def _aligned(stride: Shape, rank: int) -> Shape:
    return (0,) * (rank - len(stride)) + stride
