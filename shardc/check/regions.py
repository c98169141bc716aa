"""The states of a part of per-device code: what is written so far, or a region whose arguments are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from shardc.check.boundary import Left, entering
from shardc.check.state import SAME, AxisParts, State
from shardc.check.varying import Checker, parts_of, reached
from shardc.diagnostics import collecting
from shardc.graph import Graph, Location, Region, walk
from shardc.layout import Axis, Mesh, Sharding
from shardc.ops import sdy


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
        nodes = list(reached(graph, regions, set()))
        axes = [axis for node in nodes for axis in cast(Sequence[Axis], node.attrs.get("axes", ()))]
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
        nested, left = set[int](), dict[int, Left]()
        with collecting():
            if parts is not None:
                Checker(graph, parts, manual, self.states).region(region, states)
            for node in walk(region):
                if node.name != sdy.manual_computation.name or node.id in nested:
                    continue
                inside = {n.id for n in walk(node.regions[0]) if n.name == node.name}
                own = parts or parts_of(graph, node)
                self.parts.update(dict.fromkeys((node.id, *inside), own))
                nested |= inside
                if parts is None:
                    Checker(graph, own, manual, self.states, left).manual_computation(node)
