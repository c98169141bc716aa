"""JAX's collectives, for the bodies of @shard_map functions. Blocks in, blocks out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from shardc.diagnostics import ShardcError
from shardc.frontend.text.builtins.elementwise import numeric
from shardc.frontend.text.builtins.reductions import axis_of
from shardc.frontend.text.builtins.shapes import expand_dims
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import BlockTree, MeshAxes, NamedAxes, Placed, Tensor, Value, describe
from shardc.graph.types import TensorType
from shardc.layout.axes import size_of
from shardc.layout.sharding import KINDS
from shardc.ops import hlo, spmd


def of_each(lower: Callable[..., Tensor]) -> Callable[..., Value]:
    """The collective of a tensor, or of each tensor of a tuple."""

    def of_all(e: Emitter, x: BlockTree, *args: Any, **keywords: Any) -> Value:
        if isinstance(x, tuple):
            return tuple(of_all(e, item, *args, **keywords) for item in x)
        return lower(e, e.tensor(x), *args, **keywords)

    whole = inspect.signature(lower)
    emitter, blocks, *rest = whole.parameters.values()
    form = whole.replace(parameters=[emitter, blocks.replace(annotation="BlockTree"), *rest])
    setattr(of_all, "__signature__", form)
    return of_all


def psum(e: Emitter, x: BlockTree, axis_name: MeshAxes) -> Value:
    """The sum of all devices' blocks. Of a number, so many times the number: psum(1, i) is the size of i."""
    if isinstance(x, tuple):
        return tuple(psum(e, item, axis_name) for item in x)
    return _sum(e, x, axis_name) if isinstance(x, Tensor) else x * size_of(axis_name)


def reduction(kind: str) -> Callable[[Emitter, Tensor, MeshAxes], Tensor]:
    """psum, pmax, pmin: combine the blocks of all devices along the axes."""

    def lower(e: Emitter, x: Tensor, axis_name: MeshAxes) -> Tensor:
        x = numeric(e, x) if kind == "sum" else x
        return e.op(spmd.all_reduce.name, x, result=x.type, axes=axis_name, kind=kind)

    return lower


_sum = reduction("sum")


def pmean(e: Emitter, x: Tensor, axis_name: MeshAxes) -> Tensor:
    """The sum, divided by the number of devices."""
    x = e.inexact(x)
    said: dict[str, Any] = {"shardc.said": "pmean"}
    total = e.op(spmd.all_reduce.name, x, result=x.type, axes=axis_name, kind="sum", **said)
    return e.op(hlo.divide.name, *e.together(total, float(size_of(axis_name))))


def scattered(kind: str) -> Callable[..., Tensor]:
    """psum_scatter, pmax_scatter, pmin_scatter: combine, and keep the device's own part of a dimension."""

    def lower(
        e: Emitter,
        x: Tensor,
        axis_name: MeshAxes,
        scatter_dimension: int | tuple[int, ...] = 0,
        tiled: bool = False,
    ) -> Tensor:
        """Untiled, scatter_dimension has the size of the axes and is dropped.

        Of several dimensions each is split over the axis of the same number.
        """
        x = numeric(e, x) if kind == "sum" else x
        if isinstance(scatter_dimension, int):
            return part(e, x, axis_name, scatter_dimension, tiled)
        dims = tuple(axis_of(e, dim, x.rank) for dim in scatter_dimension)
        if len(dims) != len(axis_name) or not tiled:
            over, whole = ", ".join(axis.name for axis in axis_name), "" if tiled else " without tiled=True"
            raise e.error(
                f"p{kind}_scatter over {over} into {len(dims)} dimensions{whole}",
                "as many axes as dimensions, and tiled=True: psum_scatter(x, (i, j), (0, 2), tiled=True)",
            )
        for axis, dim in zip(axis_name, dims, strict=True):
            x = part(e, x, (axis,), dim, tiled)
        return x

    def part(e: Emitter, x: Tensor, axis_name: MeshAxes, scatter_dimension: int, tiled: bool) -> Tensor:
        dim, parts = axis_of(e, scatter_dimension, x.rank), size_of(axis_name)
        _check_parts(e, f"p{kind}_scatter", x, axis_name, dim, tiled)
        result = e.op(
            spmd.reduce_scatter.name,
            x,
            result=x.type.with_shape(_scaled(x.shape, dim, 1, parts)),
            axes=axis_name,
            dim=dim,
            kind=kind,
        )
        return result if tiled else e.reshape(result, x.shape[:dim] + x.shape[dim + 1 :])

    return lower


