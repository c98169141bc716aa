"""What a loop carries: values that change, a counter, and values that only pass through."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from shardc.analysis.loops import Counted, counted
from shardc.backend.python.expressions import UNARY, Expr, raw
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Term
from shardc.graph import Node, Region


class Carried(Struct, frozen=True):
    """`moving` are the positions of values that the body changes, without the counter's; `passing` what

    stands for those that it hands on as they are.
    """

    moving: tuple[int, ...]
    passing: dict[int, Term]
    counted: Counted | None
    counter_dtype: str
    operands: tuple[int, ...]

    @property
    def reads(self) -> frozenset[str]:
        """The variables that pass through."""
        return frozenset[str]().union(*(term.expr.reads for term in self.passing.values()))

    def enter(self, inner: Scope, region: Region) -> None:
        """Inside, what passes through is the variable outside."""
        for i, term in self.passing.items():
            inner.passes(region.args[i], self.operands[i], term)

    def leave(self, scope: Scope, node: Node) -> None:
        """Afterwards, it still is; and the counter is where it stopped."""
        for i, term in self.passing.items():
            scope.passes(node.results[i], self.operands[i], term)
        if self.counted is not None:
            last = max(self.counted.start, self.counted.stop)
            literal = raw(str(last), UNARY) if last < 0 else raw(str(last))
            scope.define(node.results[self.counted.index], Term(literal, (), weak=True))


def carried(scope: Scope, node: Node) -> Carried:
    """Sorts what a while node carries; what passes through gets a variable."""
    found = counted(node, scope.emission.constants)
    counter = -1 if found is None else found.index
    region = node.regions[1]
    passing: dict[int, Term] = {}
    for i, (arg, result) in enumerate(zip(region.args, region.results, strict=True)):
        if arg == result and i != counter:
            if not scope.term(node.operands[i]).weak:
                scope.variable(node.operands[i])
            passing[i] = replace(scope.term(node.operands[i]), free=True)
    moving = tuple(i for i in range(len(region.args)) if i != counter and i not in passing)
    dtype = scope.type(node.operands[counter]).dtype if found else ""
    return Carried(moving, passing, found, dtype, node.operands)


def moving_results(inner: Scope, region: Region, loop: Carried) -> list[Expr]:
    """Print a loop's body; the expressions of what it changes."""
    counter = None if loop.counted is None else region.results[loop.counted.index]
    exprs = inner.region(region, counter)
    return [exprs[i] for i in loop.moving]
