"""The functions of a program as functions of the module: one each, or one for each form of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from shardc.diagnostics import ShardcError
from shardc.frontend.text import syntax as s
from shardc.frontend.text.annotations import Annotated, Uneven
from shardc.frontend.text.fitting import Misfit, fit
from shardc.frontend.text.generic import Binder, Bound, called_from, check_known
from shardc.frontend.text.manual import allows_uneven, device_scope, manual_of, names_axes, promises
from shardc.frontend.text.scope import DeviceScope, Scope
from shardc.frontend.text.signature import Signature
from shardc.frontend.text.statements import results_of, run
from shardc.frontend.text.syntax import Pos
from shardc.frontend.text.trees import form_of, tensors_of
from shardc.frontend.text.typed import (
    KNOWN,
    Fixed,
    Typed,
    TypedRecord,
    annotated_leaves,
    described,
    filled,
    leaf_names,
    resolved,
    typed_of,
)
from shardc.frontend.text.values import Tensor, Value
from shardc.graph.types import TensorType
from shardc.layout import Axis
from shardc.ops import spmd

if TYPE_CHECKING:
    from shardc.frontend.text.program import ProgramReader


class Functions:
    """Builds functions, and knows those that are built."""

    def __init__(self, program: ProgramReader) -> None:
        self.program = program
        self.e, self.builder, self.types = program.e, program.builder, program.types
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
        self._check_names(function)
        uneven = self._uneven(function, mapped)
        typed: list[Typed] = []
        for p in function.parameters:
            if p.type is None:
                hint = f"{p.name}: f32[8, 4]; what is called takes any tensor"
                raise self.e.error(
                    f"parameter {p.name} of the entry {function.name} has no type", hint, p.pos
                )
            typed.append(self._resolved(p.type, uneven, f"parameter {p.name}: " if mapped else ""))
        self._signatures[function.name] = self._define(function, self._symbol(function.name), typed, public)

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
        self, scope: Scope, function: s.Function, values: Sequence[Value], places: Sequence[Pos], pos: Pos
    ) -> Value:
        """The value of a call among whose arguments is a function: the body is built in its place."""
        bound = self._bind(function, values, places)
        with self._naming(bound):
            typed, fitted = self._typed_arguments(scope, function, values, places, bound)
            with self._called(function, typed, pos):
                results = self._results(function, "warned", False)
                returned = self._body(function, fitted, results, scope.manual, bound=bound)
        return returned[0] if len(returned) == 1 else tuple(returned)

    def body_of(self, function: s.Function, signature: Signature) -> Callable[..., Value]:
        """What builds the body again in another place."""

        def apply(*args: Tensor) -> Value:
            results = [typed_of(value, function.pos) for value in signature.returned]
            returned = self._body(function, list(args), results, signature.manual)
            return returned[0] if len(returned) == 1 else tuple(returned)

        return apply

    # ---- instances

    def _bind(self, function: s.Function, values: Sequence[Value], places: Sequence[Pos]) -> Bound:
        bound, declared = Bound(), f"{function.name} is declared at {self._place(function.pos)}"
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
                one = self._resolved(p.type, self._uneven(function, False), "")
                reasons = iter([why] * len(list(annotated_leaves(one))))
                value = fit(scope, one, value, what, place, reasons)
            typed.append(one)
            fitted.append(value)
        return typed, fitted

    def _instance(self, function: s.Function, typed: list[Typed], bound: Bound, pos: Pos) -> Signature:
        """The function for one form of its arguments, in a place of its own."""
        self._check_names(function)
        with self._called(function, typed, pos), self.e.apart():
            old, self.program.shared.named = self.program.shared.named, set()
            try:
                return self._define(function, self._symbol(function.name), typed, False, bound)
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

    # ---- one function

    def _check_names(self, function: s.Function) -> None:
        for i, parameter in enumerate(function.parameters):
            self.program.check_free(parameter.name, parameter.pos)
            if any(parameter.name == other.name for other in function.parameters[:i]):
                raise self.e.error(f"{function.name} has two parameters {parameter.name}", pos=parameter.pos)

    def _uneven(self, function: s.Function, mapped: bool) -> Uneven:
        if not mapped:
            return "warned"
        return "allowed" if allows_uneven(self.e, function) else "wrong"

    def _define(
        self,
        function: s.Function,
        symbol: str,
        typed: Sequence[Typed],
        public: bool,
        bound: Bound | None = None,
    ) -> Signature:
        decorator = None if function.decorator is None else function.decorator.name
        mapped = decorator == "shard_map"
        manual = None
        if decorator == "per_device":
            manual = device_scope(self.e, function, self.program.meshes, self.types.logical)
        stated = public or not (mapped and names_axes(self.e, function))
        parameters = [leaf for one in typed for leaf in annotated_leaves(one)]
        names, places = _leaves_named(function, typed)
        results = self._results(function, self._uneven(function, mapped), mapped)
        outs = [leaf for one in results or () for leaf in annotated_leaves(one)]
        if manual is not None:
            self._check_blocks([*parameters, *outs])
        types = [*parameters, *outs]
        self.program.shared.named = {a.name for type in types if type.sharding for a in type.sharding.axes()}
        with (
            self.e.at(function.pos),
            self.builder.func(
                symbol,
                [parameter.type for parameter in parameters],
                locs=[self.e.place(pos, name) for name, pos in zip(names, places, strict=True)],
                shardings=[parameter.sharding for parameter in parameters] if stated else None,
                result_shardings=[r.sharding for r in outs] if outs and stated else None,
                public=public,
            ) as args,
        ):
            tensors = [Tensor(a, p.type, p.weak, p.sharding) for a, p in zip(args, parameters, strict=True)]
            if mapped:
                returned = self._per_device(function, tensors, typed, parameters, results, names, bound)
            else:
                returned = self._body(function, _valued(typed, tensors), results, manual, bound=bound)
            self.builder.document(function.doc)
            self.builder.ret([tensor.value for value in returned for tensor in tensors_of(value)])
        annotated = mapped or any(x.sharding for x in types)
        axes = frozenset(self.program.shared.named)
        return Signature(symbol, tuple(typed), tuple(returned), annotated, manual, axes, mapped)

    def _results(self, function: s.Function, uneven: Uneven, mapped: bool) -> list[Typed] | None:
        """What the types of the results mean, if they are written."""
        written = function.results
        if written is None:
            return None
        names = ["the result: "] if len(written) == 1 else [f"result {i}: " for i in range(len(written))]
        return [
            self._resolved(type, uneven, name if mapped else "")
            for type, name in zip(written, names, strict=True)
        ]

    def _resolved(self, written: s.AnyType, uneven: Uneven, what: str) -> Typed:
        """What a type means; errors begin with what it is the type of."""
        try:
            return resolved(self.types, self.program.records, written, uneven)
        except ShardcError as error:
            told = error.diagnostic
            raise ShardcError(what + told.message, told.loc, told.hint) from None

    def _check_blocks(self, types: list[Annotated]) -> None:
        """The types of a @per_device function are those of blocks."""
        for annotated in types:
            if annotated.sharding is not None:
                raise self.e.error(
                    "the types of a @per_device function are those of blocks, which axes do not split",
                    "a @shard_map function has global types",
                    annotated.pos,
                )

    def _body(
        self,
        function: s.Function,
        args: Sequence[Value],
        results: list[Typed] | None,
        manual: DeviceScope | None,
        why: Sequence[Misfit] = (),
        bound: Bound | None = None,
    ) -> list[Value]:
        scope = Scope(self.program, self.e, manual=manual)
        if bound is not None:
            scope.names.update({**bound.rests, **bound.sizes})
        for parameter, arg in zip(function.parameters, args, strict=True):
            scope.names[parameter.name] = arg
        value, statement = run(scope, function)
        return results_of(scope, function, value, statement, results, why)

    def _per_device(
        self,
        function: s.Function,
        args: list[Tensor],
        typed: Sequence[Typed],
        parameters: list[Annotated],
        result_types: list[Typed] | None,
        names: list[str],
        bound: Bound | None,
    ) -> list[Value]:
        """One manual computation over the whole body."""
        if result_types is None:
            raise self.e.error(
                f"@shard_map function {function.name} needs result types",
                "they say how the devices' blocks make up the result",
            )
        results = [leaf for one in result_types for leaf in annotated_leaves(one)]
        manual = manual_of(self.e, function, self.program.meshes, self.types.logical, parameters, results)
        blocks = [manual.local(p.type, sh) for p, sh in zip(parameters, manual.in_shardings, strict=True)]
        returned = [manual.local(r.type, sh) for r, sh in zip(results, manual.out_shardings, strict=True)]
        outs = _of_types(result_types, returned)

        self.program.shared.named.update(manual.axes)
        scope = manual.mesh, manual.axes

        def body(_: object, *values: SSAValue) -> list[SSAValue]:
            self.builder.name(values, names)
            tensors = [Tensor(value, type) for value, type in zip(values, blocks, strict=True)]
            why = [partial(manual.misfit, i, result.type) for i, result in enumerate(results)]
            values_given = _valued(typed, tensors)
            made = self._body(function, values_given, outs, scope, why, bound)
            made = [tensor for value in made for tensor in tensors_of(value)]
            if promises(self.e, function):
                with self.e.at(_end(function)):
                    made = [self._promised(tensor, manual.unmentioned(i)) for i, tensor in enumerate(made)]
            return [tensor.value for tensor in made]

        values = self.builder.manual_computation(
            [arg.value for arg in args],
            body,
            local_types=blocks,
            in_shardings=manual.in_shardings,
            out_shardings=manual.out_shardings,
            results=[result.type for result in results],
            manual_axes=manual.axes,
        )
        if isinstance(function.body[-1], s.Return):
            self.builder.place_return(values[0], self.e.place(_end(function)))
        made = [Tensor(value, r.type) for value, r in zip(values, results, strict=True)]
        return _valued(result_types, made)

    def _promised(self, tensor: Tensor, axes: tuple[Axis, ...]) -> Tensor:
        """A result that check=False says is the same over the axes."""
        if not axes:
            return tensor
        return self.e.op(spmd.assume_equal.name, tensor, result=tensor.type, axes=axes)


def _end(function: s.Function) -> Pos:
    """Where the result stands."""
    end = function.body[-1]
    return end.value.pos if isinstance(end, s.Return) else function.pos


def _valued(typed: Sequence[Typed], tensors: Sequence[Tensor]) -> list[Value]:
    """Values of these types, made of the tensors."""
    rest = iter(tensors)
    return [filled(one, rest) for one in typed]


def _of_types(typed: Sequence[Typed], types: Sequence[TensorType]) -> list[Typed]:
    """The same tuples and records, of tensors of other types."""
    rest = iter(types)

    def changed(one: Typed) -> Typed:
        if isinstance(one, tuple):
            return tuple(map(changed, one))
        if isinstance(one, TypedRecord):
            return replace(one, fields=tuple((name, changed(item)) for name, item in one.fields))
        return replace(one, type=next(rest)) if isinstance(one, Annotated) else one

    return [changed(one) for one in typed]


def _leaves_named(function: s.Function, typed: Sequence[Typed]) -> tuple[list[str], list[Pos]]:
    """The names of the tensors that the parameters consist of, and the places of the parameters."""
    names: list[str] = []
    places: list[Pos] = []
    for parameter, one in zip(function.parameters, typed, strict=True):
        own = leaf_names(one, parameter.name)
        names += own
        places += [parameter.pos] * len(own)
    return names, places
