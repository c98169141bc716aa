"""Subscripts: x[:, 0:4, ::2], integers, None and `...`, as in NumPy's basic indexing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from shardc.frontend.text.builtins.elementwise import comparison
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Dots, Tensor, Value, describe
from shardc.ops import hlo


class Range(Struct, frozen=True):
    """`start:stop:step` with what was written, None where nothing was."""

    start: Value
    stop: Value
    step: Value


Subscript: TypeAlias = "Range | Value"


def basic(e: Emitter, x: Tensor, items: Sequence[Subscript]) -> Tensor:
    """x[items], without tensors but scalars: one slice (and reverse, if a step is negative), a reshape."""
    starts, stops, steps = [0] * x.rank, list(x.shape), [1] * x.rank
    flipped: list[int] = []
    shape: list[int] = []
    dynamic: list[tuple[int, Tensor]] = []
    dim = 0
    for item in items:
        if item is None:
            shape.append(1)
            continue
        size = x.shape[dim]
        if isinstance(item, Tensor):
            dynamic.append((dim, item))
        elif isinstance(item, int):
            starts[dim] = checked_position(e, x, dim, item)
            stops[dim] = starts[dim] + 1
        else:
            assert isinstance(item, Range)
            chosen = range(size)[bounds(e, item)]
            if chosen.step < 0:
                flipped.append(dim)
                chosen = chosen[::-1]
            starts[dim], steps[dim] = chosen.start if chosen else 0, chosen.step
            stops[dim] = chosen[-1] + 1 if chosen else starts[dim]
            shape.append(len(chosen))
        dim += 1
    result = _dynamic(e, x, dynamic)
    for at, _ in dynamic:
        stops[at] = 1
    if starts != [0] * x.rank or tuple(stops) != result.shape or steps != [1] * x.rank:
        result = e.op(
            hlo.slice_.name,
            result,
            start_indices=tuple(starts),
            limit_indices=tuple(stops),
            strides=tuple(steps),
        )
    if flipped:
        result = e.op(hlo.reverse.name, result, dimensions=tuple(flipped))
    return e.reshape(result, tuple(shape))


def filled(e: Emitter, x: Tensor, subscripts: tuple[Subscript, ...]) -> list[Subscript]:
    """One subscript per dimension, besides Nones; `...` and missing ones become full slices."""
    if len(subscripts) == 1 and isinstance(subscripts[0], tuple):
        inner = subscripts[0]  # x[nonzero(m, size=8)] is x[i, j]
        subscripts = inner if any(isinstance(one, Tensor) for one in inner) else subscripts
    if sum(isinstance(item, Dots) for item in subscripts) > 1:
        raise e.error("... stands twice in one subscript")
    used = sum(item is not None and not isinstance(item, Dots) for item in subscripts)
    if used > x.rank:
        raise e.error(f"{used} subscripts for {x.type}, which has {x.rank} dimensions")
    full: list[Subscript] = [Range(None, None, None)] * (x.rank - used)
    items: list[Subscript] = []
    for item in subscripts:
        items += full if isinstance(item, Dots) else [_checked(e, item)]
    return items if any(isinstance(item, Dots) for item in subscripts) else items + full


def _checked(e: Emitter, item: Subscript) -> Subscript:
    if (
        isinstance(item, Tensor | tuple)
        or item is None
        or isinstance(item, Range)
        or (isinstance(item, int) and not isinstance(item, bool))
    ):
        return item
    raise e.error(f"a subscript is a number, a slice, integers, None or ..., not {describe(item)}")


def checked_position(e: Emitter, x: Tensor, dim: int, item: int) -> int:
    """The place of a number, counted from the start; an error if there is none."""
    size = x.shape[dim]
    if not -size <= item < size:
        raise e.error(f"index {item} is out of range for dimension {dim} of {x.type}")
    return item % size


def bounds(e: Emitter, item: Range) -> slice:
    """A slice with its bounds; an error unless they are known while compiling."""
    found: list[int | None] = []
    for part in (item.start, item.stop, item.step):
        if part is not None and (not isinstance(part, int) or isinstance(part, bool)):
            raise e.error(
                f"the bounds of a slice are numbers known while compiling, not {describe(part)}",
                "dynamic_slice(x, starts, sizes) slices at computed places",
            )
        found.append(part)
    if found[2] == 0:
        raise e.error("the step of a slice is 0")
    return slice(*found)


def _dynamic(e: Emitter, x: Tensor, places: list[tuple[int, Tensor]]) -> Tensor:
    """One element at computed indices along some dimensions; the others whole."""
    if not places:
        return x
    zero = e.tensor(0, "i32")
    starts = [zero] * x.rank
    sizes = list(x.shape)
    for dim, place in places:
        starts[dim], sizes[dim] = wrapped(e, e.cast(place, "i32"), x.shape[dim]), 1
    return e.op(hlo.dynamic_slice.name, x, *starts, slice_sizes=tuple(sizes), weak=x.weak)


def wrapped(e: Emitter, indices: Tensor, size: int) -> Tensor:
    """Indices with `size` added to the negative ones."""
    if indices.dtype.startswith("u"):
        return indices
    zero, whole = e.splat(0, indices.type), e.splat(size, indices.type)
    negative = comparison(e, indices, zero, "LT")
    return e.op(hlo.select.name, negative, e.op(hlo.add.name, indices, whole), indices)
