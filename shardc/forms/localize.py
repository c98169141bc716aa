"""From the global program to the program of one device, through a Builder.

Comes in: a region of global operations in which every value has one layout and every use fits it (what
insert-reshards and reshards-to-collectives leave). Goes out: the same on blocks, with explicit collectives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import prod
from typing import Any, cast

from shardc.analysis.manual import is_complete, own_axes, regions
from shardc.analysis.shardings import known_shardings
from shardc.forms.collectives import lower
from shardc.forms.plain import call_attrs
from shardc.forms.site import Site, local_type
from shardc.forms.table import form_named
from shardc.graph import Dense, Graph, Node, Region, TensorType, is_integer, walk
from shardc.graph.builder import Body, Builder
from shardc.graph.marks import FORM
from shardc.graph.program import own_attrs
from shardc.layout import Mesh, Sharding, replicated
from shardc.ops import Trait, combiners, has, hlo, op_of, sdy
from shardc.semantics.arrays import integer_ends


class Localizer:
    """Rebuilds regions of `graph` for one device of `mesh`.

    `at` wraps the building of each node, `done` is told what was built, `entered` what the arguments of a
    loop's or a branch's body are.
    """

    def __init__(
        self,
        graph: Graph,
        mesh: Mesh,
        at: Callable[[Node], AbstractContextManager[object]] = lambda node: nullcontext(),
        done: Callable[[Node, Sequence[Any]], None] = lambda node, values: None,
        entered: Callable[[Region, Sequence[Any]], None] = lambda region, args: None,
    ) -> None:
        self.graph, self.mesh = graph, mesh
        self.at, self.done, self.entered = at, done, entered
        self.shardings = known_shardings(graph)
        self.complete = {
            node.id
            for function in graph.functions.values()
            for region, names in regions(function.body)
            for node in region.nodes
            if is_complete(mesh, names | own_axes(node))
        }
        self.zeros, self.counts = set[int](), dict[int, int]()
        for node in (node for function in graph.functions.values() for node in walk(function.body)):
            if _is_zero(node, self.zeros):
                self.zeros.update(node.results)
            if (most := _largest_count(graph, node, self.counts)) is not None:
                self.counts[node.results[0]] = most

    def layout(self, value: int) -> Sharding:
        """How a value is laid out; without a word, it is whole everywhere."""
        known = self.shardings.get(value)
        return known.layout() if known else replicated(self.mesh, self.graph.type(value).rank)

    def local(self, value: int) -> TensorType:
        """The type of a value's block."""
        return local_type(self.graph.type(value), self.layout(value))

    def region(self, builder: Builder[Any], region: Region, env: dict[int, Any]) -> list[Any]:
        """Build every node of a region; gives what its terminator returns. `env` maps values to blocks."""
        for node in region.nodes[:-1]:
            env.update(zip(node.results, self.step(builder, node, env), strict=True))
        return [env[v] for v in region.results]

    def step(self, builder: Builder[Any], node: Node, env: dict[int, Any]) -> list[Any]:
        """Build one node, and tell what was built."""
        with self.at(node):
            values = self.node(builder, node, env)
        self.done(node, values)
        return values

    def node(self, builder: Builder[Any], node: Node, env: dict[int, Any]) -> list[Any]:
        """Build one node."""
        operands = [env[v] for v in node.operands]
        if has(node.name, Trait.ANNOTATION):
            return operands[: len(node.results)]
        if has(node.name, Trait.GLOBAL_COLLECTIVE):
            (operand,) = node.operands
            target = cast(Sharding, node.attrs["out_sharding"]).layout()
            type = self.graph.type(operand)
            return [lower(builder, operands[0], type, self.layout(operand), node.name, node.attrs, target)]
        if node.name == sdy.manual_computation.name:
            open_ = self._splice if node.id in self.complete else self._enter
            return open_(builder, node, operands)
        if has(node.name, Trait.REGION):
            bodies = [self._body(region, env) for region in node.regions]
            types = [self.local(v) for v in node.results]
            return builder.op(node.name, *operands, results=types, regions=bodies, **own_attrs(node))
        site = Site(
            builder,
            op_of(self.graph, node),
            tuple(map(self.layout, node.operands)),
            tuple(map(self.layout, node.results)),
            tuple(operands),
            tuple(replay(self.graph, region) for region in node.regions),
            combiners(node.regions[0], self.graph) if node.regions else (),
            tuple(value in self.zeros for value in node.operands),
            tuple(value in self.counts for value in node.operands),
        )
        return form_named(node.name, str(node.attrs.get(FORM, "plain"))).build(site)

    def _body(self, region: Region, env: dict[int, Any]) -> Body:
        """The body of a loop or branch, which may use values from around it."""

        def build(builder: Builder[Any], *args: Any) -> Sequence[Any]:
            self.entered(region, args)
            return self.region(builder, region, {**env, **dict(zip(region.args, args, strict=True))})

        return [self.local(v) for v in region.args], build

    def _enter(self, builder: Builder[Any], node: Node, operands: Sequence[Any]) -> list[Any]:
        """A region that is written per device of some axes is rebuilt for one device of the others."""
        (region,) = node.regions
        return self.region(builder, region, dict(zip(region.args, operands, strict=True)))

    def _splice(self, builder: Builder[Any], node: Node, operands: Sequence[Any]) -> list[Any]:
        """A region that is written for one device already goes in as it is."""
        (region,) = node.regions
        with_args = dict(zip(region.args, operands, strict=True))
        copy_nodes(self.graph, builder, region, with_args, self.at, self.done)
        return [with_args[v] for v in region.results]


