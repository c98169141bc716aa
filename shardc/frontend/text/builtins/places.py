"""Subscripts with tensors of indices, as NumPy's: x[ids], x[:, rows, 1:3, columns]."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from shardc.frontend.text.builtins.indexing import (
    Range,
    Subscript,
    basic,
    bounds,
    checked_position,
    filled,
    wrapped,
)
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor, shape_text
from shardc.graph.attrs import GatherDims
from shardc.graph.types import SHORT, TensorType, is_integer
from shardc.ops import hlo


class Places(Struct, frozen=True):
    """Where index tensors point: along which dimensions, with indices of one common shape.

    `at` is where that shape's dimensions come in the result: beside each other where the indices stand, in
    front where something stands between them.
    """

    dims: tuple[int, ...]
    indices: tuple[Tensor, ...]
    at: int

    @property
    def shape(self) -> tuple[int, ...]:
        return self.indices[0].shape


def index(e: Emitter, x: Tensor, subscripts: tuple[Subscript, ...]) -> Tensor:
    """x[subscripts]: numbers and slices first, then one gather for all tensors of indices."""
    items = with_tensors(e, filled(e, x, subscripts))
    if not any(isinstance(item, Tensor) and item.rank for item in items):
        return basic(e, x, items)
    whole = Range(None, None, None)
    rest = basic(e, x, [whole if isinstance(item, Tensor) else item for item in items])
    left = [item for item in items if not isinstance(item, int)]
    places = [(dim, item) for dim, item in enumerate(left) if isinstance(item, Tensor)]
    empty = next((dim for dim, _ in places if rest.shape[dim] == 0), None)
    found = _places(e, rest.shape, places, _front(items))
    if empty is not None and TensorType(found.shape, "i32").size:
        raise e.error(f"dimension {empty} of {rest.type} is empty")
    with e.group("take"):
        return _gather(e, rest, found)


def _front(items: Sequence[Subscript]) -> bool:
    """Whether something stands between the indices."""
    at = [i for i, item in enumerate(items) if isinstance(item, Tensor | int)]
    return at != list(range(at[0], at[-1] + 1))


def _places(e: Emitter, shape: tuple[int, ...], places: Sequence[tuple[int, Tensor]], front: bool) -> Places:
    common = e.broadcast_shape(*(item.shape for _, item in places))
    own = [wrapped(e, as_indices(e, item), shape[dim]) for dim, item in places]
    dims = tuple(dim for dim, _ in places)
    return Places(dims, tuple(e.broadcast_to(one, common) for one in own), 0 if front else dims[0])


def as_indices(e: Emitter, item: Tensor) -> Tensor:
    """Short and weak integers as i32."""
    return e.cast(item, "i32") if item.dtype in SHORT or item.weak else item


def columns(e: Emitter, places: Places) -> Tensor:
    """The indices as vectors, one component for each dimension."""
    parts = [e.reshape(e.cast(one, _dtype(places)), (*places.shape, 1)) for one in places.indices]
    return parts[0] if len(parts) == 1 else e.op(hlo.concatenate.name, *parts, dimension=len(places.shape))


def _dtype(places: Places) -> str:
    own = {one.dtype for one in places.indices}
    return own.pop() if len(own) == 1 else "i64" if own & {"i64", "u64", "u32"} else "i32"


def _gather(e: Emitter, x: Tensor, places: Places) -> Tensor:
    rank = x.rank - len(places.dims) + len(places.shape)
    batch = range(places.at, places.at + len(places.shape))
    return e.op(
        hlo.gather.name,
        x,
        columns(e, places),
        dimension_numbers=GatherDims(
            tuple(i for i in range(rank) if i not in batch),
            places.dims,
            (),
            (),
            places.dims,
            len(places.shape),
        ),
        slice_sizes=tuple(1 if i in places.dims else size for i, size in enumerate(x.shape)),
        indices_are_sorted=False,
        weak=x.weak,
    )


def with_tensors(e: Emitter, items: Sequence[Subscript]) -> list[Subscript]:
    """Subscripts with lists of numbers as tensors. Raises ShardcError for tensors that are no indices."""
    found: list[Subscript] = []
    for item in items:
        if isinstance(item, tuple):
            numbers = [one for one in item if isinstance(one, int) and not isinstance(one, bool)]
            if len(numbers) != len(item):
                raise e.error("a list of indices is one of whole numbers")
            item = e.constant(numbers, TensorType((len(numbers),), "i32"))
        if isinstance(item, Tensor) and item.dtype == "bool":
            hint = (
                "how many it chooses is not known while compiling: x[nonzero(mask, size=8)] says so, and"
                " where(mask, x, y) keeps the shape"
            )
            raise e.error(f"a mask {item.type} is no subscript", hint)
        if isinstance(item, Tensor) and not is_integer(item.dtype):
            raise e.error(f"a subscript is a number, a slice or integers, not {item.type}")
        found.append(item)
    return found


# ---- the same places, to write at


class Window(Struct, frozen=True):
    """What subscripts choose: along which dimensions by indices, and how a written value lies there.

    `shape` is that of x[subscripts]; `order` says which of its dimensions are the batch of the indices and
    then the other dimensions of x, in their order.
    """

    dims: tuple[int, ...]
    indices: tuple[Tensor, ...]
    shape: tuple[int, ...]
    order: tuple[int, ...]


def window(e: Emitter, x: Tensor, items: Sequence[Subscript]) -> Window:
    """Each number, index and slice that is not whole as indices of one shape."""
    tensors = [item for item in items if isinstance(item, Tensor | int)]
    common = e.broadcast_shape(*(item.shape for item in tensors if isinstance(item, Tensor)), ())
    front = bool(tensors) and _front(items)
    shape: list[int] = [*common] if front else []
    lead = [*range(len(common))] if front else None
    dims: list[int] = []
    raw: list[tuple[Tensor, int | None]] = []
    batch: list[int] = []
    whole: list[int] = []
    dim = 0
    for item in items:
        if item is None:
            shape.append(1)
            continue
        if isinstance(item, Tensor | int):
            if lead is None:
                lead = [*range(len(shape), len(shape) + len(common))]
                shape += common
            dims.append(dim)
            raw.append((_point(e, x, dim, item), None))
        else:
            assert isinstance(item, Range)
            chosen = range(x.shape[dim])[bounds(e, item)]
            if chosen == range(x.shape[dim]):
                whole.append(len(shape))
            else:
                dims.append(dim)
                numbers = e.constant(list(chosen), TensorType((len(chosen),), "i32"))
                raw.append((numbers, len(batch)))
                batch.append(len(shape))
            shape.append(len(chosen))
        dim += 1
    sizes = (*common, *(shape[i] for i in batch))
    indices = tuple(
        e.broadcast_to(one, sizes) if own is None and not batch else _spread(e, one, own, len(common), sizes)
        for one, own in raw
    )
    return Window(tuple(dims), indices, tuple(shape), (*(lead or ()), *batch, *whole))


def _point(e: Emitter, x: Tensor, dim: int, item: Tensor | int) -> Tensor:
    if isinstance(item, int):
        return e.splat(checked_position(e, x, dim, item), TensorType((), "i32"))
    return wrapped(e, as_indices(e, item), x.shape[dim])


def _spread(e: Emitter, one: Tensor, own: int | None, common: int, sizes: tuple[int, ...]) -> Tensor:
    """Indices over all of the batch: those of a slice along its own dimension, others along the first."""
    if own is not None:
        return e.broadcast_in_dim(one, sizes, (common + own,))
    aligned = e.broadcast_to(one, sizes[:common])
    return e.broadcast_in_dim(aligned, sizes, tuple(range(common)))


def checked_value(e: Emitter, x: Tensor, value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A value to be written at places of that shape."""
    if value.rank > len(shape):
        raise e.error(f"a value {value.type} is written where {shape_text(shape)} is chosen of {x.type}")
    return e.broadcast_to(value, shape)
