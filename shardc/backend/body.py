"""Prints the nodes of one Python scope: what gets a line and a name, and what is written where it is used.

A value has its own line if the source names it, if it is used more than once, or if the text would get too
long to read; everything else stands inside the expression that uses it. Nodes are pure, so text may move
down to its use.
"""

from __future__ import annotations

from collections.abc import Sequence

from shardc.backend.context import Context, Printed
from shardc.backend.expressions import Expr, call, integers, name, several
from shardc.backend.items import Items
from shardc.backend.literals import filled, typed
from shardc.backend.names import Names, source_name
from shardc.backend.released import Released
from shardc.backend.terms import Several, Term
from shardc.backend.trace import Assign, Bind, Line, Return, Same
from shardc.backend.usage import Usage, captured
from shardc.explain.diagnostics import ShardcError
from shardc.graph import Node, Region, TensorType, walk

_INLINE_LENGTH = 56
_INLINE_WEIGHT = 5
_MOST_NAMES = 8
"""Of more results than this a call gives one tuple."""

_WISHES = {
    "spmd.all_gather": "gathered",
    "spmd.all_reduce": "total",
    "spmd.all_slice": "block",
    "spmd.all_to_all": "exchanged",
    "spmd.axis_index": "position",
    "spmd.collective_permute": "received",
    "spmd.reduce_scatter": "block",
    "stablehlo.compare": "mask",
    "stablehlo.concatenate": "joined",
    "stablehlo.constant": "table",
    "stablehlo.dot_general": "product",
    "idiom.einsum": "product",
    "stablehlo.dynamic_slice": "part",
    "stablehlo.exponential": "exps",
    "stablehlo.gather": "rows",
    "stablehlo.iota": "places",
    "stablehlo.reduce": "reduced",
    "stablehlo.select": "chosen",
    "stablehlo.slice": "part",
    "stablehlo.sort": "ordered",
    "idiom.keepdims": "reduced",
    "idiom.take": "rows",
}


