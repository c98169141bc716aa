"""Reading and writing at computed places: take, scatter_add, dynamic slices, one_hot."""

from __future__ import annotations

from shardc.frontend.text.builtins.elementwise import comparison
from shardc.frontend.text.builtins.indexing import wrapped
from shardc.frontend.text.builtins.reductions import axis_of, combiner
from shardc.frontend.text.emitter import Emitter, NewRegion
from shardc.frontend.text.values import Dtype, Operand, Tensor, shape_text
from shardc.graph.attrs import GatherDims, ScatterDims
from shardc.graph.types import SHORT, TensorType, is_integer
from shardc.ops import hlo


def take(e: Emitter, x: Tensor, indices: Tensor, axis: int | None = None) -> Tensor:
    """x at `indices` along `axis` (None: of x flattened). Negative indices count from the end; those
    out of range are moved to the nearest one in range.
    """
    if axis is None:
        x, axis = e.reshape(x, (x.type.size,)), 0
    dim = axis_of(e, axis, x.rank)
    if x.shape[dim] == 0 and indices.type.size:
        raise e.error(f"take from dimension {dim} of {x.type}, which is empty")
    with e.group("take"):
        places = wrapped(e, _indices(e, "take", indices), x.shape[dim])
        return _gather(e, x, places, dim)


def _gather(e: Emitter, x: Tensor, places: Tensor, dim: int) -> Tensor:
    column = e.reshape(places, (*places.shape, 1))
    offsets = (*range(dim), *range(dim + places.rank, x.rank - 1 + places.rank))
    return e.op(
        hlo.gather.name,
        x,
        column,
        dimension_numbers=GatherDims(offsets, (dim,), (), (), (dim,), places.rank),
        slice_sizes=tuple(1 if i == dim else size for i, size in enumerate(x.shape)),
        indices_are_sorted=False,
        weak=x.weak,
    )


def take_along_axis(e: Emitter, x: Tensor, indices: Tensor, axis: int = -1) -> Tensor:
    """result[…, i, …] = x[…, indices[…, i, …], …]; the other dimensions are equal, or 1 in one of them."""
    dim = axis_of(e, axis, x.rank)
    pairs = tuple(zip(x.shape, indices.shape, strict=False))
    if indices.rank != x.rank or any(
        a != b and 1 not in (a, b) for i, (a, b) in enumerate(pairs) if i != dim
    ):
        raise e.error(
            f"indices of shape {shape_text(indices.shape)} do not fit {x.type}",
            f"all dimensions but {dim} are equal",
        )
    x = e.broadcast_to(x, tuple(b if a == 1 and i != dim else a for i, (a, b) in enumerate(pairs)))
    with e.group("take_along_axis"):
        places = wrapped(e, _indices(e, "take_along_axis", indices), x.shape[dim])
        return gather_along(e, x, places, dim)


def gather_along(e: Emitter, x: Tensor, places: Tensor, dim: int) -> Tensor:
    """take_along_axis for places that are in range; where they have size 1, dimensions are taken whole."""
    whole = tuple(i for i, n in enumerate(x.shape) if i != dim and places.shape[i] == 1 != n)
    narrow = tuple(i for i in range(x.rank) if i not in whole)
    beside = tuple(i for i in narrow if i != dim)
    batch = tuple(place for place, i in enumerate(narrow) if i != dim)
    return e.op(
        hlo.gather.name,
        x,
        e.reshape(places, (*(places.shape[i] for i in narrow), 1)),
        dimension_numbers=GatherDims(whole, (dim,), beside, batch, (dim,), len(narrow)),
        slice_sizes=tuple(n if i in whole else 1 for i, n in enumerate(x.shape)),
        indices_are_sorted=False,
        weak=x.weak,
    )


def scatter_add(e: Emitter, x: Tensor, indices: Tensor, updates: Operand, axis: int = 0) -> Tensor:
    """x.at[indices].add(updates), along any axis. Updates out of range are dropped."""
    dim = axis_of(e, axis, x.rank)
    update = e.tensor(updates, x.dtype)
    expected = x.shape[:dim] + indices.shape + x.shape[dim + 1 :]
    if update.shape != expected:
        update = e.broadcast_to(update, expected)
    with e.group("scatter_add"):
        places = wrapped(e, _indices(e, "scatter_add", indices), x.shape[dim])
        window = (*range(dim), *range(dim + indices.rank, len(expected)))
        (result,) = e.ops(
            hlo.scatter.name,
            x,
            e.reshape(places, (*places.shape, 1)),
            update,
            regions=[combiner(e, hlo.add.name, x.dtype)],
            weak=x.weak,
            scatter_dimension_numbers=ScatterDims(window, (dim,), (), (), (dim,), places.rank),
            indices_are_sorted=False,
            unique_indices=False,
        )
    return result