def _is_zero(node: Node, zeros: set[int]) -> bool:
    """Whether a node makes zeros without a sign, as far as that is known."""
    if node.name == hlo.constant.name:
        return cast(Dense, node.attrs["value"]).is_zero
    return node.name in (hlo.convert.name, hlo.broadcast_in_dim.name) and zeros.issuperset(node.operands)


def _largest_count(graph: Graph, node: Node, counts: Mapping[int, int]) -> int | None:
    """The largest number that a node makes, where that is known and none is below 0: places in an array."""
    if node.name not in _COUNTS or not is_integer(graph.type(node.results[0]).dtype):
        return None
    type = graph.type(node.results[0])
    if node.name == hlo.iota.name:
        return max(0, type.shape[cast(int, node.attrs["iota_dimension"])] - 1)
    if node.name == hlo.constant.name:
        held = cast(Dense, node.attrs["value"]).data
        return int(held.max()) if held.size and held.min() >= 0 else None
    if not counts.keys() >= set(node.operands):
        return None
    most = _COUNTS[node.name]([counts[value] for value in node.operands])
    return most if most <= integer_ends(type.numpy)[1] else None


_COUNTS: dict[str, Callable[[Sequence[int]], int]] = {
    hlo.add.name: sum,
    hlo.broadcast_in_dim.name: max,
    hlo.constant.name: max,
    hlo.iota.name: max,
    hlo.multiply.name: prod,
    hlo.reshape.name: max,
    hlo.transpose.name: max,
}
"""The operations that make such numbers, and how the largest follows from those of their operands."""


def replay(graph: Graph, region: Region) -> Body:
    """A region that does not touch the mesh (the body of a reduce), to be built again as it is."""

    def build(builder: Builder[Any], *args: Any) -> Sequence[Any]:
        env = dict(zip(region.args, args, strict=True))
        copy_nodes(graph, builder, region, env)
        return [env[v] for v in region.results]

    return graph.types(region.args), build


def copy_nodes(
    graph: Graph,
    builder: Builder[Any],
    region: Region,
    env: dict[int, Any],
    at: Callable[[Node], AbstractContextManager[object]] = lambda node: nullcontext(),
    done: Callable[[Node, Sequence[Any]], None] = lambda node, values: None,
) -> None:
    """Build the nodes of a region again, all but the terminator; results go into `env`."""
    for node in region.nodes[:-1]:
        attrs = own_attrs(node)
        with at(node):
            built = builder.op(
                node.name,
                *(env[v] for v in node.operands),
                results=graph.types(node.results),
                regions=[_nested(graph, inner, env, at, done) for inner in node.regions],
                **(call_attrs(attrs) if node.name == hlo.custom_call.name else attrs),
            )
        done(node, built)
        env.update(zip(node.results, built, strict=True))


def _nested(
    graph: Graph,
    region: Region,
    env: dict[int, Any],
    at: Callable[[Node], AbstractContextManager[object]],
    done: Callable[[Node, Sequence[Any]], None],
) -> Body:
    def build(builder: Builder[Any], *args: Any) -> Sequence[Any]:
        inner = {**env, **dict(zip(region.args, args, strict=True))}
        copy_nodes(graph, builder, region, inner, at, done)
        return [inner[v] for v in region.results]

    return graph.types(region.args), build
