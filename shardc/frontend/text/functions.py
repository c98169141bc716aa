"""The functions of a program as functions of the module: one each, or one for each form of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shardc.diagnostics import ShardcError
from shardc.frontend.text import syntax as s
from shardc.frontend.text.bodies import Bodies
from shardc.frontend.text.derivative_rules import note_rules
from shardc.frontend.text.fitting import fit
from shardc.frontend.text.generic import Binder, Bound, called_from, check_known
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.signature import Signature
from shardc.frontend.text.syntax import Pos
from shardc.frontend.text.trees import form_of
from shardc.frontend.text.typed import (
    KNOWN,
    Fixed,
    Typed,
    annotated_leaves,
    described,
    typed_of,
)
from shardc.frontend.text.values import Tensor, Value
from shardc.graph.types import TensorType

if TYPE_CHECKING:
    from shardc.frontend.text.program import ProgramReader


class Functions:
    """Builds functions, and knows those that are built."""

    def __init__(self, program: ProgramReader) -> None:
        self.program = program
        self.e, self.builder, self.types = program.e, program.builder, program.types
        self.bodies = Bodies(program)
        self._signatures: dict[str, Signature] = {}
        self._instances: dict[str, dict[Hashable, Signature]] = {}

    def signature(self, name: str) -> Signature:
        """The signature of a function that is built once."""
        return self._signatures[name]

    def symbols(self, order: Iterable[str]) -> list[str]:
        """What is built, in the order of the functions."""
        found: list[str] = []
        for name in order:
            found += [self._signatures[name].symbol] if name in self._signatures else []
            found += [instance.symbol for instance in self._instances.get(name, {}).values()]
        return found

    def build(self, function: s.Function, public: bool) -> None:
        """Build a function whose types say all."""
        mapped = function.decorator is not None and function.decorator.name == "shard_map"
        self.bodies.check_names(function)
        uneven = self.bodies.uneven(function, mapped)
        typed: list[Typed] = []
        for p in function.parameters:
            if p.type is None:
                hint = f"{p.name}: f32[8, 4]; what is called takes any tensor"
                raise self.e.error(
                    f"parameter {p.name} of the entry {function.name} has no type", hint, p.pos
                )
            typed.append(self.bodies.resolved(p.type, uneven, f"parameter {p.name}: " if mapped else ""))
        signature = self.bodies.define(function, self._symbol(function.name), typed, public)
        self._signatures[function.name] = signature
        note_rules(self.program, function, signature)

    def fitting(
        self, scope: Scope, function: s.Function, values: Sequence[Value], places: Sequence[Pos], pos: Pos
    ) -> tuple[Signature, list[Value]]:
        """The function for these arguments, built if need be, and the arguments as it takes them."""
        if function.name in self._signatures:
            callee = self._signatures[function.name]
            fitted = [
                fit(scope, typed, value, f"argument {p.name} of {function.name}", place)
                for p, typed, value, place in zip(
                    function.parameters, callee.parameters, values, places, strict=True
                )
            ]
            return callee, fitted
        bound = self._bind(function, values, places)
        with self._naming(bound):
            typed, fitted = self._typed_arguments(scope, function, values, places, bound)
            key = (tuple(map(form_of, fitted)), tuple(bound.sizes.items()), tuple(bound.rests.items()))
            instances = self._instances.setdefault(function.name, {})
            if key not in instances:
                instances[key] = self._instance(function, typed, bound, pos)
            return instances[key], fitted

    def inlined(
        self,
        scope: Scope,
        function: s.Function,
        values: Sequence[Value],
        places: Sequence[Pos],
        pos: Pos,
        outer: Bound | None = None,
    ) -> Value:
        """The value of a call whose body is built in its place.

        A function among the arguments makes it so. `outer` is what the types around a function inside
        another one have bound; such a body may use the names of `scope`.
        """
        if function.rules:
            rule = function.rules[0]
            hint = "what it takes is tensors, and it takes no gradient itself"
            raise self.e.error(f"@{rule.name} {function.name} is called with a function", hint, pos)
        bound = self._bind(function, values, places, outer)
        with self._naming(bound):
            typed, fitted = self._typed_arguments(scope, function, values, places, bound)
            with self._called(function, typed, pos):
                results = self.bodies.results(function, "warned", False)
                around = scope if outer is not None else None
                returned = self.bodies.body(function, fitted, results, scope.manual, (), bound, around)
        return returned[0] if len(returned) == 1 else tuple(returned)

    def body_of(self, function: s.Function, signature: Signature) -> Callable[..., Value]:
        """What builds the body again in another place."""

        def apply(*args: Tensor) -> Value:
            results = [typed_of(value, function.pos) for value in signature.returned]
            returned = self.bodies.body(function, list(args), results, signature.manual)
            return returned[0] if len(returned) == 1 else tuple(returned)

        return apply

    # ---- instances

    def _bind(
        self,
        function: s.Function,
        values: Sequence[Value],
        places: Sequence[Pos],
        outer: Bound | None = None,
    ) -> Bound:
        bound, declared = outer or Bound(), f"{function.name} is declared at {self._place(function.pos)}"
        for parameter, value, place in zip(function.parameters, values, places, strict=True):
            if parameter.type is not None:
                name = f"{parameter.name} of {function.name}"
                binder = Binder(self.types, self.program.records, bound, name, place, declared)
                binder.bind(parameter.type, value)
        return bound

    @contextmanager
    def _naming(self, bound: Bound) -> Generator[None]:
        """Inside, types may name what the call of a function has bound."""
        old = self.types.bound, self.types.rests
        self.types.bound, self.types.rests = {**self.types.constants, **bound.sizes}, bound.rests
        try:
            yield
        finally:
            self.types.bound, self.types.rests = old

    def _typed_arguments(
        self,
        scope: Scope,
        function: s.Function,
        values: Sequence[Value],
        places: Sequence[Pos],
        bound: Bound,
    ) -> tuple[list[Typed], list[Value]]:
        """What the parameters are for these arguments, and the arguments so."""
        declared = f"{function.name} is declared at {self._place(function.pos)}"

        def why(_: TensorType) -> tuple[str, str | None]:
            return "", f"{bound.why()}; {declared}" if bound.places else declared

        typed: list[Typed] = []
        fitted: list[Value] = []
        for p, value, place in zip(function.parameters, values, places, strict=True):
            what = f"argument {p.name} of {function.name}"
            if p.type is None:
                one = typed_of(value, place)
            elif isinstance(p.type, s.NamedType) and p.type.name in KNOWN:
                check_known(self.types, p.type, value, what, place)
                one = Fixed(value)
            else:
                one = self.bodies.resolved(p.type, self.bodies.uneven(function, False), "")
                reasons = iter([why] * len(list(annotated_leaves(one))))
                value = fit(scope, one, value, what, place, reasons)
            typed.append(one)
            fitted.append(value)
        return typed, fitted

    def _instance(self, function: s.Function, typed: list[Typed], bound: Bound, pos: Pos) -> Signature:
        """The function for one form of its arguments, in a place of its own."""
        self.bodies.check_names(function)
        with self._called(function, typed, pos), self.e.apart():
            old, self.program.shared.named = self.program.shared.named, set()
            try:
                made = self.bodies.define(function, self._symbol(function.name), typed, False, bound)
                note_rules(self.program, function, made)
                return made
            finally:
                self.program.shared.named = old

    @contextmanager
    def _called(self, function: s.Function, typed: Sequence[Typed], pos: Pos) -> Generator[None]:
        """Errors inside say for which call the function is built."""
        try:
            yield
        except ShardcError as error:
            raise called_from(
                error, function.name, self._place(pos), ", ".join(map(described, typed))
            ) from None

    def _place(self, pos: Pos) -> str:
        return str(self.e.place(pos))

    def _symbol(self, name: str) -> str:
        """What a function is called in the module: those of the program's own file keep their names."""
        shared, symbol, number = self.program.shared, name, 0
        own = set[str]() if self.program.imported else {name}
        taken = {
            *(shared.reserved - own),
            *shared.symbols,
            *(mesh.name for mesh in shared.meshes.values()),
        }
        while symbol in taken:
            number += 1
            symbol = f"{name}_{number}"
        shared.symbols.add(symbol)
        return symbol