def put_along_axis(
    e: Emitter, arr: Tensor, indices: Tensor, values: Operand, axis: int | None, inplace: bool = False
) -> Tensor:
    """arr with values written where take_along_axis would read; values out of range are dropped."""
    if inplace:
        raise e.error("put_along_axis: nothing is changed in place", "x = put_along_axis(x, ids, v, axis)")
    x = e.reshape(arr, (arr.type.size,)) if axis is None else arr
    dim = axis_of(e, 0 if axis is None else axis, x.rank)
    common = tuple(n for i, n in enumerate(indices.shape) if i != dim)
    if indices.rank != x.rank or common != tuple(n for i, n in enumerate(x.shape) if i != dim):
        raise e.error(
            f"indices of shape {shape_text(indices.shape)} do not fit {x.type}",
            f"all dimensions but {dim} are equal",
        )
    others = tuple(i for i in range(x.rank) if i != dim)
    update = e.broadcast_to(e.tensor(values, x.dtype), indices.shape)
    with e.group("scatter"):
        places = wrapped(e, _indices(e, "put_along_axis", indices), x.shape[dim])
        (result,) = e.ops(
            hlo.scatter.name,
            x,
            e.reshape(places, (*places.shape, 1)),
            update,
            regions=[second(x.dtype)],
            weak=x.weak,
            scatter_dimension_numbers=ScatterDims((), (dim,), others, others, (dim,), x.rank),
            indices_are_sorted=False,
            unique_indices=False,
        )
    return e.reshape(result, arr.shape)


def second(dtype: str) -> NewRegion:
    """A body that takes what is written, of what is there and that."""
    scalar = TensorType((), dtype)

    def body(old: Tensor, new: Tensor) -> list[Tensor]:
        return [new]

    return (scalar, scalar), body


def dynamic_slice(
    e: Emitter, x: Tensor, start_indices: tuple[Operand, ...], slice_sizes: tuple[int, ...]
) -> Tensor:
    """slice_sizes elements from start_indices, which are moved so that the slice lies inside."""
    starts = _starts(e, "dynamic_slice", x, start_indices)
    if len(slice_sizes) != x.rank or any(
        not 0 <= size <= whole for size, whole in zip(slice_sizes, x.shape, strict=False)
    ):
        raise e.error(f"slice_sizes {shape_text(slice_sizes)} do not fit {x.type}")
    return e.op(hlo.dynamic_slice.name, x, *starts, slice_sizes=slice_sizes, weak=x.weak)


def dynamic_update_slice(
    e: Emitter, x: Tensor, update: Operand, start_indices: tuple[Operand, ...]
) -> Tensor:
    """x with `update` written at start_indices, which are moved so that it lies inside."""
    patch = e.tensor(update, x.dtype)
    if patch.rank != x.rank or any(a > b for a, b in zip(patch.shape, x.shape, strict=False)):
        raise e.error(f"an update {patch.type} does not fit into {x.type}")
    starts = _starts(e, "dynamic_update_slice", x, start_indices)
    return e.op(hlo.dynamic_update_slice.name, x, patch, *starts, weak=x.weak)


def _starts(e: Emitter, name: str, x: Tensor, starts: tuple[Operand, ...]) -> list[Tensor]:
    if len(starts) != x.rank:
        raise e.error(f"{name} takes a start per dimension: {x.rank} for {x.type}, not {len(starts)}")
    result: list[Tensor] = []
    for dim, start in enumerate(starts):
        if isinstance(start, int) and start < 0:
            start += x.shape[dim]
        place = e.cast(_indices(e, name, e.tensor(start)), "i32")
        if place.rank:
            raise e.error(f"a start index is a scalar, not {place.type}")
        result.append(wrapped(e, place, x.shape[dim]) if isinstance(start, Tensor) else place)
    return result


def _indices(e: Emitter, name: str, indices: Tensor) -> Tensor:
    """Indices as they are, if they are integers; short ones become i32."""
    if not is_integer(indices.dtype):
        raise e.error(f"{name} takes integer indices, not {indices.type}")
    return e.cast(indices, "i32") if indices.dtype in SHORT or indices.weak else indices


def one_hot(e: Emitter, x: Tensor, num_classes: int, dtype: Dtype | None = None, axis: int = -1) -> Tensor:
    """1 where the class is x, 0 elsewhere; the classes are a new dimension at `axis`."""
    if num_classes < 0:
        raise e.error(f"{num_classes} classes")
    if not is_integer(x.dtype):
        raise e.error(f"one_hot takes integers, not {x.type}")
    dim = axis_of(e, axis, x.rank + 1)
    shape = (*x.shape[:dim], num_classes, *x.shape[dim:])
    with e.group("one_hot"):
        classes = e.op(hlo.iota.name, result=TensorType(shape, x.dtype), iota_dimension=dim)
        wanted = e.broadcast_in_dim(x, shape, tuple(i for i in range(len(shape)) if i != dim))
        equal = comparison(e, wanted, classes, "EQ")
        return e.cast(equal, dtype.name if dtype else "f32")
