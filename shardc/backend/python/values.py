"""The values of one Python scope: what stands for each, and the lines that assign variables to them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from shardc.analysis.collectives import is_per_device
from shardc.analysis.usage import Usage
from shardc.backend.python import idiom
from shardc.backend.python.emission import Emission
from shardc.backend.python.expressions import Expr, call, integers, name
from shardc.backend.python.items import Items
from shardc.backend.python.literals import filled, typed
from shardc.backend.python.names import Names, source_name
from shardc.backend.python.nouns import noun, summed, updated
from shardc.backend.python.released import Released
from shardc.backend.python.terms import Several, Term
from shardc.backend.python.trace import Assign, Bind, Line
from shardc.graph import Node, TensorType

_PLAIN = re.compile(r"t(_\d+)?")
_MOST_NAMES = 8
"""Of more results than this a call gives one tuple."""


class Values:
    """The values of one scope. `terms` says what stands for each that is still to be used; `held`, how many
    bytes are held by variables that are not also parameters, whose arrays the caller holds."""

    def __init__(self, emission: Emission, uses: Usage, names: Names, terms: dict[int, Term]) -> None:
        self.emission = emission
        self.graph = emission.graph
        self.target = emission.target
        self.writer = emission.writer
        self.uses = uses
        self.names = names
        self.terms = terms
        self.items = Items()
        self._called = {value: term.expr.text for value, term in terms.items() if term.expr.is_variable}
        self.held = Counter[str]()
        self.lines: list[Line] = []
        self.released = Released(self.writer, names, self.lines) if self.target.deletes else None

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
        self.forget(value)
        self.assign(value, full, None)
        return self.terms[value].expr

    def bind(self, value: int, variable: str) -> None:
        """A variable that has been assigned stands for the value."""
        self.lines.append(Bind(variable, value))
        self.remember(value, Term(name(variable), self.type(value).shape, free=True))

    def fresh(self, value: int, fallback: str = "t") -> str:
        """A free variable name for a value: the source's if it gave one."""
        return self.names.fresh(source_name(self.graph.values[value].loc) or fallback)

    def note(self, value: int) -> str:
        """f32[8, 64] of f32[16@data, 64]; the second part where `localize` noted it."""
        whole = self.uses.whole.get(value)
        return f"{self.type(value)}" + (f" of {whole}" if whole else "")

    def notes(self, values: Sequence[int]) -> str | None:
        """f32[8, 64], i32[8]; None if all are scalars, or types are not wanted on every line."""
        if not self.emission.full or all(self.type(value).rank == 0 for value in values):
            return None
        return ", ".join(self.note(value) for value in values)

    def _arrived(self, values: Sequence[int]) -> str:
        """The same of what one exchange gives, once where all are alike."""
        first, *others = dict.fromkeys(map(self.note, values))
        return ", ".join((first, *others)) if others else f"each {first}"

    def remember(self, value: int, term: Term) -> None:
        """From now on `term` stands for a value."""
        self.terms[value] = term
        if term.expr.is_variable:
            self._called[value] = term.expr.text
        self.names.hold(term.expr.reads)

    def forget(self, value: int) -> None:
        """Nothing stands for a value any more: its uses are printed, or it gets another term."""
        term = self.terms.pop(value, None)
        if term is not None:
            self.names.release(term.expr.reads)

    def assign(self, value: int, term: Term, node: Node | None) -> None:
        """A line that gives a value's text a variable."""
        if term.comment:
            self.writer.comment(term.comment)
        declared = self.declaration(value)
        if declared and term.shape != self.type(value).shape:
            term = self._whole(value, term)
        variable = self.fresh(value, self._wish(node))
        whole = term.shape == self.type(value).shape != ()
        left = f"{variable}: {declared}" if declared else variable
        noted = whole and not declared and (self.emission.full or _changes_layout(self, node))
        self.writer.statement(f"{left} = ", term.expr, self.note(value) if noted else None)
        self.lines += [Assign((variable,), (value,), (term.shape,)), Bind(variable, value)]
        self.held[variable] = self.type(value).nbytes
        self.remember(value, Term(name(variable), term.shape, free=True))
        if self.released:
            self.released.assigned(variable, node)

    def _wish(self, node: Node | None) -> str:
        """A name for a result that has none: of a newer state of a variable its own, of the sum of what
        devices hold in one of the source that, where it is free, else a noun.
        """
        parts, state = summed(node), self._variable_of(updated(node))
        named = parts is not None and source_name(self.graph.values[parts].loc) is not None
        own = self._variable_of(parts) if named else None
        if own is not None and self.names.fresh(own) == own:
            return own
        return state or noun(node)

    def _variable_of(self, value: int | None) -> str | None:
        """The variable that stood for a value last, if its name says something."""
        found = None if value is None else self._called.get(value)
        return None if found is None or _PLAIN.fullmatch(found) else found

    def _whole(self, value: int, term: Term) -> Term:
        """A term of the shape that the value has."""
        self.remember(value, term)
        expr = self.expr(value)
        self.forget(value)
        return Term(expr, self.type(value).shape)

    def assign_all(self, node: Node, printed: Several) -> None:
        """A line for all results of a node."""
        if printed.comment:
            self.writer.comment(printed.comment)
        named = {source_name(self.graph.values[value].loc) for value in node.results} - {None}
        if self.target.tuples and len(node.results) > _MOST_NAMES and 2 * len(named) < len(node.results):
            self._assign_tuple(node, printed)
            return
        variables: list[str] = []
        bindings: list[Line] = []
        for place, value in enumerate(node.results):
            wish = noun(node, place)
            variables.append(self.fresh(value, wish) if self.uses.count.get(value) else "_")
            if variables[-1] != "_":
                self.remember(value, Term(name(variables[-1]), self.type(value).shape, free=True))
                bindings.append(Bind(variables[-1], value))
        self.lines += [Assign(tuple(variables), node.results, node=node), *bindings]
        left = ", ".join(variables) + ("," if len(variables) == 1 else "") + " = " * bool(variables)
        exchanged = node.name == idiom.exchanged.name
        notes = self._arrived(node.results) if exchanged else self.notes(node.results)
        self.writer.statement(left, printed.expr, notes)

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
                self.remember(value, Term(item, self.type(value).shape, free=True))


def _changes_layout(values: Values, node: Node | None) -> bool:
    """Whether a node exchanges blocks for other ones."""
    if node is None or not is_per_device(node) or not node.operands:
        return False
    return values.type(node.operands[0]).shape != values.type(node.results[0]).shape
