"""What to say of a difference: the first element, and the way back to the first wrong value.

A value of the per-device program is taken for right if all its residues occur in the global one (a residue is
as good as a name). From the wrong result the way goes back through values that do not occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, cast

import numpy as np
from ml_dtypes import finfo

from shardc.graph import Graph, Location, Node, walk
from shardc.graph.types import DTYPES, is_float
from shardc.interpret.devices import Blocks
from shardc.proof.draws import Draw
from shardc.proof.evaluate import evaluate
from shardc.proof.field import distinct
from shardc.proof.numbers import really_equal
from shardc.proof.reduced import Reduced
from shardc.proof.values import is_exact, parts, same
from shardc.proof.way_back import Step, way_back
from shardc.semantics.arrays import Array

_ROUNDED = 4
"""By so many units in the last place of f32, or of a narrower dtype, constants that a compiler computes, and
rounds, may change a value."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first element of a result that differs, and the operations back to the first wrong value.

    really: whether the real values differ, too, by more than constants do that are rounded. whole: where the
    global program makes the result. rounded: whether they differ by so little. there: what the global program
    has where the first wrong value is made.
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
    there: Step | None = None


def difference(
    shapes: Reduced,
    draw: Draw,
    inputs: Sequence[Array],
    found: Mapping[int, tuple[Array, Array]],
    first: bool = True,
) -> Difference:
    """Describe the difference of one of the results that differ (number: what it is to be, and is): the first
    of which real values do, if there is one. What that takes is not counted. The way back is looked for where
    they do, or where it is the `first` difference.
    """
    draw = replace(draw, budget=None)
    results = shapes.whole.main.body.results
    seen = [
        (*each, number)
        for number, pair in found.items()
        for each in _parts_seen(*pair, _rounding(shapes.whole.type(results[number]).dtype))
    ]
    really, rounded, differ, want, have, number = max(seen, key=lambda each: (*each[:2], each[2].any()))
    if is_exact(want):
        want, have = want["shadow"], have["shadow"]
    index = tuple(int(i) for i in np.argwhere(differ)[0])
    path = _path(shapes, draw, inputs, number) if really or first else ()
    loc = shapes.whole.values[results[number]].loc
    values = float(want[index]), float(have[index])
    there = _at(shapes.whole, path[-1]) if path else None
    return Difference(number, index, want.shape, *values, really, path, loc, rounded, there)


def _rounding(dtype: str) -> float:
    """The part of a value of a dtype by which rounded constants may change it."""
    own = float(cast(Any, finfo(DTYPES[dtype][1])).eps) if is_float(dtype) else 0.0
    return _ROUNDED * max(own, float(np.finfo(np.float32).eps))


def _parts_seen(
    want: Array, have: Array, rounding: float
) -> Iterator[tuple[bool, bool, Array, Array, Array]]:
    """What is seen of an array, or of both parts of a complex one."""
    size = rounding * np.maximum(_size(want), _size(have))
    for pair in zip(parts(want) or [want], parts(have) or [have], strict=True):
        yield (*_seen(*pair, size), *pair)


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
    """Where real values are numbers, equal but for what rounded constants change, which is at most `size`."""
    a, b = want["shadow"], have["shadow"]
    with np.errstate(invalid="ignore"):
        return np.isfinite(a - b) & (np.abs(a - b) <= size)


def _size(array: Array) -> Array:
    """The sizes of real values: of complex ones those of their larger part."""
    found = [np.abs(part["shadow"]) for part in parts(array)]
    return np.maximum.reduce(found) if found else np.zeros(array.shape)


def _path(shapes: Reduced, draw: Draw, inputs: Sequence[Array], number: int) -> tuple[Step, ...]:
    known = _residues([[array] for array in inputs])

    def of_whole(node: Node, values: list[Blocks]) -> None:
        known.extend(_residues(values))

    evaluate(shapes.whole, draw, inputs, of_whole)
    right = distinct(np.concatenate(known)) if known else np.empty(0, np.uint64)
    wrong: dict[int, int] = {}
    time = count()

    def of_local(node: Node, values: list[Blocks]) -> None:
        for value, blocks in zip(node.results, values, strict=True):
            if not all(_occur(found, right) for found in _residues([blocks])):
                wrong.setdefault(value, next(time))

    evaluate(shapes.local, draw, inputs, of_local)
    return way_back(shapes.local, shapes.local.main.body.results[number], wrong)


def _at(graph: Graph, step: Step) -> Step | None:
    """The operation of a program from the same place of the source, of that name if there is one."""
    nodes = [node for function in graph.functions.values() for node in walk(function.body)]
    found = [node.name for node in nodes if node.loc == step.loc]
    name = step.name if step.name in found else found[-1] if found else None
    return None if name is None else Step(name, step.loc)


def _occur(found: Array, right: Array) -> bool:
    """Whether all elements are among the sorted ones."""
    if not found.size or not right.size:
        return not found.size
    found = np.sort(found)  # so near places are looked at one after the other, several times as quick
    place = np.minimum(np.searchsorted(right, found), right.size - 1)
    return bool((right[place] == found).all())


def _residues(values: list[Blocks]) -> list[Array]:
    blocks = {id(block): block for each in values for block in each}
    return [part["residue"].reshape(-1) for block in blocks.values() for part in parts(block)]
