"""What to say of a difference: the first element, and the way back to the first wrong value.

A value of the per-device program is taken for right if all its residues occur in the global one (a residue is
as good as a name). From the wrong result the way goes back through values that do not occur.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shardc.graph import Graph, Location, Node, Region, walk
from shardc.interpret.devices import Blocks
from shardc.ops import sdy
from shardc.proof.draws import Draw
from shardc.proof.evaluate import evaluate
from shardc.proof.numbers import really_equal
from shardc.proof.reduced import Reduced
from shardc.proof.values import is_exact, parts, same
from shardc.semantics.arrays import Array

_ROUNDED = 2.0**-21
"""The part of a value by which constants that a compiler computes, and rounds to f32, may change it."""

_LONGEST = 12
"""Operations that a path shows."""


@dataclass(frozen=True, slots=True)
class Step:
    """An operation of the per-device program."""

    name: str
    loc: Location


@dataclass(frozen=True, slots=True)
class Difference:
    """The first element of a result that differs, and the operations back to the first wrong value.

    really: whether the real values differ, too, by more than constants do that are rounded. whole: where the
    global program makes the result. rounded: whether they differ by so little.
    """

    result: int
    index: tuple[int, ...]
    shape: tuple[int, ...]
    wanted: float
    have: float
    really: bool
    path: tuple[Step, ...]
    whole: Location
    rounded: bool = False


def difference(
    shapes: Reduced, draw: Draw, inputs: Sequence[Array], number: int, want: Array, have: Array
) -> Difference:
    """Describe the difference of result `number`; what that takes is not counted."""
    draw = replace(draw, budget=None)
    sizes = [_size(array) for array in (want, have)]
    both = zip(parts(want) or [want], parts(have) or [have], strict=True)
    seen = [(*_seen(*pair, np.maximum(*sizes)), *pair) for pair in both]
    really, rounded, differ, want, have = max(seen, key=lambda each: (*each[:2], each[2].any()))
    if is_exact(want):
        want, have = want["shadow"], have["shadow"]
    index = tuple(int(i) for i in np.argwhere(differ)[0])
    path = _path(shapes, draw, inputs, number)
    result = shapes.whole.main.body.results[number]
    loc = shapes.whole.values[result].loc
    values = float(want[index]), float(have[index])
    return Difference(number, index, want.shape, *values, really, path, loc, rounded)


def _seen(want: Array, have: Array, size: Array) -> tuple[bool, bool, Array]:
    """Whether real values differ, whether they do by as little as rounded constants change, and where."""
    differ = ~same(want, have)
    if not is_exact(want):
        return bool(differ.any()), False, differ
    real = differ & ~really_equal(want, have)
    far = real & ~_near(want, have, size)
    really, rounded = bool(far.any()), bool(real.any())
    return really, rounded, far if really else real if rounded else differ


def _near(want: Array, have: Array, size: Array) -> Array:
    """Where real values are numbers, equal but for what rounded constants change."""
    a, b = want["shadow"], have["shadow"]
    with np.errstate(invalid="ignore"):
        return np.isfinite(a - b) & (np.abs(a - b) <= _ROUNDED * size)


def _size(array: Array) -> Array:
    """The sizes of real values: of complex ones those of their larger part."""
    found = [np.abs(part["shadow"]) for part in parts(array)]
    return np.maximum.reduce(found) if found else np.zeros(array.shape)


def _path(shapes: Reduced, draw: Draw, inputs: Sequence[Array], number: int) -> tuple[Step, ...]:
    known = _residues([[array] for array in inputs])

    def of_whole(node: Node, values: list[Blocks]) -> None:
        known.extend(_residues(values))

    evaluate(shapes.whole, draw, inputs, of_whole)
    right = np.unique(np.concatenate(known)) if known else np.empty(0, np.uint64)
    wrong: set[int] = set()

    def of_local(node: Node, values: list[Blocks]) -> None:
        for value, blocks in zip(node.results, values, strict=True):
            if not all(_occur(found, right) for found in _residues([blocks])):
                wrong.add(value)

    try:
        evaluate(shapes.local, draw, inputs, of_local)
    finally:
        makers = _makers(shapes.local)
    return tuple(_back(shapes.local.main.body.results[number], wrong, makers))


def _occur(found: Array, right: Array) -> bool:
    """Whether all elements are among the sorted ones."""
    if not found.size or not right.size:
        return not found.size
    place = np.minimum(np.searchsorted(right, found), right.size - 1)
    return bool((right[place] == found).all())


def _residues(values: list[Blocks]) -> list[Array]:
    blocks = {id(block): block for each in values for block in each}
    return [part["residue"].reshape(-1) for block in blocks.values() for part in parts(block)]


def _makers(graph: Graph) -> dict[int, tuple[Node, int]]:
    nodes = [node for function in graph.functions.values() for node in walk(function.body)]
    return {value: (node, place) for node in nodes for place, value in enumerate(node.results)}


def _back(value: int, wrong: set[int], makers: dict[int, tuple[Node, int]]) -> list[Step]:
    steps: list[Step] = []
    seen: set[int] = set()
    while value in makers and value not in seen and len(steps) < _LONGEST:
        seen.add(value)
        node, place = makers[value]
        if node.name == sdy.manual_computation.name:
            value = _result(node.regions[0], place)
            continue
        steps.append(Step(node.name, node.loc))
        value = next((operand for operand in node.operands if operand in wrong), -1)
    return steps


def _result(region: Region, place: int) -> int:
    return region.results[place]
