"""Sequences: lists of tensors while compiling. Where a place in one depends on data, that is an error.

parts = SplitToSequence(x)        y = x[0:2]
y = SequenceAt(parts, 0)      ->
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import axis, concat, slice_
from shardc.frontend.onnx.values import Listed, Value
from shardc.frontend.text.values import Tensor

_WHY = "the place in a sequence depends on the value of"


def _construct(n: Node) -> Listed:
    return _listed([value for value in n.inputs if value is not None])


def _empty(n: Node) -> Listed:
    return _listed([])


def _split(n: Node) -> Listed:
    """Parts of stated sizes, or of one size, the last one shorter; without either, of one element, which lose
    its dimension unless keepdims.
    """
    type = n.type(0)
    dim = axis(n.int("axis"), type.rank)
    size = type.shape[dim]
    given = n.known(1, "the parts depend on the value of") if n.has(1) else np.ones((), np.int64)
    if given.ndim == 0:
        part = int(given)
        if part < 1:
            raise Invalid(f"parts of {part} of axis {dim} of {type}")
        sizes = [min(part, size - start) for start in range(0, n.parts(-(-size // part)) * part, part)]
    else:
        sizes = [int(part) for part in given]
    if sum(sizes) != size or min(sizes, default=0) < 0:
        raise Invalid(f"parts {sizes} of axis {dim} of {type}")
    ends = np.cumsum((0, *sizes)).tolist()
    squeezed = not n.has(1) and not n.int("keepdims", 1)
    return _listed([_part(n, dim, start, end, squeezed) for start, end in pairwise(ends)])


def _part(n: Node, dim: int, start: int, end: int, squeezed: bool) -> Value:
    """A slice of input 0, known where that is; without the dimension if it is squeezed."""
    value = n.value(0)
    if value.array is not None:
        cut = np.take(value.array, range(start, end), dim)
        return n.bodies.known("", cut.squeeze(dim) if squeezed else cut)
    part = slice_(n.e, value.tensor(), dim, start, end)
    if squeezed:
        part = n.e.reshape(part, (*part.shape[:dim], *part.shape[dim + 1 :]))
    return Value("", part.type, emitted=part)


def _at(n: Node) -> Value | Tensor:
    items = n.items(0)
    value = items[_place(n, 1, len(items))]
    return value.tensor() if value.array is None else n.bodies.known("", value.array)


def _insert(n: Node) -> Listed:
    """Before a place, or at the end."""
    items = n.items(0)
    place = _place(n, 2, len(items) + 1, len(items)) if n.has(2) else len(items)
    return _listed([*items[:place], n.value(1), *items[place:]])


def _erase(n: Node) -> Listed:
    items = n.items(0)
    place = _place(n, 1, len(items)) if n.has(1) else len(items) - 1
    if not items:
        raise Invalid("there is no tensor to erase")
    return _listed([*items[:place], *items[place + 1 :]])


def _place(n: Node, index: int, count: int, size: int | None = None) -> int:
    """An input as one of `count` places; it counts from the end of `size` (as many) where it is negative."""
    number = int(n.known(index, _WHY).reshape(-1)[0])
    size = count if size is None else size
    if not -size <= number < count:
        raise Invalid(f"place {number} of a sequence of {size}")
    return number % size if number < 0 else number


def _length(n: Node) -> Value:
    return n.bodies.known("", np.array(len(n.items(0)), np.int64))


def _concat(n: Node) -> Value | Tensor:
    """One after the other, or stacked along a new axis; known where all tensors are."""
    items = n.items(0)
    if not items:
        raise Invalid("an empty sequence cannot be joined")
    new = n.int("new_axis")
    dim = axis(n.int("axis"), items[0].type.rank + new)
    arrays = [item.array for item in items if item.array is not None]
    if len(arrays) == len(items):
        return n.bodies.known("", np.stack(arrays, dim) if new else np.concatenate(arrays, dim))
    n.parts(len(items))
    tensors = [item.tensor() for item in items]
    if new:
        tensors = [n.e.reshape(one, (*one.shape[:dim], 1, *one.shape[dim:])) for one in tensors]
    return concat(n.e, tensors, dim)


def _listed(items: Sequence[Value]) -> Listed:
    return Listed("", tuple(items))


OPERATORS: dict[str, Lower] = {
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SplitToSequence": _split,
    "SequenceAt": _at,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceLength": _length,
    "ConcatFromSequence": _concat,
}
