"""Per-device programs with one collective removed or altered, for measuring the checks (mutation.py).

    for mutant in mutants(local):
        with mutant.applied(): ...      # `local` is the altered program inside the with

A mutant has the types of the original: what replaces a collective gives a block of the same shape. A dropped
reduce_scatter still takes the device's part, a dropped all_gather repeats the own block, and a reduction
that is moved to another axis runs over that axis only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from shardc.analysis.build import GraphBuilder
from shardc.graph import Graph, Node, Region, TensorType, walk
from shardc.layout import Axis, LayoutError, size_of
from shardc.ops import ShapeError, spmd

Body = Callable[[GraphBuilder, int], int]
"""What stands in a collective's place: from the operand, with a builder, to the result."""

Alteration = Callable[["Place"], Iterator[tuple[str, Body]]]

REDUCTIONS = {spmd.all_reduce.name, spmd.reduce_scatter.name}


class Place(Struct, frozen=True):
    """A collective of a graph: node `index` of a region."""

    graph: Graph
    region: Region
    index: int

    @property
    def node(self) -> Node:
        return self.region.nodes[self.index]

    @property
    def operand(self) -> TensorType:
        return self.graph.type(self.node.operands[0])

    @property
    def result(self) -> TensorType:
        return self.graph.type(self.node.results[0])

    @property
    def axes(self) -> tuple[Axis, ...]:
        return cast("tuple[Axis, ...]", self.node.attrs["axes"])

    def number(self, key: str) -> int:
        return cast(int, self.node.attrs[key])

    def again(self, **attrs: object) -> Body:
        """The same collective with other attributes, its result reshaped to the type that is expected."""
        held = {key: value for key, value in self.node.attrs.items() if not key.startswith("shardc.")}
        changed: dict[str, Any] = {**held, **attrs}
        return lambda b, x: self.shaped(b, b.one(self.node.name, x, **changed))

    def shaped(self, b: GraphBuilder, value: int) -> int:
        """The value as it is expected: reshaped if it is as large. ShapeError if it is not."""
        type = b.type_of(value)
        if math.prod(type.shape) != math.prod(self.result.shape):
            raise ShapeError(f"a {type} cannot stand for a {self.result}")
        return value if type == self.result else b.one("stablehlo.reshape", value, result=self.result)

    def other_axes(self) -> Iterator[tuple[Axis, ...]]:
        """Each axis of the mesh that the collective does not run over."""
        mesh = next(iter(self.graph.meshes.values()))
        for name, size in mesh.axes:
            if size > 1 and all(axis.name != name for axis in self.axes):
                yield (mesh.axis(name),)


class Mutant(Struct, frozen=True):
    """One alteration: what was done to the collective at a place, and what stands there instead."""

    what: str
    place: Place
    original: Node
    nodes: Sequence[Node]

    @property
    def collective(self) -> str:
        return self.original.name.partition(".")[2]

    @property
    def loses_reduction(self) -> bool:
        """Whether a reduction is dropped or moved to another axis: what the type check alone must see."""
        return self.original.name in REDUCTIONS and self.what in ("drop", "other axis", "fewer axes")

    @contextmanager
    def applied(self) -> Iterator[Graph]:
        """The graph with the alteration, until the with ends."""
        place = self.place
        place.region.nodes[place.index : place.index + 1] = self.nodes
        try:
            yield place.graph
        finally:
            place.region.nodes[place.index : place.index + len(self.nodes)] = [self.original]

    def __str__(self) -> str:
        loc = self.original.loc
        return f"{self.what} of {self.collective} at {loc.line}:{loc.col}"


def mutants(graph: Graph) -> Iterator[Mutant]:
    """Every alteration of every collective of a per-device program; the graph is as it was between them."""
    for place in list(places(graph)):
        for alteration in ALTERATIONS[place.node.name]:
            for what, body in alteration(place):
                nodes = built(place, body)
                if nodes:
                    yield Mutant(what, place, place.node, nodes)


def places(graph: Graph) -> Iterator[Place]:
    """The collectives of a graph, in order; one over axes of size 1 is none."""
    for function in graph.functions.values():
        regions = [function.body, *(region for node in walk(function.body) for region in node.regions)]
        for region in regions:
            for index, node in enumerate(region.nodes):
                if node.name in ALTERATIONS and size_of(cast("tuple[Axis, ...]", node.attrs["axes"])) > 1:
                    yield Place(graph, region, index)


def built(place: Place, body: Body) -> list[Node] | None:
    """The nodes that stand in the collective's place, or None if they would not fit."""
    node, builder = place.node, GraphBuilder(place.graph)
    try:
        with builder.at(node.loc):
            made = builder.function("mutant", [place.operand], lambda b, x: [body(b, x)], public=False)
    except (ShapeError, LayoutError):
        return None
    finally:
        place.graph.functions.pop("mutant", None)
    (result,) = made.body.results
    same = {made.body.args[0]: node.operands[0], result: node.results[0]}
    rename = lambda values: tuple(same.get(v, v) for v in values)  # noqa: E731
    return [replace(n, operands=rename(n.operands), results=rename(n.results)) for n in made.body.nodes[:-1]]


# ---- what is done to collectives