def all_gather(
    e: Emitter, x: Tensor, axis_name: MeshAxes, axis: int = 0, tiled: bool = False, to: str = "varying"
) -> Tensor:
    """All devices' blocks joined along `axis`; untiled along a new dimension there.

    With to="invarying" the result is typed as the same on all devices.
    """
    if to not in ("varying", "invarying"):
        raise e.error(f'all_gather has no to="{to}"', 'it is to="varying" or to="invarying"')
    if not tiled:
        x = expand_dims(e, x, axis)
    dim = axis_of(e, axis, x.rank)
    return e.op(
        spmd.all_gather.name,
        x,
        result=x.type.with_shape(_scaled(x.shape, dim, size_of(axis_name), 1)),
        axes=axis_name,
        dim=dim,
        invariant=to == "invarying",
    )


def all_to_all(
    e: Emitter, x: Tensor, axis_name: MeshAxes, split_axis: int, concat_axis: int, tiled: bool = False
) -> Tensor:
    """Part i of split_axis goes to device i; what arrives is joined along concat_axis. Untiled, split_axis
    has the size of the axes and is dropped, and concat_axis is a new dimension.
    """
    split, parts = axis_of(e, split_axis, x.rank), size_of(axis_name)
    _check_parts(e, "all_to_all", x, axis_name, split, tiled)
    concat = axis_of(e, concat_axis, x.rank)
    if not tiled:
        return _untiled_all_to_all(e, x, axis_name, split, concat)
    shape = _scaled(_scaled(x.shape, split, 1, parts), concat, parts, 1)
    return _all_to_all(e, x, axis_name, split, concat, shape)


def _untiled_all_to_all(e: Emitter, x: Tensor, axes: MeshAxes, split: int, concat: int) -> Tensor:
    """The blocks along split swap places with the devices; then that dimension moves to concat."""
    swapped = _all_to_all(e, x, axes, split, split, x.shape)
    order = [i for i in range(x.rank) if i != split]
    order.insert(concat, split)
    if order == list(range(x.rank)):
        return swapped
    return e.op(hlo.transpose.name, swapped, permutation=tuple(order))


def _all_to_all(
    e: Emitter, x: Tensor, axes: MeshAxes, split: int, concat: int, shape: tuple[int, ...]
) -> Tensor:
    result = x.type.with_shape(shape)
    return e.op(spmd.all_to_all.name, x, result=result, axes=axes, split_dim=split, concat_dim=concat)


def ragged_all_to_all(
    e: Emitter,
    x: Tensor,
    output: Tensor,
    input_offsets: Tensor,
    send_sizes: Tensor,
    output_offsets: Tensor,
    recv_sizes: Tensor,
    axis_name: MeshAxes,
) -> Tensor:
    """send_sizes rows of x from input_offsets on go to each device in turn, which puts them into its `output`
    from output_offsets on; recv_sizes is how many come from each.
    """
    tables = (input_offsets, send_sizes, output_offsets, recv_sizes)
    return e.op(spmd.ragged_all_to_all.name, x, output, *tables, result=output.type, axes=axis_name)


def ppermute(e: Emitter, x: Tensor, axis_name: MeshAxes, perm: Placed) -> Tensor:
    """Send blocks from source to destination for each (source, destination) pair; others receive zeros."""
    pairs = _pairs(perm)
    ends = ("source", "sends"), ("destination", "receives")
    for (end, does), numbers in zip(ends, zip(*pairs, strict=True), strict=False):
        _check_numbers(perm, axis_name, end, does, numbers)
    return e.op(spmd.collective_permute.name, x, result=x.type, axes=axis_name, pairs=pairs)


def _pairs(perm: Placed) -> tuple[tuple[int, int], ...]:
    pairs: list[tuple[int, int]] = []
    for item in perm.value if isinstance(perm.value, tuple) else (perm.value,):
        match item:
            case (int() as source, int() as destination):
                pairs.append((source, destination))
            case _:
                raise ShardcError(
                    f"perm is a list of (source, destination) pairs, not of {describe(item)}",
                    perm.loc,
                    "[(0, 1), (1, 0)], or [(k, (k + 1) % 4) for k in range(4)]",
                )
    return tuple(pairs)


def _check_numbers(perm: Placed, axes: MeshAxes, end: str, does: str, numbers: Sequence[int]) -> None:
    """An error unless each number is a position along the axes, and there once."""
    count, over, seen = size_of(axes), ", ".join(axis.name for axis in axes), set[int]()
    for number in numbers:
        if not 0 <= number < count:
            raise ShardcError(
                f"perm names the {end} {number}, and the devices along {over} are 0 to {count - 1}",
                perm.loc,
                f"% {count} goes round: [(k, (k + 1) % {count}) for k in range({count})]",
            )
        if number in seen:
            raise ShardcError(
                f"perm names the {end} {number} twice",
                perm.loc,
                f"in one ppermute a device {does} once; all_gather gives everyone everything",
            )
        seen.add(number)


