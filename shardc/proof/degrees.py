"""How likely a difference goes unseen: degrees of results as rational functions, and pairs of hashed values.

A polynomial of degree d that is not zero vanishes at a random point with a chance of at most d / p (Schwartz,
1980; Zippel, 1979). The values of random functions are fresh variables, as long as different arguments stay
different: any two arguments of one function may meet, with a chance of at most the degree of their difference
by p. Draws are independent, so the chances of each are multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import NamedTuple, cast

from msgspec import Struct

from shardc.graph import Graph, Node, Region
from shardc.graph.attrs import DotDims
from shardc.graph.types import FP8, is_complex
from shardc.layout import Axis, size_of
from shardc.ops import Trait, chlo, func, has, hlo, op_of, sdy, spmd
from shardc.ops.combiner import combiner
from shardc.proof.draws import Draw
from shardc.proof.exponents import meeting
from shardc.proof.field import PRIME
from shardc.proof.meanings_elementwise import MOST_FACTORS

_MOST = PRIME
LONGEST = 64
"""Turns of a loop that are looked at."""


class Degree(NamedTuple):
    """Degrees of a numerator and of a denominator."""

    top: int
    bottom: int

    def capped(self) -> Degree:
        """Degrees above p bound nothing and need not grow."""
        return Degree(min(self.top, _MOST), min(self.bottom, _MOST))


VARIABLE, NUMBER = Degree(1, 0), Degree(0, 0)


def _sum(a: Degree, b: Degree) -> Degree:
    if not a.bottom and not b.bottom:
        return Degree(max(a.top, b.top), 0)
    return Degree(max(a.top + b.bottom, b.top + a.bottom), a.bottom + b.bottom)


def _product(a: Degree, b: Degree) -> Degree:
    return Degree(a.top + b.top, a.bottom + b.bottom)


def _quotient(a: Degree, b: Degree) -> Degree:
    return Degree(a.top + b.bottom, a.bottom + b.top)


def _sum_of(a: Degree, terms: int) -> Degree:
    return Degree(a.top + (terms - 1) * a.bottom, terms * a.bottom) if a.bottom else a


def _either(*degrees: Degree) -> Degree:
    return Degree(max((d.top for d in degrees), default=0), max((d.bottom for d in degrees), default=0))


_PAIRS: Mapping[str, Callable[[Degree, Degree], Degree]] = {
    hlo.add.name: _sum,
    hlo.subtract.name: _sum,
    hlo.multiply.name: _product,
    hlo.divide.name: _quotient,
    hlo.complex_.name: _sum,
    hlo.remainder.name: _sum,
}
_CHOICES = {
    definition.name
    for definition in (
        hlo.maximum,
        hlo.minimum,
        hlo.clamp,
        hlo.select,
        hlo.abs_,
        hlo.negate,
        hlo.convert,
        hlo.reduce_precision,
        hlo.real,
        hlo.imag,
        chlo.conj,
    )
}
_TREES = {hlo.reduce.name, hlo.reduce_window.name}
_REDUCTIONS = {spmd.all_reduce.name, spmd.reduce_scatter.name, hlo.all_reduce.name, hlo.reduce_scatter.name}


class Degrees(Struct):
    """Degrees of a program's values; `trips` is how often each loop ran at most, once begun, by node;
    `divides` as in a Draw.

    proved: the loops that were taken by induction, and the calls of layers that are proved once; compared:
    the largest degree of what iterations and layers make; layers: the functions of those that were looked at.
    """

    graph: Graph
    trips: Mapping[int, int]
    divides: bool = True
    proved: frozenset[int] = frozenset()
    arguments: dict[int, int] = {}
    compared: int = 0
    layers: set[str] = set()
    found: dict[int, Degree] = {}

    def results(self) -> int:
        """The largest degree of a result's numerator and denominator together; `arguments` that of what
        each node hashes.
        """
        main = self.graph.main.body
        degrees = self._region(main, [VARIABLE] * len(main.args))
        return max((*(d.top + d.bottom for d in degrees), self.compared))

    def _region(self, region: Region, arguments: Sequence[Degree]) -> list[Degree]:
        self.found.update(zip(region.args, arguments, strict=True))
        for node in region.nodes[:-1]:
            degrees = self._node(node, [self.found.get(operand, NUMBER) for operand in node.operands])
            self.found.update(zip(node.results, [d.capped() for d in degrees], strict=True))
        return [self.found.get(result, NUMBER) for result in region.results]

    def _node(self, node: Node, operands: list[Degree]) -> list[Degree]:
        count = len(node.results)
        if node.id in self.proved:
            is_loop = has(node.name, Trait.LOOP)
            return self._iteration(node.regions[1], operands) if is_loop else self._layer(node, operands)
        if node.name == hlo.while_.name:
            return self._loop(node, operands)
        if node.name in (func.call.name, hlo.composite.name):
            key = "callee" if node.name == func.call.name else "decomposition"
            return self._region(self.graph.functions[str(node.attrs[key])].body, operands)
        if node.name in (sdy.manual_computation.name, sdy.named_computation.name):
            return self._region(node.regions[0], operands)
        if node.name in _TREES and op_of(self.graph, node).combiner is None:
            return self._tree(node, operands)
        if has(node.name, Trait.BRANCH):
            taken = [self._region(region, []) for region in node.regions]
            return [_either(*degrees) for degrees in zip(*taken, strict=True)]
        return [self._plain(node, operands)] * count

    def _loop(self, node: Node, operands: list[Degree]) -> list[Degree]:
        """Turn by turn, up to one after which degrees are what they were, as all others leave them then."""
        turns = self.trips.get(node.id, 1)
        for _ in range(min(turns, LONGEST)):
            before, operands = operands, self._region(node.regions[1], operands)
            if operands == before:
                return operands
        if turns > LONGEST:
            return [d if d == NUMBER else Degree(_MOST, _MOST) for d in operands]
        return operands

    def _iteration(self, body: Region, operands: list[Degree]) -> list[Degree]:
        """An iteration from what is carried into the loop, and one from fresh variables."""
        fresh = [_either(VARIABLE, degree) for degree in operands]
        for carried in (operands, fresh):
            found = self._region(body, carried)
            self.compared = max(self.compared, *(d.top + d.bottom for d in found), 0)
        return fresh

    def _layer(self, node: Node, operands: list[Degree]) -> list[Degree]:
        """The first layer of a kind from fresh variables; what others make are such, or what they take."""
        callee, fresh = str(node.attrs["callee"]), [_either(VARIABLE, degree) for degree in operands]
        if callee in self.layers:
            return [_either(*fresh)] * len(node.results)
        self.layers.add(callee)
        found = self._region(self.graph.functions[callee].body, fresh)
        self.compared = max(self.compared, *(d.top + d.bottom for d in found), 0)
        return [_either(*fresh, degree) for degree in found]

    def _tree(self, node: Node, operands: list[Degree]) -> list[Degree]:
        """Neighbours are combined by the body, then what comes of that, and last the initial values."""
        count = len(node.results)
        elements, starts = operands[:count], operands[count:]
        for _ in range(self._terms(node).bit_length()):
            elements = self._region(node.regions[0], [*elements, *elements])
        return self._region(node.regions[0], [*starts, *elements])

    def _plain(self, node: Node, operands: list[Degree]) -> Degree:
        if node.operands and is_complex(self.graph.type(node.operands[0]).dtype):
            found = self._of_complex(node, operands)
            if found is not None:
                return found
        if node.name == hlo.divide.name and not self.divides:
            self._hashed(node, operands[1].top)
            return _product(operands[0], VARIABLE)
        if node.name == hlo.logistic.name:
            self._hashed(node, operands[0].top + operands[0].bottom)
            return Degree(0, 1) if self.divides else VARIABLE
        if node.name == hlo.convert.name and self.graph.type(node.results[0]).dtype in FP8:
            self._hashed(node, operands[0].top + operands[0].bottom)
            return _either(operands[0], VARIABLE)
        if node.name in _PAIRS:
            return _PAIRS[node.name](*operands)
        if node.name == hlo.power.name:
            base = operands[0]
            self._hashed(node, max(d.top + d.bottom for d in operands))
            return Degree(max(1, base.top * MOST_FACTORS), base.bottom * MOST_FACTORS)
        if node.name == hlo.fft.name:
            for length in cast("Sequence[int]", node.attrs["fft_length"]):
                operands = [_sum_of(_product(operands[0], VARIABLE), length)]
            return operands[0]
        if node.name == chlo.square.name:
            return _product(*operands * 2)
        if node.name in (hlo.dot_general.name, hlo.convolution.name):
            return _sum_of(_product(*operands), self._terms(node))
        if node.name in _REDUCTIONS:
            return _sum_of(_either(*operands), self._devices(node))
        if node.regions:
            return self._combined(node, operands)
        if has(node.name, Trait.ELEMENTWISE) and node.name not in _CHOICES:
            self._hashed(node, max(d.top + d.bottom for d in operands))
            return VARIABLE
        return _either(*operands)

    def _of_complex(self, node: Node, operands: list[Degree]) -> Degree | None:
        """Of operations whose degrees are others for pairs, over one denominator, than for reals."""
        if node.name == hlo.abs_.name:
            self._hashed(node, 2 * (operands[0].top + operands[0].bottom))
            return VARIABLE
        if node.name == hlo.divide.name and self.divides:
            a, b = operands
            return Degree(a.top + b.top + b.bottom, a.bottom + 2 * b.top)
        return None

    def _hashed(self, node: Node, degree: int) -> None:
        self.arguments[node.id] = max(self.arguments.get(node.id, 1), degree)

    def argument(self, node: int) -> int:
        """The degree of what a node hashes, or its body; of an unknown one the largest that there is."""
        return self.arguments.get(node) or max(self.arguments.values(), default=1)

    def _devices(self, node: Node) -> int:
        """How many devices' blocks a collective adds at most."""
        axes = cast("tuple[Axis, ...] | None", node.attrs.get("axes"))
        return (
            max((mesh.size for mesh in self.graph.meshes.values()), default=1)
            if axes is None
            else size_of(axes)
        )

    def _combined(self, node: Node, operands: list[Degree]) -> Degree:
        """Reductions, scatters and sorts, by what their bodies do."""
        kind, terms = op_of(self.graph, node).combiner, self._terms(node)
        if node.name == hlo.select_and_scatter.name:
            kind, operands = combiner(node.regions[1], self.graph), operands[1:]
        if kind == "prod":
            total = _either(*operands)
            return Degree(total.top * terms, total.bottom * terms)
        if kind == "sum":
            return _sum_of(_either(*operands), terms + 1)
        if kind is None and node.name != hlo.sort.name:
            return Degree(_MOST, _MOST)
        return _either(*operands)

    def _terms(self, node: Node) -> int:
        first = self.graph.type(node.operands[0])
        if node.name == hlo.dot_general.name:
            dims = cast(DotDims, node.attrs["dot_dimension_numbers"]).lhs_contracting
        elif node.name == hlo.reduce.name:
            dims = cast("Sequence[int]", node.attrs["dimensions"])
        else:
            return max(self.graph.type(operand).size for operand in node.operands)
        return prod(first.shape[dim] for dim in dims)


