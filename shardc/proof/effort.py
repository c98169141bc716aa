"""How much work a proof is: before it, of a program, and while it runs.

The unit is an element that is computed. An operation takes as long as 1,000 of them, and an element of a sort
as 2,048.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from shardc.analysis.loops import Constants, counted
from shardc.graph import Graph, Node, Region
from shardc.ops import Trait, func, has, hlo, sdy
from shardc.proof.values import Beyond

OPERATION, APART = 1000, 4
"""An operation takes as long as so many elements; so many devices compute it apart, others share it."""

TRIPS, SORT = 64, 2048
"""How often a loop is taken to run that does not count, and what an element of a sort is taken for."""


def effort(graph: Graph, dealt: Collection[int] = ()) -> int:
    """The work of running a program on all devices once; the results of calls in `dealt` are not computed."""
    devices = max((mesh.size for mesh in graph.meshes.values()), default=1)
    constants = Constants(graph)

    def of_region(region: Region, on: int) -> int:
        return sum(of_node(node, on) for node in region.nodes)

    def of_node(node: Node, on: int) -> int:
        if node.name == func.call.name and node.id not in dealt:
            return of_region(graph.functions[str(node.attrs["callee"])].body, on)
        if node.name == hlo.while_.name:
            counts = counted(node, constants)
            return (TRIPS if counts is None else counts.trips) * of_region(node.regions[1], on)
        inside = devices if node.name == sdy.manual_computation.name else on
        return own(graph, node, on) + sum(
            of_region(r, inside) for r in node.regions if has(node.name, Trait.REGION)
        )

    return of_region(graph.main.body, 1)


def own(graph: Graph, node: Node, on: int) -> int:
    """The work of an operation on so many devices, without its regions."""
    each = sum(graph.type(value).size for value in node.results)
    return on * each * (SORT if node.name == hlo.sort.name else 1) + OPERATION * min(on, APART)


def beyond(size: str, most: int) -> str:
    """Why a program of some size is not proved unless that is asked for."""
    return f"its work is that of {size}, and up to {most:,} are proved unasked"


@dataclass(slots=True)
class Budget:
    """The work that a proof may be in all; what each operation is, by node, is found once."""

    most: int
    spent: int = 0
    known: dict[tuple[int, int, int], int] = field(default_factory=dict[tuple[int, int, int], int])

    def fits_again(self, draws: int) -> bool:
        """Whether there is as much left as each of so many draws took."""
        return self.spent * (draws + 1) <= self.most * draws

    def spend(self, graph: Graph, node: Node, on: int) -> None:
        """Raises Beyond where that is more than there is."""
        key = id(graph), node.id, on
        if key not in self.known:
            self.known[key] = own(graph, node, on)
        self.spent += self.known[key]
        if self.spent > self.most:
            raise Beyond(f"draws of more than {self.most:,} elements in all")
