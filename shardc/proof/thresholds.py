"""Where the decisions of two programs change: the arguments that reach a literal that one compares with.

    %y = stablehlo.multiply %x, 10.0
    %z = stablehlo.floor %y                 0 and 1 of %y are 0 and 0.1 of %x

A literal is taken back through arithmetic with other literals, and functions with an inverse, to where a
value comes from: an argument, or any other operation. Draws put values at these and between each two, so that
thresholds that are a little apart, one in each program, are told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from math import atanh, exp, isfinite, log
from typing import cast

from msgspec import Struct

from shardc.graph import Dense, Graph, Node, is_float, walk
from shardc.ops import Trait, has, hlo

Interval = tuple[float, float]
"""What a value is drawn between; a point where both ends are one."""

FAR = 1 << 16
"""Larger literals are masks: with what is so large nothing else shows."""

SAME = Fraction(1, 1 << 20)
"""Of themselves, and 2^-30: what constants that a compiler rounds may be apart."""

_ROUNDS: dict[str, tuple[Fraction, ...]] = {
    hlo.floor.name: (Fraction(0), Fraction(1)),
    hlo.ceil.name: (Fraction(0), Fraction(1)),
    hlo.round_nearest_even.name: (Fraction(1, 2), Fraction(3, 2)),
    hlo.round_nearest_afz.name: (Fraction(1, 2), Fraction(3, 2)),
    hlo.convert.name: (Fraction(1), Fraction(2)),
}
"""Where a rounding goes on to the next number."""

_COMPARES = {hlo.compare.name, hlo.maximum.name, hlo.minimum.name}

_INVERSES: dict[str, Callable[[float], float]] = {
    hlo.exponential.name: log,
    hlo.log.name: exp,
    hlo.sqrt.name: lambda y: y * y,
    hlo.tanh.name: atanh,
    hlo.logistic.name: lambda y: log(y / (1 - y)),
}


class Thresholds(Struct, frozen=True):
    """What to draw, and whether one program has a threshold that the other one lacks."""

    intervals: tuple[Interval, ...] = ()
    differ: bool = False
    literals: tuple[Interval, ...] = ()
    """As `intervals`, of what is decided on itself: at and between the literals, some more often."""


def thresholds(whole: Graph, local: Graph) -> Thresholds:
    """Where the decisions of both programs change: beside, between and at their thresholds."""
    programs = [_Program.of(graph) for graph in (whole, local)]
    between, at, apart = _intervals(*(_exactly(program.found()) for program in programs))
    beside, numbers, one = _intervals(*(dict.fromkeys(program.literals(), True) for program in programs))
    often = len(beside)
    return Thresholds((*between, *at), bool(apart), (*beside, *numbers * often, *one * often))


def _intervals(
    mine: dict[Fraction, bool], other: dict[Fraction, bool]
) -> tuple[list[Interval], list[Interval], list[Interval]]:
    """Intervals between and beside thresholds; thresholds that both programs have exactly, and those of the
    intervals with an end, or two if there are such, where only one has some.
    """
    groups = list[list[Fraction]]()
    for each in sorted({*mine, *other}):
        if groups and each - groups[-1][-1] <= SAME * (abs(each) + Fraction(1, 1 << 10)):
            groups[-1].append(each)
        else:
            groups.append([each])
    if not groups:
        return [], [], []
    ends = [[groups[0][0] - 2], *groups, [groups[-1][-1] + 2]]
    between = [(float(low[-1]), float(high[0])) for low, high in pairwise(ends)]
    points = [each[0] for each in groups if len(each) == 1 and mine.get(each[0]) and other.get(each[0])]
    at = [(float(point), float(point)) for point in points if Fraction(float(point)) == point]
    lacks = [mine.keys().isdisjoint(each) or other.keys().isdisjoint(each) for each in groups]
    one = [between[n + 1] for n, pair in enumerate(pairwise(lacks)) if all(pair)]
    touching = [between[n + side] for n, lack in enumerate(lacks) if lack for side in (0, 1)]
    return between, at, one or list(dict.fromkeys(touching))


def _exactly(thresholds: Iterator[tuple[Fraction, bool]]) -> dict[Fraction, bool]:
    """The thresholds, and whether the arithmetic there is exact."""
    found: dict[Fraction, bool] = {}
    for number, exact in thresholds:
        found[number] = exact and found.get(number, True)
    return found


class _Program(Struct):
    """The operations that make values, what regions' arguments come from, and which values are one number."""

    graph: Graph
    makers: dict[int, Node]
    outside: dict[int, int]
    numbers: dict[int, Fraction]

    @classmethod
    def of(cls, graph: Graph) -> _Program:
        program = cls(graph, {}, {}, {})
        for node in program.nodes():
            bodies = [*node.regions]
            callee = graph.functions.get(str(node.attrs.get("callee")))
            bodies += [callee.body] if callee is not None else []
            for body in bodies:
                if len(body.args) == len(node.operands):
                    program.outside.update(zip(body.args, node.operands, strict=True))
            program.makers.update(dict.fromkeys(node.results, node))
        return program

    def nodes(self) -> Iterator[Node]:
        for function in self.graph.functions.values():
            yield from walk(function.body)

    def found(self) -> Iterator[tuple[Fraction, bool]]:
        """The thresholds."""
        for node in self.nodes():
            for value, number in self._decisions(node):
                at = self._back(value, number)
                if at is not None and abs(at[0]) <= FAR:
                    yield at

    def literals(self) -> Iterator[Fraction]:
        """The numbers at which decisions change."""
        for node in self.nodes():
            yield from (number for _, number in self._decisions(node) if abs(number) <= FAR)

    def _decisions(self, node: Node) -> Iterator[tuple[int, Fraction]]:
        """Values that the node decides on, with numbers at which the decision changes."""
        if not node.operands or not _is_float(self.graph, node.operands[0]):
            return
        if node.name in _COMPARES:
            for value, other in (node.operands, node.operands[::-1]):
                number = self._number(other)
                if number is not None:
                    yield value, number
        elif node.name == hlo.clamp.name:
            low, value, high = node.operands
            for bound in (self._number(low), self._number(high)):
                if bound is not None:
                    yield value, bound
        elif node.name in _ROUNDS and not _moves(self.graph, node):
            for number in _ROUNDS[node.name]:
                yield node.operands[0], number

    def _number(self, value: int) -> Fraction | None:
        """The one finite number that a value holds, if it is a literal."""
        maker = self._maker(value)
        if maker is None or maker.name != hlo.constant.name:
            return None
        dense = cast(Dense, maker.attrs["value"])
        number = float(dense.data.reshape(-1)[0]) if dense.is_splat or dense.data.size == 1 else float("nan")
        return Fraction(number) if isfinite(number) else None

    def _maker(self, value: int) -> Node | None:
        """What makes a value, but for what only moves it; None for an argument of the entry."""
        while True:
            if value in self.outside:
                value = self.outside[value]
                continue
            node = self.makers.get(value)
            if node is None or not _moves(self.graph, node):
                return node
            value = node.operands[0]

    def _back(self, value: int, number: Fraction) -> tuple[Fraction, bool] | None:
        """What the value comes from where it is the number, and whether that is exact; None: never."""
        exact = True
        while (node := self._maker(value)) is not None:
            if node.name in _INVERSES:
                try:
                    number, value = Fraction(_INVERSES[node.name](float(number))), node.operands[0]
                except (ValueError, ArithmeticError):
                    return None
                exact = False
                continue
            step = self._affine(node, number)
            if step is None:
                break
            value, number = step
        return number, exact

    def _affine(self, node: Node, number: Fraction) -> tuple[int, Fraction] | None:
        """The operand of arithmetic with a literal, and what it is where the result is the number."""
        if node.name == hlo.negate.name:
            return node.operands[0], -number
        if len(node.operands) != 2 or node.name not in _ARITHMETIC:
            return None
        left, right = node.operands
        a, b = self._number(left), self._number(right)
        solve = _ARITHMETIC[node.name]
        if (a is None) == (b is None):
            return None
        found = solve[1](number, b) if b is not None else solve[0](number, cast(Fraction, a))
        return None if found is None else (left if b is not None else right, found)


_Solve = Callable[[Fraction, Fraction], Fraction | None]


def _quotient(a: Fraction, b: Fraction) -> Fraction | None:
    return a / b if b else None


_ARITHMETIC: dict[str, tuple[_Solve, _Solve]] = {
    hlo.add.name: (lambda y, a: y - a, lambda y, b: y - b),
    hlo.subtract.name: (lambda y, a: a - y, lambda y, b: y + b),
    hlo.multiply.name: (_quotient, _quotient),
    hlo.divide.name: (lambda y, a: _quotient(a, y), lambda y, b: y * b),
}
"""The right operand where the left one is a, the left one where the right one is b, of a result y."""


def _moves(graph: Graph, node: Node) -> bool:
    kinds = (Trait.MOVES, Trait.VIEW, Trait.IDENTITY, Trait.ANNOTATION)
    of_floats = node.name == hlo.convert.name and _is_float(graph, node.operands[0], node.results[0])
    return len(node.operands) == 1 and (of_floats or has(node.name, *kinds))


def _is_float(graph: Graph, *values: int) -> bool:
    return all(is_float(graph.type(value).dtype) for value in values)