def _nothing(b: GraphBuilder, x: int) -> int:
    return b.one("stablehlo.optimization_barrier", x)


def _repeated(b: GraphBuilder, x: int, dim: int, times: int) -> int:
    return b.one("stablehlo.concatenate", *[x] * times, dimension=dim)


def _rotated(b: GraphBuilder, x: int, axes: tuple[Axis, ...]) -> int:
    count = size_of(axes)
    pairs = tuple((i, (i + 1) % count) for i in range(count))
    return b.one(spmd.collective_permute.name, x, axes=axes, pairs=pairs)


def drop(place: Place) -> Iterator[tuple[str, Body]]:
    """No communication: an own block of the right shape."""
    axes, node = place.axes, place.node
    bodies: dict[str, Body] = {
        spmd.all_reduce.name: _nothing,
        spmd.collective_permute.name: _nothing,
        spmd.reduce_scatter.name: lambda b, x: b.one(
            spmd.all_slice.name, x, axes=axes, dim=place.number("dim")
        ),
        spmd.all_gather.name: lambda b, x: _repeated(b, x, place.number("dim"), size_of(axes)),
        spmd.all_to_all.name: lambda b, x: _repeated(
            b,
            b.one(spmd.all_slice.name, x, axes=axes, dim=place.number("split_dim")),
            place.number("concat_dim"),
            size_of(axes),
        ),
    }
    yield "drop", bodies[node.name]


def other_axis(place: Place) -> Iterator[tuple[str, Body]]:
    """The same over another axis of the mesh, of the same size where the shape depends on it."""
    for axes in place.other_axes():
        if place.node.name == spmd.reduce_scatter.name:
            yield "other axis", _reduced_elsewhere(place, axes)
        else:
            yield "other axis", place.again(axes=axes)


def _reduced_elsewhere(place: Place, axes: tuple[Axis, ...]) -> Body:
    def body(b: GraphBuilder, x: int) -> int:
        moved = b.one(spmd.all_reduce.name, x, axes=axes, kind=place.node.attrs["kind"])
        return b.one(spmd.all_slice.name, moved, axes=place.axes, dim=place.number("dim"))

    return body


def fewer_axes(place: Place) -> Iterator[tuple[str, Body]]:
    """A reduction over several axes leaves one of them out."""
    for axis in place.axes if len(place.axes) > 1 else ():
        rest = tuple(other for other in place.axes if other != axis)
        if place.node.name == spmd.reduce_scatter.name:
            yield "fewer axes", _reduced_elsewhere(place, rest)
        else:
            yield "fewer axes", place.again(axes=rest)


def other_kind(place: Place) -> Iterator[tuple[str, Body]]:
    """Sum, max and min for each other."""
    bool_type = place.operand.dtype == "bool"
    for kind in ("max", "min") if bool_type else ("sum", "max", "min"):
        if kind != place.node.attrs["kind"] and not place.operand.dtype.startswith("c"):
            yield "other kind", place.again(kind=kind)


def other_dimension(place: Place) -> Iterator[tuple[str, Body]]:
    """Each other dimension for each of the dimensions that the collective names."""
    for key in ("dim", "split_dim", "concat_dim"):
        for dim in range(place.operand.rank) if key in place.node.attrs else ():
            if dim != place.node.attrs[key]:
                yield "other dimension", place.again(**{key: dim})


def swapped_dimensions(place: Place) -> Iterator[tuple[str, Body]]:
    """An all_to_all back."""
    split, concat = place.number("split_dim"), place.number("concat_dim")
    if split != concat:
        yield "other dimension", place.again(split_dim=concat, concat_dim=split)


def other_order(place: Place) -> Iterator[tuple[str, Body]]:
    """The axes in the other order, and the devices' blocks moved on by one."""
    axes = place.axes
    if len(axes) > 1:
        yield "other order", place.again(axes=axes[::-1])
    if place.node.name == spmd.reduce_scatter.name:
        yield "other order", lambda b, x: _rotated(b, place.again()(b, x), axes)
    else:
        yield "other order", lambda b, x: place.again()(b, _rotated(b, x, axes))


def other_pairs(place: Place) -> Iterator[tuple[str, Body]]:
    """A permutation back, one that goes one device further, and one that leaves a device out."""
    pairs = cast("tuple[tuple[int, int], ...]", place.node.attrs["pairs"])
    count = size_of(place.axes)
    others = [
        tuple((target, source) for source, target in pairs),
        tuple((source, (target + 1) % count) for source, target in pairs),
        pairs[:-1],
    ]
    for other in others:
        if sorted(other) != sorted(pairs):
            yield "other pairs", place.again(pairs=other)


ALTERATIONS: dict[str, tuple[Alteration, ...]] = {
    spmd.all_reduce.name: (drop, other_axis, fewer_axes, other_kind),
    spmd.reduce_scatter.name: (drop, other_axis, fewer_axes, other_kind, other_dimension, other_order),
    spmd.all_gather.name: (drop, other_axis, other_dimension, other_order),
    spmd.all_to_all.name: (drop, other_axis, other_dimension, swapped_dimensions, other_order),
    spmd.collective_permute.name: (drop, other_axis, other_pairs),
}
