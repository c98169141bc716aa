"""Prints the nodes of one Python scope: what gets a line and a name, and what is written where it is used.

A value has its own line if the source names it, if it is used more than once, or if the text would get too
long to read; everything else stands inside the expression that uses it. Nodes are pure, so text may move
down to its use. What is written over while it has no name (Target.written_over) may take several lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from shardc.analysis.usage import Usage
from shardc.backend.python.emission import Emission
from shardc.backend.python.expressions import Expr, several
from shardc.backend.python.names import Names, source_name
from shardc.backend.python.printers import Printed
from shardc.backend.python.terms import Several, Term
from shardc.backend.python.trace import Return, Same
from shardc.backend.python.values import Values
from shardc.diagnostics import ShardcError
from shardc.graph import Node, Region, captured, walk
from shardc.ops import func, hlo

_INLINE_LENGTH = 56
_INLINE_WEIGHT = 5
_MOST_LINES = 6
_MOST_WEIGHT = 12
"""Of text that goes on over several lines."""


class Scope(Values):
    """One scope while it is written: its values, and how many of their uses are still to be printed."""

    def __init__(self, emission: Emission, uses: Usage, names: Names, terms: dict[int, Term]) -> None:
        super().__init__(emission, uses, names, terms)
        self._left = dict(uses.count)
        self._last: Node | None = None
        self.written: dict[tuple[int, int], str] = {}
        """Functions that stand above, by the id of their node and the number of their region."""

    def region(self, region: Region, counter: int | None = None) -> list[Expr]:
        """Print the nodes of a region; the expressions of its results.

        What the last node gives is not assigned first if it is only returned. Stepping the `counter`, one of
        the results, is left to the loop.
        """
        nodes = [node for node in region.nodes[:-1] if id(node) in self.uses.live]
        steps = [n for n in nodes if counter not in n.results and n.name != hlo.constant.name]
        if steps and len(steps[-1].results) == 1:
            (value,) = steps[-1].results
            if value in region.results and self.uses.count[value] == 1:
                self._last = steps[-1]
        for node in nodes:
            self.node(node)
        return [self.expr(value) for value in region.results]

    def returned(self, region: Region) -> list[Expr]:
        """Print the nodes of a function; the expressions of what it returns, one each."""
        made = self.region(region)
        self.lines.append(Return(region.results))
        return made

    def function(self, region: Region) -> Expr:
        """The same as one expression: a call that gives all results is returned as it is."""
        nodes = [node for node in region.nodes[:-1] if id(node) in self.uses.live]
        if nodes and nodes[-1].name == func.call.name and nodes[-1].results == region.results:
            for node in nodes[:-1]:
                self.node(node)
            printed = self._printed(nodes[-1])
            if isinstance(printed, (Expr, Several)):
                self.lines.append(Return(region.results, nodes[-1]))
                return printed if isinstance(printed, Expr) else printed.expr
        expr = several(self.items.starred(self.region(region)))
        self.lines.append(Return(region.results))
        return expr

    def node(self, node: Node) -> None:
        """Print one node, or keep its text for its use."""
        if id(node) not in self.uses.live:
            return
        if node.regions:
            self._settle(node)
        printed = self._printed(node)
        while self._too_long(node, printed) and self._shorten(node):
            printed = self._printed(node)
        if node.regions:
            printed = self._reading(node, printed)
        self._trace(node, printed)
        if printed is not None:
            self.done(node.operands)
        self._done_inside(node)
        if isinstance(printed, Several):
            self.assign_all(node, printed)
        elif printed is not None:
            self.define(node.results[0], self._as_term(node, printed), node)
        if self.released:
            self.released.delete()

    def _printed(self, node: Node) -> Printed:
        printer = self.target.printer(node.name)
        if printer is None:
            raise ShardcError(f"{node.name} cannot be written as {self.target.language}", node.loc)
        return printer(self, node)

    def done(self, values: Sequence[int]) -> None:
        """These uses have been printed."""
        for value in values:
            self._left[value] -= 1
            if self._left[value] == 0:
                self.forget(value)

    def define(self, value: int, term: Term, node: Node | None = None) -> None:
        """From now on `term` stands for the value; it gets a line unless it may be written at its use.

        A variable of another value is written for it, too.
        """
        if term.expr.is_variable and not term.own_line and not self.declaration(value):
            term = replace(term, free=True)
        if term.weak or term.free or self._stays_inline(value, term):
            self.remember(value, term)
        elif node is not None and node is self._last and not self.declaration(value):
            if term.comment:
                self.writer.comment(term.comment)
            self.remember(value, term)
        else:
            self.assign(value, term, node)

    def passes(self, value: int, source: int, term: Term) -> None:
        """`value` is what `source` is, for which `term` stands."""
        self.lines.append(Same(value, source))
        self.define(value, term)

    def _trace(self, node: Node, printed: Printed) -> None:
        """Note what the text of a node is, for whoever reads the trace."""
        if not isinstance(printed, (Expr, Term)):
            return
        term = self._as_term(node, printed)
        same = [v for v in node.operands if v in self.terms and self.terms[v].expr is term.expr]
        self.emission.trace.note(node, term, same[0] if same else None)

    def _as_term(self, node: Node, printed: Expr | Term) -> Term:
        if isinstance(printed, Term):
            return printed
        return Term(printed, self.type(node.results[0]).shape)

    def _stays_inline(self, value: int, term: Term) -> bool:
        if term.own_line or self.declaration(value) or not self.uses.used_once_here(value):
            return False
        short = len(term.expr.text) <= _INLINE_LENGTH and term.expr.weight <= _INLINE_WEIGHT
        if not short and not self._gains_without_name(value, term):
            return False
        own = source_name(self.graph.values[value].loc)
        return own is None or own in self._names_of_user(value)

    def _gains_without_name(self, value: int, term: Term) -> bool:
        """Whether it is written over, and the variables that end with it hold no more than it would."""
        ending = sum(self.held[name] for name in term.expr.reads if not self.names.is_read(name))
        kept = ending <= self.type(value).nbytes
        return kept and self._written_over(value, term, self.uses.user[value]) and self._goes_on(term.expr)

    def _written_over(self, value: int, term: Term, user: Node) -> bool:
        over = self.target.written_over
        return term.shape == self.type(value).shape and over(self.graph, self.emission.made, value, user)

    def _goes_on(self, expr: Expr) -> bool:
        """Whether the text is one to read when it is broken."""
        return len(expr.lines("", "", self.writer.room(""))) <= _MOST_LINES and expr.weight <= _MOST_WEIGHT

    def _names_of_user(self, value: int) -> list[str | None]:
        user = self.uses.user[value]
        return [source_name(self.graph.values[result].loc) for result in user.results]

    def _too_long(self, node: Node, printed: Printed) -> bool:
        if printed is None:
            return False
        expr = printed if isinstance(printed, Expr) else printed.expr
        if len(expr.text) <= self.writer.room("") - 8:
            return False
        temporary = any(
            self._written_over(value, self.terms[value], node)
            for value in node.operands
            if not self.terms[value].free
        )
        return not (temporary and self._goes_on(expr))

    def _shorten(self, node: Node) -> bool:
        """Give the longest operand that is written out its own line; False if there is none."""
        pending = [v for v in node.operands if not self.terms[v].free and not self.terms[v].weak]
        pending = [v for v in pending if self.terms[v].expr.weight > 0]
        if not pending:
            return False
        value = max(pending, key=lambda v: len(self.terms[v].expr.text))
        term = self.terms[value]
        self.forget(value)
        self.assign(value, term, None)
        return True

    def _settle(self, node: Node) -> None:
        """Give what a node's regions read a name first, so that it is computed once."""
        for value in captured(node):
            term = self.terms.get(value)
            if term is not None and not term.free and not term.weak:
                self.forget(value)
                self.assign(value, term, None)

    def _reading(self, node: Node, printed: Printed) -> Printed:
        """The text of a node, which reads what its regions do: functions that run where the text stands."""
        read = {v for value in captured(node) if value in self.terms for v in self.terms[value].expr.reads}
        if isinstance(printed, Term):
            return replace(printed, expr=replace(printed.expr, reads=printed.expr.reads | read))
        return replace(printed, reads=printed.reads | read) if isinstance(printed, Expr) else printed

    def _done_inside(self, node: Node) -> None:
        """What a node's regions read has been printed."""
        for region in node.regions:
            for inner in walk(region):
                if id(inner) in self.uses.live:
                    self.done([value for value in inner.operands if value in self.terms])
