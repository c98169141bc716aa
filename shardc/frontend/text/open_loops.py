"""Loops that run until a condition fails: while change > EPS carrying x, change:

The stablehlo.while carries the values from outside that the condition and the body read (unchanged), then
the carried ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from shardc.frontend.text import syntax as s
from shardc.frontend.text.carried import lose, read_from, start, value_after
from shardc.frontend.text.loops import Execute, check_header, run_turn
from shardc.frontend.text.reads import names_in, reads
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.trees import names_of, rebuilt, tensors_of
from shardc.frontend.text.values import Tensor, Value, describe
from shardc.graph.types import TensorType
from shardc.ops import hlo


def while_loop(scope: Scope, statement: s.While, execute: Execute) -> None:
    """Build a loop; afterwards the carried names have the values with which the condition failed."""
    check_header(scope, statement.carrying)
    if not statement.carrying:
        raise scope.e.error(
            "a loop without carrying computes nothing",
            "name what each turn hands to the next: while change > 1e-5 carrying x, change:",
            statement.pos,
        )
    read = [*names_in(statement.condition), *reads(statement.body)]
    fixed = read_from(scope, read, {target.name for target in statement.carrying})
    carried = tuple(start(scope, target) for target in statement.carrying)
    turn = _OpenTurn(scope, statement, execute, (*fixed,), carried)
    operands = tensors_of((tuple(value for _, value in fixed), carried))
    types = [operand.type for operand in operands]
    with scope.e.at(statement.pos):
        regions = [(types, turn.condition), (types, turn.body)]
        results = scope.e.ops(hlo.while_.name, *operands, results=types, regions=regions, weak=False)
    last = rebuilt(carried, results[len(operands) - len(tensors_of(carried)) :])
    assert isinstance(last, tuple)
    lose(scope, statement)
    for target, value in zip(statement.carrying, last, strict=True):
        scope.e.builder.name([t.value for t in tensors_of(value)], names_of(value, target.name))
        scope.bind(target.name, value)


class _OpenTurn(Struct, frozen=True):
    """The condition and one turn, of what is read from outside and what is carried."""

    scope: Scope
    statement: s.While
    execute: Execute
    fixed: tuple[tuple[str, Value], ...]
    carried: tuple[Value, ...]

    def condition(self, *args: Tensor) -> list[Tensor]:
        inner, expr = self._inner(args), self.statement.condition
        value = inner.value(expr)
        if isinstance(value, Tensor) and value.type == TensorType((), "bool"):
            return [value]
        hint = None
        if isinstance(value, bool):
            hint = "it holds in every turn, or in none: if decides while compiling"
        elif isinstance(value, Tensor) and value.dtype == "bool":
            hint = "any(…) or all(…) makes one of it"
        what = f"{value}, known while compiling" if isinstance(value, bool) else describe(value)
        raise inner.e.error(f"this condition is {what}, and should be bool[]", hint, expr.pos)

    def body(self, *args: Tensor) -> list[Tensor]:
        inner = self._inner(args)
        run_turn(inner, self.statement, self.execute)
        pairs = zip(self.statement.carrying, self.carried, strict=True)
        after = tuple(value_after(inner, target, old) for target, old in pairs)
        return [*args[: len(args) - len(tensors_of(after))], *tensors_of(after)]

    def _inner(self, args: Sequence[Tensor]) -> Scope:
        """The names of the loop for these arguments."""
        inner, rest = self.scope.inner(), list(args)
        names = [target.name for target in self.statement.carrying]
        for name, old in (*self.fixed, *zip(names, self.carried, strict=True)):
            olds = tensors_of(old)
            new = [replace(rest.pop(0), weak=name not in names and t.weak, sharding=t.sharding) for t in olds]
            inner.bind(name, rebuilt(old, new))
            inner.e.builder.name([tensor.value for tensor in new], names_of(old, name))
        return inner
