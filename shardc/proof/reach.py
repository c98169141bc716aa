"""How far along an axis a program reaches: from how many blocks away an element takes what it is computed of.

%s = slice %x [1:65536]                                     from 1 element on, 1/128 of a block
%p = collective_permute %r over x, pairs (1, 0), (2, 1), …  from 1 block on
%c = concatenate %a, %p                                     %p from 127 elements before
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import cast

from msgspec import Struct

from shardc.analysis.loops import Constants, counted
from shardc.graph import Node, Region
from shardc.ops import Trait, func, has, hlo, sdy, spmd
from shardc.proof.joined import Stretch
from shardc.proof.uniform import Program
from shardc.proof.uniform_collectives import axes_of

Span = tuple[Fraction, Fraction]
"""From where to where, in blocks."""

_HERE = (Fraction(0), Fraction(0))


class _Unknown(Exception):
    """A loop of unknown length reaches farther in every turn."""


def reach(
    program: Program, name: str, count: int, stretches: Sequence[tuple[Stretch, int]]
) -> Fraction | None:
    """The most blocks on either side, along an axis of so many positions; None if that is not known.

    stretches: those along the axis, with the sizes of blocks.
    """
    makers = {value: node for node in program.nodes() for value in node.results}
    moves: defaultdict[int, dict[int, list[Fraction]]] = defaultdict(dict)
    for stretch, block in stretches:
        whole, part = stretch.whole[1], stretch.part[1]
        cuts = part in makers and whole in makers[part].operands
        result, operand = (part, whole) if cuts else (whole, part)
        shift = Fraction(stretch.start - stretch.begin, block) * (1 if cuts else -1)
        moves[result].setdefault(operand, []).append(_nearest(shift, count))
    found = _Reach(program, name, count, moves, Constants(program.graph))
    body = program.graph.main.body
    try:
        found.region(body, [_HERE] * len(body.args))
    except _Unknown:
        return None
    return found.most


class _Reach(Struct):
    program: Program
    name: str
    count: int
    moves: defaultdict[int, dict[int, list[Fraction]]]
    """How far each result of an operation is moved from each operand, by dimensions along the axis."""
    constants: Constants
    spans: dict[int, Span] = {}
    most: Fraction = Fraction(0)

    def region(self, region: Region, taken: Sequence[Span]) -> list[Span]:
        """What the results are computed of."""
        self.spans.update(zip(region.args, taken, strict=True))
        for node in region.nodes:
            found = self.node(node, [self.spans.get(value, _HERE) for value in node.operands])
            self.most = max([self.most, *(max(-low, high) for low, high in found)])
            self.spans.update(zip(node.results, found, strict=True))
        return [self.spans.get(value, _HERE) for value in region.results]

    def node(self, node: Node, taken: Sequence[Span]) -> list[Span]:
        if node.name == hlo.while_.name:
            return [self._loop(node, _hull(taken))] * len(node.results)
        if node.name in (func.call.name, hlo.composite.name):
            key = "callee" if node.name == func.call.name else "decomposition"
            return self.region(self.program.graph.functions[str(node.attrs[key])].body, taken)
        if node.name in (sdy.manual_computation.name, sdy.named_computation.name):
            return self.region(node.regions[0], taken)
        if has(node.name, Trait.BRANCH):
            found = [self.region(region, [_hull(taken)] * len(region.args)) for region in node.regions]
            return [_hull(span for spans in found for span in spans)] * len(node.results)
        return [self._moved(node, result, taken) for result in node.results]

    def _loop(self, node: Node, start: Span) -> Span:
        """As far as all turns reach: each as much farther than the one before as the first one does."""
        low, high = _hull([start, *self.region(node.regions[1], [start] * len(node.operands))])
        if (low, high) == start:
            return start
        counts = counted(node, self.constants)
        if counts is None:
            raise _Unknown
        span = start[0] + counts.trips * (low - start[0]), start[1] + counts.trips * (high - start[1])
        self.region(node.regions[1], [span] * len(node.operands))
        return span

    def _moved(self, node: Node, result: int, taken: Sequence[Span]) -> Span:
        shifts = self.moves.get(result, {})
        low, high = _hull(
            (span[0] + shift, span[1] + shift)
            for value, span in zip(node.operands, taken, strict=True)
            for shift in shifts.get(value, [Fraction(0)])
        )
        if node.name != spmd.collective_permute.name or self.name not in [
            axis.name for axis in axes_of(node)
        ]:
            return low, high
        pairs = cast("Sequence[tuple[int, int]]", node.attrs["pairs"])
        steps = [_nearest(Fraction(source - target), self.count) for source, target in pairs]
        return low + min(steps, default=0), high + max(steps, default=0)


def _nearest(shift: Fraction, count: int) -> Fraction:
    """The same shift the shorter way round."""
    return shift - round(shift / count) * count


def _hull(spans: Iterable[Span]) -> Span:
    found = list(spans)
    return min((low for low, _ in found), default=Fraction(0)), max(
        (high for _, high in found), default=Fraction(0)
    )
