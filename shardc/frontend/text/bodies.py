"""One function of a program as a function of the module: its types and its body, per device in @shard_map."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from xdsl.ir import SSAValue

from shardc.diagnostics import ShardcError
from shardc.frontend.text import syntax as s
from shardc.frontend.text.annotations import Annotated, Uneven
from shardc.frontend.text.fitting import Misfit
from shardc.frontend.text.generic import Bound
from shardc.frontend.text.manual import allows_uneven, device_scope, manual_of, names_axes, promises
from shardc.frontend.text.scope import DeviceScope, Scope
from shardc.frontend.text.signature import Signature
from shardc.frontend.text.statements import results_of, run
from shardc.frontend.text.syntax import Pos
from shardc.frontend.text.trees import tensors_of, tree_of
from shardc.frontend.text.typed import (
    Typed,
    TypedRecord,
    annotated_leaves,
    filled,
    leaf_names,
    resolved,
    tree_of_type,
)
from shardc.frontend.text.values import Tensor, Value
from shardc.graph.trees import Interface, branches
from shardc.graph.types import TensorType
from shardc.layout import Axis
from shardc.ops import spmd

if TYPE_CHECKING:
    from shardc.frontend.text.program import ProgramReader


class Bodies:
    """Defines functions whose types are known."""

    def __init__(self, program: ProgramReader) -> None:
        self.program = program
        self.e, self.builder, self.types = program.e, program.builder, program.types

    def check_names(self, function: s.Function) -> None:
        """Raises ShardcError where parameters have one name, or that of a declaration."""
        names = set[str]()
        for parameter in function.parameters:
            self.program.check_free(parameter.name, parameter.pos)
            if parameter.name in names:
                raise self.e.error(f"{function.name} has two parameters {parameter.name}", pos=parameter.pos)
            names.add(parameter.name)

    def uneven(self, function: s.Function, mapped: bool) -> Uneven:
        """Whether the types of a function may be split unevenly."""
        if not mapped:
            return "warned"
        return "allowed" if allows_uneven(self.e, function) else "wrong"

    def define(
        self,
        function: s.Function,
        symbol: str,
        typed: Sequence[Typed],
        public: bool,
        bound: Bound | None = None,
    ) -> Signature:
        """Build a function under that symbol. `bound` is what a call binds of the names in its types."""
        decorator = None if function.decorator is None else function.decorator.name
        mapped = decorator == "shard_map"
        manual = None
        if decorator == "per_device":
            manual = device_scope(self.e, function, self.program.meshes, self.types.logical)
        stated = public or not (mapped and names_axes(self.e, function))
        parameters = [leaf for one in typed for leaf in annotated_leaves(one)]
        names, places = _leaves_named(function, typed)
        results = self.results(function, self.uneven(function, mapped), mapped)
        outs = [leaf for one in results or () for leaf in annotated_leaves(one)]
        if manual is not None:
            self._check_blocks([*parameters, *outs])
        types = [*parameters, *outs]
        self.program.shared.named = {a.name for type in types if type.sharding for a in type.sharding.axes()}
        with (
            self.e.at(function.pos),
            self.builder.counted(),
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
                returned = self.body(function, _valued(typed, tensors), results, manual, bound=bound)
            if public and None in returned:
                raise self.e.error(f"{function.name} returns None", pos=_end(function))
            self.builder.document(function.doc)
            if public:
                self.builder.note_interface(self._interface(function, typed, returned))
            self.builder.ret([tensor.value for value in returned for tensor in tensors_of(value)])
        annotated = mapped or any(x.sharding for x in types)
        axes = frozenset(self.program.shared.named)
        return Signature(symbol, tuple(typed), tuple(returned), annotated, manual, axes, mapped)

    def _interface(
        self, function: s.Function, typed: Sequence[Typed], returned: Sequence[Value]
    ) -> Interface:
        """How the entry takes and gives its tensors."""
        names = [parameter.name for parameter in function.parameters]
        trees = [tree_of_type(one) for one in typed]
        given = tree_of(returned[0] if len(returned) == 1 else tuple(returned))
        classes = dict.fromkeys(branch.record for tree in (*trees, given) for branch in branches(tree))
        docs = ((name, self.program.shared.classes.get(name)) for name in classes)
        said = tuple((name, doc) for name, doc in docs if doc is not None)
        return Interface(tuple(zip(names, trees, strict=True)), given, said)

    def results(self, function: s.Function, uneven: Uneven, mapped: bool) -> list[Typed] | None:
        """What the types of the results mean, if they are written."""
        written = function.results
        if written is None:
            return None
        names = ["the result: "] if len(written) == 1 else [f"result {i}: " for i in range(len(written))]
        return [
            self.resolved(type, uneven, name if mapped else "")
            for type, name in zip(written, names, strict=True)
        ]

    def resolved(self, written: s.AnyType, uneven: Uneven, what: str) -> Typed:
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

    def body(
        self,
        function: s.Function,
        args: Sequence[Value],
        results: list[Typed] | None,
        manual: DeviceScope | None,
        why: Sequence[Misfit] = (),
        bound: Bound | None = None,
        around: Scope | None = None,
    ) -> list[Value]:
        """What the body returns, built where the builder stands. `why` explains results that do not fit.

        A function inside another one may use the names `around` it.
        """
        scope = around.inner() if around else Scope(self.program, self.e, manual=manual)
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
            self.e.devices.enter(manual.mesh, manual.axes, values, manual.in_shardings)
            why = [partial(manual.misfit, i, result.type) for i, result in enumerate(results)]
            values_given = _valued(typed, tensors)
            try:
                made = self.body(function, values_given, outs, scope, why, bound)
            finally:
                self.e.devices.leave()
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
