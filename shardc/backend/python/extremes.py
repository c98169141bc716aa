"""Reductions of pairs (element, place) that find the greatest or the least element along a dimension.

    reduce of (x, iota), the place alone is used  -> idiom.argmax    jnp.argmax(x, axis=1)
    reduce of (x, iota + start), as on a block    -> idiom.place_of_greatest    that + start
    the same, the element is used, too            -> idiom.greatest  jnp.max(x, axis=1), jnp.argmax(…) + start

What such a reduction begins with is below all elements, as StableHLO asks: no place is found there.
"""

from __future__ import annotations

from typing import cast

from shardc.backend.python import idiom
from shardc.backend.python.library_run import Dims, Found, Other, Run
from shardc.graph import Node, identity, is_integer
from shardc.ops import OpDef, combiner, hlo
from shardc.ops.extremes import picks_first_nan

_ARGUMENTS = {"argmax": idiom.argmax, "argmin": idiom.argmin}
_PLACES = {"argmax": idiom.place_of_greatest, "argmin": idiom.place_of_least}
_PAIRS = {"argmax": idiom.greatest, "argmin": idiom.least}


def argmax(run: Run, node: Node) -> Node:
    """The place alone; `matching` is for nodes with all results of the last."""
    definition, axis = _extreme(run, node, _ARGUMENTS)
    run.same(run.program.count.get(node.results[0], 0), 0)
    run.same(dimension_of(run, node.operands[1], counting(run, node.operands[1])), axis)
    return Node(node.id, definition.name, node.operands[:1], node.results[1:], {"axis": axis}, (), node.loc)


def place(run: Run, node: Node) -> Node:
    """The place alone, from a number on that the device has."""
    definition, axis = _extreme(run, node, _PLACES)
    run.same(run.program.count.get(node.results[0], 0), 0)
    operands = (node.operands[0], _first(run, node.operands[1], axis))
    return Node(node.id, definition.name, operands, node.results[1:], {"axis": axis}, (), node.loc)


def greatest(run: Run, node: Node) -> Found:
    """The element too, and places from a number on that the device has."""
    definition, axis = _extreme(run, node, _PAIRS)
    x, places = node.operands[:2]
    return definition, [x, _first(run, places, axis)], {"axis": axis}


def _first(run: Run, places: int, axis: int) -> int:
    """The number from which places along a dimension are counted."""
    total = Run(run.program).node(places, hlo.add)
    for places_of, start in (total.operands, total.operands[::-1]):
        first = run.before_shapes(start)
        if run.shape(first) == ():
            made = counting(run, places_of)
            dim = dimension_of(run, places_of, made)
            run.same(dimension_of(run, places, total, dim), axis)
            return first
    raise Other


def _extreme(run: Run, node: Node, kinds: dict[str, OpDef]) -> tuple[OpDef, int]:
    """What is found along one dimension, a NaN before any number, and which dimension that is."""
    dims = cast(Dims, node.attrs["dimensions"])
    run.same((len(node.operands), len(dims)), (4, 1))
    found = combiner(node.regions[0], run.program.graph) or ""
    if found not in kinds:
        raise Other
    dtype = run.program.graph.type(node.operands[0]).dtype
    run.same(is_integer(dtype) or picks_first_nan(node.regions[0]), True)
    run.same(run.number(node.operands[2]), identity(found.removeprefix("arg"), dtype))
    return kinds[found], dims[0]


def counting(run: Run, value: int) -> Node:
    """What counts the places, before changes of shape."""
    made = run.program.made.get(run.before_shapes(value))
    if made is None or made.name != hlo.iota.name:
        raise Other
    return made


def dimension_of(run: Run, value: int, made: Node, dim: int | None = None) -> int:
    """Where a value has the dimension `dim` of what it repeats, of an iota that along which it counts."""
    if value in made.results:
        return cast(int, made.attrs["iota_dimension"]) if dim is None else dim
    repeated = run.program.made[value]
    before = dimension_of(run, repeated.operands[0], made, dim)
    if repeated.name == hlo.reshape.name:
        return _beside_ones(run, repeated, before)
    run.same(repeated.name, hlo.broadcast_in_dim.name)
    return cast(Dims, repeated.attrs["broadcast_dimensions"])[before]


def _beside_ones(run: Run, node: Node, dim: int) -> int:
    """Where a dimension is after a reshape that adds dimensions of size 1, or takes them away."""
    shapes = run.shape(node.operands[0]), run.shape(node.results[0])
    before, after = ([at for at, size in enumerate(shape) if size != 1] for shape in shapes)
    run.same([shapes[0][at] for at in before], [shapes[1][at] for at in after])
    run.same(dim in before, True)
    return after[before.index(dim)]