def pshuffle(e: Emitter, x: Tensor, axis_name: MeshAxes, perm: Placed) -> Tensor:
    """Each device gets the block of the device that perm has at its place."""
    count = size_of(axis_name)
    sources = perm.value if isinstance(perm.value, tuple) else (perm.value,)
    if {source for source in sources if isinstance(source, int)} != {*range(count)} or len(sources) != count:
        raise ShardcError(f"pshuffle: perm has each of 0 to {count - 1} once", perm.loc)
    pairs = tuple((source, place) for place, source in enumerate(sources))
    return ppermute(e, x, axis_name, replace(perm, value=pairs))


def pswapaxes(e: Emitter, x: Tensor, axis_name: MeshAxes, axis: int) -> Tensor:
    """The blocks along a dimension, which has the size of the axes, swap places with the devices."""
    return all_to_all(e, x, axis_name, axis, axis)


def pbroadcast(e: Emitter, x: Tensor, axis_name: MeshAxes, source: int) -> Tensor:
    """The block of device `source` along the axes, on all of them."""
    count = size_of(axis_name)
    if not 0 <= source < count:
        over = ", ".join(axis.name for axis in axis_name)
        raise e.error(f"{over} has {count} devices, and source {source} is none of them", f"0 to {count - 1}")
    return e.op(spmd.collective_broadcast.name, x, result=x.type, axes=axis_name, root=source)


def axis_index(e: Emitter, axis_name: MeshAxes) -> Tensor:
    """This device's position along the axes (i32), the last axis fastest."""
    return e.op(spmd.axis_index.name, result=TensorType((), "i32"), axes=axis_name)


def axis_size(e: Emitter, axis_name: NamedAxes) -> int:
    """The number of devices along the axes, known while compiling."""
    return size_of(axis_name)


def pvary(e: Emitter, x: Tensor, axis_name: MeshAxes) -> Tensor:
    """jax.lax.pcast(x, axes, to="varying"): the same block, typed as differing between devices."""
    return e.op(spmd.vary.name, x, result=x.type, axes=axis_name)


def pcast(e: Emitter, x: Tensor, axis_name: MeshAxes, to: str) -> Tensor:
    """The same block, typed as differing between devices."""
    if to != "varying":
        raise e.error(f'pcast has no to="{to}"', 'the only one is to="varying"; psum gives what is the same')
    return pvary(e, x, axis_name)


def block(e: Emitter, x: Tensor, axis_name: MeshAxes, axis: int = 0) -> Tensor:
    """The device's own part of a dimension, without communication."""
    dim, parts = axis_of(e, axis, x.rank), size_of(axis_name)
    _check_parts(e, "block", x, axis_name, dim, tiled=True)
    result = x.type.with_shape(_scaled(x.shape, dim, 1, parts))
    return e.op(spmd.all_slice.name, x, result=result, axes=axis_name, dim=dim)


def to_partial(e: Emitter, x: Tensor, axis_name: MeshAxes, kind: str = "sum") -> Tensor:
    """x on the first device, and on the others what changes no sum (or max, min): their sum is x."""
    if kind not in KINDS:
        raise e.error(f"{kind} is no kind of partial result", f"the kinds are {', '.join(KINDS)}")
    return e.op(spmd.to_partial.name, x, result=x.type, axes=axis_name, kind=kind)


def _check_parts(e: Emitter, name: str, x: Tensor, axes: MeshAxes, dim: int, tiled: bool) -> None:
    """A located error unless a dimension of the block can be split over the axes."""
    size, parts, over = x.shape[dim], size_of(axes), ", ".join(axis.name for axis in axes)
    block = f"{x.value.name_hint}: {x.type}" if x.value.name_hint else f"the block {x.type}"
    if tiled and size % parts:
        raise e.error(
            f"{name} over {over} splits dimension {dim} of {block} into {parts} parts, "
            f"and {parts} does not divide {size}",
            f"choose another dimension, or pad this one to {-(-size // parts) * parts}",
        )
    if not tiled and size != parts:
        raise e.error(
            f"{name} over {over} without tiled=True takes a dimension {dim} of size {parts}, the number of "
            f"devices, and {block} has {size}",
            f"with tiled=True it splits the dimension into {parts} parts",
        )


def _scaled(shape: tuple[int, ...], dim: int, times: int, parts: int) -> tuple[int, ...]:
    return tuple(size * times // parts if i == dim else size for i, size in enumerate(shape))
