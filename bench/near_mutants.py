"""Per-device programs that are nearly right, as people write them; mutants.py has the wrong collectives.

    for mutant in near_mutants(local):
        with mutant.applied(): ...      # `local` is the altered program inside the with

A reduction over a part of its axis, or scaled by the axis's size; masks and clamps left out; operands
swapped; indices, halos and starts one off. Types stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace

from bench.mutants import Mutant, Place, built
from shardc.analysis.build import GraphBuilder
from shardc.graph import Dense, Graph, Node, Region, walk
from shardc.layout import Axis
from shardc.ops import Trait, has, hlo, spmd

Near = Callable[[Place], Iterator[tuple[str, list[Node] | None]]]


def near_mutants(graph: Graph) -> Iterator[Mutant]:
    """Every such alteration of per-device code; the graph is as it was between them."""
    for region in _per_device(graph):
        for index, node in enumerate([*region.nodes[:-1]]):
            place = Place(graph, region, index)
            for near in NEAR.get(node.name, ()):
                for what, nodes in near(place):
                    if nodes:
                        yield Mutant(what, place, node, nodes)


def _per_device(graph: Graph) -> Iterator[Region]:
    """The regions that devices run: of manual computations, of what they call, of loops and branches."""
    for function in graph.functions.values():
        if function is not graph.main:
            yield function.body
        for outer in walk(function.body):
            if has(outer.name, Trait.REGION):
                yield from outer.regions


def scaled(place: Place) -> Iterator[tuple[str, list[Node] | None]]:
    """A sum of as many again: times the size of its axes."""
    if place.node.attrs["kind"] == "sum" and place.result.dtype.startswith(("f", "i", "b")):
        count = int(np.prod([axis.size for axis in place.axes]))
        if count > 1 and place.result.dtype != "bool":
            yield "scale", built(place, lambda b, x: _times(b, place.again()(b, x), count))


def _times(b: GraphBuilder, x: int, count: int) -> int:
    type = b.type_of(x)
    value = Dense(np.full(type.shape, count, type.numpy), type.shape)
    number = b.one(hlo.constant.name, value=value)
    return b.one(hlo.multiply.name, x, number)


def part_of_an_axis(place: Place) -> Iterator[tuple[str, list[Node] | None]]:
    """A reduction over one half of an axis's positions: its major or its minor part."""
    for number, axis in enumerate(place.axes):
        if axis.size % 2 or axis.size < 4:
            continue
        for part in (Axis(axis.name, 2, axis.pre), Axis(axis.name, axis.size // 2, 2 * axis.pre)):
            axes = (*place.axes[:number], part, *place.axes[number + 1 :])
            yield "part of an axis", built(place, place.again(axes=axes))


def left_out(place: Place) -> Iterator[tuple[str, list[Node] | None]]:
    """One of the operands in the place of the result: a mask, a clamp or a correction that is missing."""
    node = place.node
    for value in dict.fromkeys(node.operands):
        if place.graph.type(value) == place.result:
            barrier = Node(node.id, hlo.optimization_barrier.name, (value,), node.results, {}, (), node.loc)
            yield "left out", [barrier]


def swapped(place: Place) -> Iterator[tuple[str, list[Node] | None]]:
    """The last two operands for each other."""
    *first, left, right = place.node.operands
    if left != right and place.graph.type(left) == place.graph.type(right):
        yield "swapped", [replace(place.node, operands=(*first, right, left))]


def one_further(place: Place) -> Iterator[tuple[str, list[Node] | None]]:
    """A slice one place on, as a halo may be, and one place back."""
    attrs: Any = place.node.attrs
    keys = ("start_indices", "limit_indices")
    for dim, size in enumerate(place.operand.shape):
        for by in (1, -1):
            start, limit = (tuple(at + by * (d == dim) for d, at in enumerate(attrs[key])) for key in keys)
            if start[dim] >= 0 and limit[dim] <= size:
                changed = {**attrs, "start_indices": start, "limit_indices": limit}
                yield "one further", [replace(place.node, attrs=changed)]


def other_index(place: Place) -> Iterator[tuple[str, list[Node] | None]]:
    """An index, an offset or a bound that is one more."""
    value: Any = place.node.attrs["value"]
    if isinstance(value, Dense) and value.data.dtype.kind in "iu":
        changed = Dense(np.add(value.data, 1, dtype=value.data.dtype), value.shape)
        yield "one more", [replace(place.node, attrs={**place.node.attrs, "value": changed})]


NEAR: dict[str, tuple[Near, ...]] = {
    spmd.all_reduce.name: (scaled, part_of_an_axis),
    spmd.reduce_scatter.name: (scaled,),
    hlo.select.name: (left_out, swapped),
    hlo.clamp.name: (left_out,),
    hlo.multiply.name: (left_out,),
    hlo.subtract.name: (left_out, swapped),
    hlo.divide.name: (left_out, swapped),
    hlo.concatenate.name: (swapped,),
    hlo.slice_.name: (one_further,),
    hlo.constant.name: (other_index,),
}
