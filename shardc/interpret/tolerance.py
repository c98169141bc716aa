"""How far from the true value a right program may be.

The sum of n terms, in any order, is off by at most about lambda sqrt(n) u times the sum of their magnitudes,
u the unit roundoff, with a chance of 1 - 2 exp(-lambda^2 / 2) (Higham and Mary, *A new approach to
probabilistic rounding error analysis*, 2019). Roundings one behind the other are independent: their squares
add up. Floats of 16 and 8 bits are summed in f32 and rounded once for every device that has a part of the
sum.

What a program does to its roundings (cancellation, growth) is not known from its text. It is measured: on
one device, in the program's own dtype, against f64. The devices may be off by FACTOR times that, and by the
bound of their own sums, where one device happens to be exact.
"""

from __future__ import annotations

from math import sqrt

from shardc.graph import FP8, Graph, Node, Region, is_narrow
from shardc.ops import Trait, find, has, op_of
from shardc.ops.definition import Rate

UNIT = {
    "f64": 2.0**-53,
    "f32": 2.0**-24,
    "f16": 2.0**-11,
    "bf16": 2.0**-8,
    "c64": 2.0**-24,
    "c128": 2.0**-53,
    **{name: 0.5 ** (1 + int(name[name.index("m") + 1])) for name in FP8},
}
"""Unit roundoffs, those of 8 bits by the digits that their names say; integers have none."""

LAMBDA = 4.0
"""A chance of 7e-4 that one sum is further off, by a bound that is seldom met."""

FACTOR = 8.0
"""How many times the error of one device the devices may have: both are samples of one distribution."""


def rounding(terms: float, dtype: str, parts: int = 1) -> float:
    """The square of the error of a sum of `terms` terms in `parts` parts, relative to its magnitudes."""
    unit = UNIT.get(dtype, 0.0)
    within = UNIT["f32"] if is_narrow(dtype) else unit
    return terms * within**2 + (parts + 1) * unit**2


def bound(terms: float, dtype: str, magnitude: float = 1.0, parts: int = 1) -> float:
    """The absolute error allowed for a sum of terms whose magnitudes add up to `magnitude`."""
    return LAMBDA * sqrt(rounding(terms, dtype, parts)) * magnitude


def allowed(own: float, terms: float) -> float:
    """The error allowed for the devices, from that of one device and the bound of their sums."""
    return FACTOR * own + terms


def bounds(graph: Graph) -> list[float]:
    """For every result of the entry, the bound from the sums on the way to it, relative to its magnitude."""
    depths = _Depths(graph)
    return [
        LAMBDA * sqrt(square) for square in depths.run(graph.main.body, [0.0] * len(graph.main.body.args))
    ]


class _Depths:
    """The sum of squared roundings on the worst way to each value. A loop's body counts once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.devices = max((mesh.size for mesh in graph.meshes.values()), default=1)
        self.known: dict[int, float] = {}

    def run(self, region: Region, args: list[float]) -> list[float]:
        self.known.update(zip(region.args, args, strict=True))
        for node in region.nodes[:-1]:
            before = [self.known.get(value, 0.0) for value in node.operands]
            inside = max((self._inside(inner, before) for inner in node.regions), default=0.0)
            callee = self.graph.functions.get(str(node.attrs.get("callee", node.attrs.get("decomposition"))))
            if callee is not None:
                inside = max(self.run(callee.body, before), default=0.0)
            depth = max([inside, *before]) + self._own(node)
            self.known.update(dict.fromkeys(node.results, depth))
        return [self.known.get(value, 0.0) for value in region.results]

    def _inside(self, region: Region, before: list[float]) -> float:
        worst = max(before, default=0.0)
        return max(self.run(region, [worst] * len(region.args)), default=0.0)

    def _own(self, node: Node) -> float:
        types = self.graph.types(node.results)
        if not types or has(node.name, Trait.MOVES) or has(node.name, Trait.REGION, Trait.CALL):
            return 0.0
        terms = _roundings(self.graph, node) / max(1, sum(type.size for type in types))
        terms = max(terms, self.devices) if has(node.name, Trait.COMBINES) else terms
        parts = self.devices if has(node.name, Trait.COMBINES) else 1
        return max(rounding(terms, type.dtype, parts) for type in types)


def _roundings(graph: Graph, node: Node) -> int:
    """The operations of a node that may round: all, but comparisons."""
    definition = find(node.name)
    if definition is None:
        return 0
    op = op_of(graph, node)
    return 0 if definition.work.rate(op) is Rate.SORT else definition.work.operations(op)