class Body:
    """One scope. `terms` says what stands for each value that is still to be used."""

    def __init__(self, context: Context, uses: Usage, names: Names, terms: dict[int, Term]) -> None:
        self.context = context
        self.graph = context.graph
        self.target = context.target
        self.writer = context.writer
        self.uses = uses
        self.names = names
        self.terms = terms
        self.items = Items()
        self.lines: list[Line] = []
        self._left = dict(uses.count)
        self._last: Node | None = None
        self._released = Released(self.writer, names, self.lines) if self.target.deletes else None

    # What printers ask for.

    def type(self, value: int) -> TensorType:
        return self.graph.type(value)

    def term(self, value: int) -> Term:
        """What stands for a value, perhaps smaller than it (see Term)."""
        return self.terms[value]

    def expr(self, value: int) -> Expr:
        """The value itself: of its own shape and dtype."""
        term, type = self.terms[value], self.type(value)
        if term.weak:
            return typed(term.expr, type.dtype, self.target) if type.rank == 0 else self._full(term, type)
        if term.shape != type.shape:
            return call(f"{self.target.xp}.broadcast_to", term.expr, integers(type.shape))
        return term.expr

    def _full(self, term: Term, type: TensorType) -> Expr:
        return filled(term.expr, type, self.target)

    def index(self, value: int) -> Expr:
        """A scalar integer as an index: a literal stays a literal."""
        return self.terms[value].expr if self.type(value).rank == 0 else self.expr(value)

    def declaration(self, value: int) -> str | None:
        """The type that must stand behind the name of a value, if any."""
        return None

    def variable(self, value: int) -> Expr:
        """A variable that holds the value; gives it a line if it has none. For text that repeats it."""
        term = self.terms[value]
        if term.free and term.shape == self.type(value).shape:
            return self.expr(value)
        full = Term(self.expr(value), self.type(value).shape)
        self._forget(value)
        self._assign(value, full, None)
        return self.terms[value].expr

    # Printing.

    def region(self, region: Region, counter: int | None = None) -> list[Expr]:
        """Print the nodes of a region; the expressions of its results.

        What the last node gives is not assigned first if it is only returned. Stepping the `counter`, one of
        the results, is left to the loop.
        """
        nodes = [node for node in region.nodes[:-1] if id(node) in self.uses.live]
        steps = [n for n in nodes if counter not in n.results and n.name != "stablehlo.constant"]
        if steps and len(steps[-1].results) == 1:
            (value,) = steps[-1].results
            if value in region.results and self.uses.count[value] == 1:
                self._last = steps[-1]
        for node in nodes:
            self.node(node)
        return [self.expr(value) for value in region.results]

    def function(self, region: Region) -> Expr:
        """The same as one expression: a call that gives all results is returned as it is."""
        nodes = [node for node in region.nodes[:-1] if id(node) in self.uses.live]
        if nodes and nodes[-1].name == "func.call" and nodes[-1].results == region.results:
            for node in nodes[:-1]:
                self.node(node)
            printed = self.target.table["func.call"](self, nodes[-1])
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
        printer = self.target.table.get(node.name, self.target.otherwise)
        if printer is None:
            raise ShardcError(f"{node.name} cannot be written as {self.target.language}", node.loc)
        if node.regions:
            self._settle(node)
        printed = printer(self, node)
        while self._too_long(node, printed) and self._shorten(node):
            printed = printer(self, node)
        self._trace(node, printed)
        if printed is not None:
            self.done(node.operands)
        self._done_inside(node)
        if isinstance(printed, Several):
            self._assign_all(node, printed)
        elif printed is not None:
            self.define(node.results[0], self._as_term(node, printed), node)
        if self._released:
            self._released.delete()

    def done(self, values: Sequence[int]) -> None:
        """These uses have been printed."""
        for value in values:
            self._left[value] -= 1
            if self._left[value] == 0:
                self._forget(value)

    def define(self, value: int, term: Term, node: Node | None = None) -> None:
        """From now on `term` stands for the value; it gets a line unless it may be written at its use."""
        if term.weak or term.free or self._stays_inline(value, term):
            self._remember(value, term)
        elif node is not None and node is self._last and not self.declaration(value):
            if term.comment:
                self.writer.comment(term.comment)
            self._remember(value, term)
        else:
            self._assign(value, term, node)

    def bind(self, value: int, variable: str) -> None:
        """A variable that has been assigned stands for the value."""
        self.lines.append(Bind(variable, value))
        self._remember(value, Term(name(variable), self.type(value).shape, free=True))

    def passes(self, value: int, source: int, term: Term) -> None:
        """`value` is what `source` is, for which `term` stands."""
        self.lines.append(Same(value, source))
        self.define(value, term)

    def fresh(self, value: int, fallback: str = "t") -> str:
        """A free variable name for a value: the source's if it gave one."""
        return self.names.fresh(source_name(self.graph.values[value].loc) or fallback)

    def note(self, value: int) -> str:
        """f32[8, 64] of f32[16@data, 64]; the second part where `localize` noted it."""
        whole = self.uses.whole.get(value)
        return f"{self.type(value)}" + (f" of {whole}" if whole else "")

    def notes(self, values: Sequence[int]) -> str | None:
        """f32[8, 64], i32[8]; None if all are scalars."""
        if all(self.type(value).rank == 0 for value in values):
            return None
        return ", ".join(self.note(value) for value in values)

    def _trace(self, node: Node, printed: Printed) -> None:
        """Note what the text of a node is, for `report`."""
        if not isinstance(printed, (Expr, Term)):
            return
        term = self._as_term(node, printed)
        same = [v for v in node.operands if v in self.terms and self.terms[v].expr is term.expr]
        self.context.trace.note(node, term, same[0] if same else None)

    def _as_term(self, node: Node, printed: Expr | Term) -> Term:
        if isinstance(printed, Term):
            return printed
        return Term(printed, self.type(node.results[0]).shape)

    def _stays_inline(self, value: int, term: Term) -> bool:
        if term.own_line or self.declaration(value) or not self.uses.used_once_here(value):
            return False
        if len(term.expr.text) > _INLINE_LENGTH or term.expr.weight > _INLINE_WEIGHT:
            return False
        own = source_name(self.graph.values[value].loc)
        return own is None or own in self._names_of_user(value)

    def _names_of_user(self, value: int) -> list[str | None]:
        user = self.uses.user[value]
        return [source_name(self.graph.values[result].loc) for result in user.results]

    def _too_long(self, node: Node, printed: Printed) -> bool:
        if printed is None:
            return False
        expr = printed if isinstance(printed, Expr) else printed.expr
        return len(expr.text) > self.writer.room("") - 8

    def _shorten(self, node: Node) -> bool:
        """Give the longest operand that is written out its own line; False if there is none."""
        pending = [v for v in node.operands if not self.terms[v].free and not self.terms[v].weak]
        pending = [v for v in pending if self.terms[v].expr.weight > 0]
        if not pending:
            return False
        value = max(pending, key=lambda v: len(self.terms[v].expr.text))
        term = self.terms[value]
        self._forget(value)
        self._assign(value, term, None)
        return True

    def _settle(self, node: Node) -> None:
        """Give what a node's regions read a name first, so that it is computed once."""
        for value in captured(node):
            term = self.terms.get(value)
            if term is not None and not term.free and not term.weak:
                self._forget(value)
                self._assign(value, term, None)

    def _done_inside(self, node: Node) -> None:
        """What a node's regions read has been printed."""
        for region in node.regions:
            for inner in walk(region):
                if id(inner) in self.uses.live:
                    self.done([value for value in inner.operands if value in self.terms])

    def _remember(self, value: int, term: Term) -> None:
        self.terms[value] = term
        self.names.hold(term.expr.reads)

    def _forget(self, value: int) -> None:
        term = self.terms.pop(value, None)
        if term is not None:
            self.names.release(term.expr.reads)

    def _assign(self, value: int, term: Term, node: Node | None) -> None:
        if term.comment:
            self.writer.comment(term.comment)
        declared = self.declaration(value)
        if declared and term.shape != self.type(value).shape:
            term = self._whole(value, term)
        variable = self.fresh(value, _WISHES.get(node.name, "t") if node else "t")
        whole = term.shape == self.type(value).shape != ()
        left = f"{variable}: {declared}" if declared else variable
        self.writer.statement(f"{left} = ", term.expr, self.note(value) if whole and not declared else None)
        self.lines += [Assign((variable,), (value,), (term.shape,)), Bind(variable, value)]
        self._remember(value, Term(name(variable), term.shape, free=True))
        if self._released:
            self._released.assigned(variable, node)

    def _whole(self, value: int, term: Term) -> Term:
        """A term of the shape that the value has."""
        self._remember(value, term)
        expr = self.expr(value)
        self._forget(value)
        return Term(expr, self.type(value).shape)

    def _assign_all(self, node: Node, printed: Several) -> None:
        named = any(source_name(self.graph.values[value].loc) for value in node.results)
        if self.target.tuples and len(node.results) > _MOST_NAMES and not named:
            self._assign_tuple(node, printed)
            return
        variables: list[str] = []
        bindings: list[Line] = []
        for value in node.results:
            wish = _WISHES.get(node.name, "t")
            variables.append(self.fresh(value, wish) if self.uses.count.get(value) else "_")
            if variables[-1] != "_":
                self._remember(value, Term(name(variables[-1]), self.type(value).shape, free=True))
                bindings.append(Bind(variables[-1], value))
        self.lines += [Assign(tuple(variables), node.results, node=node), *bindings]
        left = ", ".join(variables) + ("," if len(variables) == 1 else "")
        self.writer.statement(f"{left} = ", printed.expr, self.notes(node.results))

    def _assign_tuple(self, node: Node, printed: Several) -> None:
        """One variable for all results; each is an item of it."""
        variable = self.names.fresh("outs")
        self.writer.statement(f"{variable} = ", printed.expr)
        places = tuple(f"{variable}[{place}]" for place in range(len(node.results)))
        self.lines.append(Assign(places, node.results, node=node))
        for place, value in enumerate(node.results):
            if self.uses.count.get(value):
                self.lines.append(Bind(places[place], value))
                item = self.items.item(variable, place, len(node.results))
                self._remember(value, Term(item, self.type(value).shape, free=True))
