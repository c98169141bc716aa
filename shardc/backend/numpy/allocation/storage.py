"""Arrays as NumPy holds them, without their elements: which share memory, and in what order it is laid out.

Sizes are in elements for strides and in bytes for buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from msgspec import Struct


class Buffer(Struct, eq=False):
    """Allocated memory; `holders` are the variables and temporaries that keep it."""

    nbytes: int
    holders: int = 0


class View(Struct, frozen=True):
    """An array on a buffer; None for what has none worth counting: a Python number. `owns`: it is the array
    whose memory that is, and no other's view; a reshape that copies gives a view of its copy."""

    buffer: Buffer | None
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    owns: bool = True

    def transposed(self, order: Sequence[int]) -> View:
        shape, strides = tuple(self.shape[d] for d in order), tuple(self.strides[d] for d in order)
        return View(self.buffer, shape, strides, owns=False)

    def sliced(self, shape: Sequence[int], steps: Sequence[int]) -> View:
        strides = tuple(s * step for s, step in zip(self.strides, steps, strict=True))
        return View(self.buffer, tuple(shape), strides, owns=False)

    def repeated(self, shape: Sequence[int]) -> View:
        """What NumPy's broadcasting to a shape gives."""
        missing = len(shape) - len(self.shape)
        strides = (0,) * missing + tuple(
            stride if n == size else 0
            for stride, n, size in zip(self.strides, self.shape, shape[missing:], strict=True)
        )
        return View(self.buffer, tuple(shape), strides, owns=False)

    def reshaped(self, shape: Sequence[int]) -> View | None:
        """The same memory in another shape, or None if NumPy has to copy."""
        strides = _reshaped(self.shape, self.strides, tuple(shape))
        return None if strides is None else View(self.buffer, tuple(shape), strides, owns=False)


def runs_evenly(view: View, result: View) -> bool:
    """Whether going through a result in the order of its memory takes equal steps in an operand."""
    missing = len(result.shape) - len(view.shape)
    if missing < 0:
        return True  # not an operation that goes element by element
    sizes, strides = (1,) * missing + view.shape, (0,) * missing + view.strides
    steps = [
        (-abs(outer), n, stride if size == n else 0)
        for outer, n, size, stride in zip(result.strides, result.shape, sizes, strides, strict=True)
        if n != 1
    ]
    steps.sort(key=lambda step: step[0])
    return all(a[2] == b[1] * b[2] for a, b in pairwise(steps))


def fresh(buffer: Buffer | None, shape: Sequence[int], like: Sequence[View] = ()) -> View:
    """A new array, its dimensions in memory in the order of the first of `like` that has its shape."""
    shape = tuple(shape)
    model = next((v.strides for v in like if v.shape == shape and all(v.strides)), None)
    if model is None:
        return View(buffer, shape, _row_major(shape))
    order = sorted(range(len(shape)), key=lambda d: -abs(model[d]))
    inner = _row_major(tuple(shape[d] for d in order))
    return View(buffer, shape, tuple(inner[order.index(d)] for d in range(len(shape))))


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def _reshaped(
    shape: tuple[int, ...], strides: tuple[int, ...], target: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Strides of the target: dimensions that are merged must lie one inside the other."""
    kept = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    found: list[int] = []
    old = 0
    new = 0
    while new < len(target):
        if target[new] == 1:
            found.append(0)
            new += 1
            continue
        first, size, group = old, 1, [target[new]]
        new += 1
        while size != prod(group):
            if size < prod(group) and old < len(kept):
                size *= kept[old][0]
                old += 1
            elif new < len(target):
                group.append(target[new])
                new += 1
            else:
                return None
        run = kept[first:old]
        for (_, outer), (n, inner) in pairwise(run):
            if outer != n * inner:
                return None
        last = run[-1][1] if run else 0
        found += [last * prod(group[i + 1 :]) for i in range(len(group))]
    return tuple(found)
