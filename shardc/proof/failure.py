"""What to say of a difference: the first element, and the way back to the first wrong value.

A value of the per-device program is taken for right if all its residues occur in the global one (a residue is
as good as a name). From the wrong result the way goes back through values that do not occur.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from types import MappingProxyType

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from shardc.diagnostics import ShardcError
from shardc.graph import Graph, Location, Node, walk
from shardc.interpret.devices import Blocks
from shardc.proof.draws import Draw
from shardc.proof.evaluate import evaluate
from shardc.proof.field import distinct
from shardc.proof.numbers import really_equal
from shardc.proof.reduced import Reduced
from shardc.proof.rounding import UNITS, Constants, moved, spread, unit
from shardc.proof.values import DrawAgain, Floats, is_exact, parts, same
from shardc.proof.way_back import Step, way_back
from shardc.semantics.arrays import Array

Pairs = Mapping[int, tuple[Array, Array]]
"""What results are to be, and are, by number."""


class Difference(Struct, frozen=True):
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
    shapes: Reduced, draw: Draw, inputs: Sequence[Array], found: Pairs, first: bool = True
) -> Difference:
    """Describe the difference of one of the results that differ: the first of which real values do, if there
    is one. What that takes is not counted. The way back is looked for where they do, or where it is the
    `first` difference.
    """
    draw = replace(draw, budget=None)
    seen = _first(shapes, found)
    path = ()
    if seen.really or first:
        noted = Constants(shapes.whole), Constants(shapes.local)
        wrong = _wrong(shapes, draw, inputs, noted)
        if seen.really:
            seen = _first(shapes, found, _off(shapes, draw, inputs, found, noted))
        path = way_back(shapes.local, shapes.local.main.body.results[seen.number], wrong)
    want, have = seen.want, seen.have
    if is_exact(want):
        want, have = want["shadow"], have["shadow"]
    index = tuple(int(i) for i in np.argwhere(seen.differ)[0])
    loc = shapes.whole.values[shapes.whole.main.body.results[seen.number]].loc
    values = float(want[index]), float(have[index])
    there = _at(shapes.whole, path[-1]) if path else None
    return Difference(seen.number, index, want.shape, *values, seen.really, path, loc, seen.rounded, there)


class _Seen(Struct, frozen=True):
    """A result, or a part of a complex one: whether its real values differ, whether they do by as little as
    rounded constants change, and where.
    """

    really: bool
    rounded: bool
    differ: Array
    want: Array
    have: Array
    number: int = 0


def _first(shapes: Reduced, found: Pairs, off: Mapping[int, Floats] = MappingProxyType({})) -> _Seen:
    """The first result that really differs, or that differs; `off`: what constants change in them."""
    results, none = shapes.whole.main.body.results, np.zeros(())
    seen: list[_Seen] = []
    for number, (want, have) in found.items():
        size = UNITS * unit(shapes.whole.type(results[number]).dtype) * np.maximum(_size(want), _size(have))
        size = np.maximum(size, off.get(number, none))
        for pair in zip(parts(want) or [want], parts(have) or [have], strict=True):
            seen.append(replace(_seen(*pair, size), number=number))
    return max(seen, key=lambda each: (each.really, each.rounded, each.differ.any()))


def _off(
    shapes: Reduced, draw: Draw, inputs: Sequence[Array], found: Pairs, noted: tuple[Constants, Constants]
) -> Mapping[int, Floats]:
    """What results change where the constants that one of the programs has are rounded."""
    draw.moved = moved(*noted)
    if draw.moved is None:
        return {}
    try:
        runs = [evaluate(graph, draw, inputs).results for graph in (shapes.whole, shapes.local)]
    except (DrawAgain, ShardcError):
        return {}
    finally:
        draw.moved = None
    return {
        number: np.maximum(*(spread(now, run[number][0]) for now, run in zip(pair, runs, strict=True)))
        for number, pair in found.items()
    }


def _seen(want: Array, have: Array, size: Array) -> _Seen:
    differ = ~same(want, have)
    if not is_exact(want):
        return _Seen(bool(differ.any()), False, differ, want, have)
    real = differ & ~really_equal(want, have)
    far = real & ~_near(want, have, size)
    really, rounded = bool(far.any()), bool(real.any())
    return _Seen(really, rounded, far if really else real if rounded else differ, want, have)


def _near(want: Array, have: Array, size: Array) -> Array:
    """Where real values are numbers, equal but for what rounded constants change, which is at most `size`."""
    a, b = want["shadow"], have["shadow"]
    with np.errstate(invalid="ignore"):
        return np.isfinite(a - b) & (np.abs(a - b) <= size)


def _size(array: Array) -> Array:
    """The sizes of real values: of complex ones those of their larger part."""
    found = [np.abs(part["shadow"]) for part in parts(array)]
    return np.maximum.reduce(found) if found else np.zeros(array.shape)


def _wrong(
    shapes: Reduced, draw: Draw, inputs: Sequence[Array], noted: tuple[Constants, Constants]
) -> dict[int, int]:
    """The values of the per-device program that do not occur in the global one, and when they are made;
    `noted` gets the constants of both programs.
    """
    known = _residues([[array] for array in inputs])

    def of_whole(node: Node, values: list[Blocks]) -> None:
        known.extend(_residues(values))
        noted[0].note(node, values)

    evaluate(shapes.whole, draw, inputs, of_whole)
    right = distinct(np.concatenate(known)) if known else np.empty(0, np.uint64)
    wrong: dict[int, int] = {}
    time = count()

    def of_local(node: Node, values: list[Blocks]) -> None:
        noted[1].note(node, values)
        for value, blocks in zip(node.results, values, strict=True):
            if not all(_occur(found, right) for found in _residues([blocks])):
                wrong.setdefault(value, next(time))

    evaluate(shapes.local, draw, inputs, of_local)
    return wrong


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
