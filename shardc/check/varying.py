"""The varying and partial types of per-device code, checked operation by operation.

`check_graph` checks every sdy.manual_computation of a module, `check_body` one. They accept what JAX's
check_vma accepts, and know partial results besides: these exist where an in_sharding says `unreduced`, where
spmd.to_partial makes them, and where the compiler marks an operation with `shardc.partial_over`. They may
pass linear operations only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from shardc.check.boundary import entering
from shardc.check.checker import Checker, reached
from shardc.check.state import SAME, AxisParts, State
from shardc.diagnostics import collecting
from shardc.graph import Graph, Location, Node, Region, walk
from shardc.layout import Axis, Mesh, Sharding
from shardc.ops import sdy


class VaryingTypes(Mapping[int, State]):
    """The state of every value of a body, by value id; `text` writes it with the value's tensor type."""

    def __init__(self, graph: Graph, parts: AxisParts, states: dict[int, State]) -> None:
        self._graph, self.parts, self._states = graph, parts, states

    def __getitem__(self, value: int) -> State:
        return self._states[value]

    def __iter__(self) -> Iterator[int]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)

    def text(self, value: int) -> str:
        """`f32[2, 32]{varies: i, j}`."""
        return self.parts.type_text(self._graph.type(value), self._states[value])


def check_graph(graph: Graph) -> dict[int, VaryingTypes]:
    """Check all per-device code of a module: the types of each body, by the id of its node."""
    found: dict[int, VaryingTypes] = {}
    for function in graph.functions.values():
        nested: set[int] = set()
        for node in walk(function.body):
            if node.name == sdy.manual_computation.name and node.id not in nested:
                found[node.id] = check_body(graph, node)
                nested |= {inner.id for inner in walk(node.regions[0])}
    return found


def check_body(graph: Graph, node: Node) -> VaryingTypes:
    """The types of the values in a sdy.manual_computation; ShardcError at the first operation that is wrong.

    Warns where a reduction combines copies.
    """
    parts = _parts(graph, node)
    states: dict[int, State] = {}
    Checker(graph, parts, frozenset(), states).manual_computation(node)
    return VaryingTypes(graph, parts, states)


class StatesSoFar:
    """The states of per-device code that is still being written: bodies in bodies, outermost first."""

    def __init__(
        self,
        graph: Graph,
        mesh: Mesh,
        manual: frozenset[str],
        shardings: Sequence[Sharding],
        regions: Sequence[Region],
    ) -> None:
        inside = list(reached(graph, regions, set()))
        axes = [axis for node in inside for axis in cast(Sequence[Axis], node.attrs.get("axes", ()))]
        axes += [axis for sharding in shardings for axis in sharding.axes()]
        self.parts = AxisParts(mesh, axes, Location())
        self.states: dict[int, State] = {}
        self._checker = Checker(graph, self.parts, manual, self.states)

    def entering(self, shardings: Sequence[Sharding]) -> list[State]:
        """The states of blocks that lie so."""
        return [entering(sharding, SAME, self.parts, self._checker.manual) for sharding in shardings]

    def region(self, region: Region, args: Sequence[State]) -> None:
        """Go through a body, which has no end yet."""
        self.states.update(zip(region.args, args, strict=True))
        with collecting():
            for node in region.nodes:
                self.states.update(zip(node.results, self._checker.node(node), strict=True))


class VaryingBody:
    """The states of the values of a region whose arguments have the given ones, without warnings.

    `manual` names the axes that the code around it is written over, and `parts` are those of that code; by
    default the region is of whole tensors, and the per-device code inside it has parts of its own.
    """

    def __init__(
        self,
        graph: Graph,
        region: Region,
        parts: AxisParts | None,
        manual: frozenset[str],
        states: Sequence[State],
    ) -> None:
        self.states: dict[int, State] = {}
        self.parts: dict[int, AxisParts] = {}
        """The parts of the axes in each sdy.manual_computation, by its node."""
        nested: set[int] = set()
        with collecting():
            if parts is not None:
                Checker(graph, parts, manual, self.states).region(region, states)
            for node in walk(region):
                if node.name != sdy.manual_computation.name or node.id in nested:
                    continue
                inside = {n.id for n in walk(node.regions[0]) if n.name == node.name}
                own = parts or _parts(graph, node)
                self.parts.update(dict.fromkeys((node.id, *inside), own))
                nested |= inside
                if parts is None:
                    Checker(graph, own, manual, self.states).manual_computation(node)


def _shardings(node: Node) -> list[Sharding]:
    return [
        *cast(Sequence[Sharding], node.attrs["in_shardings"]),
        *cast(Sequence[Sharding], node.attrs["out_shardings"]),
    ]


def _parts(graph: Graph, node: Node) -> AxisParts:
    """The axes cut as the shardings and the operations of the body need it."""
    inside = list(reached(graph, node.regions, set()))
    named = [axis for inner in inside for axis in cast(Sequence[Axis], inner.attrs.get("axes", ()))]
    shardings = [
        sharding
        for manual in (node, *(inner for inner in inside if inner.name == node.name))
        for sharding in _shardings(manual)
    ]
    mesh = shardings[0].mesh if shardings else next(iter(graph.meshes.values()))
    return AxisParts(mesh, [*named, *(axis for sharding in shardings for axis in sharding.axes())], node.loc)