def chance(degrees: Sequence[Degrees], draws: Sequence[Draw], law: bool = False) -> float:
    """The chance that a difference is missed in all of these draws, which are uniform; law: with that of exp.

    degrees: of the programs in the order in which each draw ran them.
    """
    of_results = sum(program.results() for program in degrees)
    return prod((_missed(degrees, of_results, draw, law) for draw in draws), start=1.0)


def _missed(degrees: Sequence[Degrees], of_results: int, draw: Draw, law: bool) -> float:
    """The chance that one draw misses a difference. Only arguments of one function meet."""
    sites = [
        [(degrees[program - 1].argument(node), count) for (program, node), count in found.items()]
        for found in draw.hashed.values()
    ]
    if law:
        met = sum(sum(n for _, n in each) ** 2 / 2 * meeting(2 * max(each)[0]) for each in sites)
        return min(1.0, of_results / PRIME + met)
    return float(min(1.0, (of_results + sum(map(_pairs, sites))) / PRIME))


def _pairs(sites: Sequence[tuple[int, int]]) -> int:
    """The sum of d + e over all pairs of arguments, of degrees d and e: each has all others for a partner.

    sites: the degree and number of those of each node.
    """
    return (sum(count for _, count in sites) - 1) * sum(degree * count for degree, count in sites)
