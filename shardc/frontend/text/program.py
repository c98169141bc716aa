"""A whole program: its declarations, and its functions in the order they need each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp

from shardc.diagnostics import Location, ShardcError, listed
from shardc.dialects.wellformed import verify
from shardc.frontend.text import logical
from shardc.frontend.text import syntax as s
from shardc.frontend.text.builder import SourceBuilder
from shardc.frontend.text.call_places import check_callable, check_per_device, check_shardings
from shardc.frontend.text.declarations import Declarations, record_names
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.expressions import evaluate
from shardc.frontend.text.files import SourceFile, load
from shardc.frontend.text.functions import Functions
from shardc.frontend.text.generic import is_generic
from shardc.frontend.text.gradients import DERIVATIVES
from shardc.frontend.text.imports import Shared, import_names
from shardc.frontend.text.manual import DECORATED, OPTIONS
from shardc.frontend.text.matching import filled
from shardc.frontend.text.order import ordered
from shardc.frontend.text.reads import reads
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.syntax import Pos
from shardc.frontend.text.trees import has_function, rebuilt, tensors_of
from shardc.frontend.text.typed import annotated_leaves
from shardc.frontend.text.values import FunctionName, Value
from shardc.gradients.marks import STOP
from shardc.ops import func


def read(
    text: str, file: str, defines: Mapping[str, int] | None = None, entry: str | None = None
) -> ModuleOp:
    """The IR of a .shard program, verified.

    `defines` gives sizes other values than the text does; `entry` chooses the function that becomes public,
    otherwise it is main, or the last one. Functions it doesn't need are checked and left out. Raises
    ShardcError with the place in `file`.
    """
    readers = readers_of(load(text, file), dict(defines or {}))
    module = readers[-1].module(entry, readers)
    verify(module)
    return module


def readers_of(sources: Sequence[SourceFile], defines: Mapping[str, int]) -> list[ProgramReader]:
    """A reader for each file, with what it declares; `defines` are for the last one, the program's own."""
    own = sources[-1].program
    builder = SourceBuilder()
    reserved = frozenset(function.name for function in own.functions) | record_names(own)
    shared = Shared(builder, Emitter(builder, own.file), reserved)
    shared.e.meshes = shared.meshes
    shared.e.reserved = frozenset(name for source in sources for name in _names(source.program))
    readers: dict[str, ProgramReader] = {}
    for source in sources:
        readers[source.name] = ProgramReader(
            source, shared, readers, defines if source is sources[-1] else {}
        )
    for reader in readers.values():
        reader.declared.declare_meshes()
    for reader in readers.values():
        logical.declare(shared.e, reader.program, shared.meshes, reader.types.logical)
    return list(readers.values())


def _names(program: s.Program) -> set[str]:
    """The functions, records and meshes of a file."""
    return {one.name for one in (*program.functions, *program.meshes)} | set(record_names(program))


class ProgramReader:
    """Builds the functions of one file."""

    evaluate = staticmethod(evaluate)

    def __init__(
        self,
        source: SourceFile,
        shared: Shared,
        readers: Mapping[str, ProgramReader],
        defines: Mapping[str, int],
    ) -> None:
        self.program, self.file, self.shared = source.program, source.name, shared
        self.builder, self.e, self.meshes = shared.builder, shared.e, shared.meshes
        self.declared = Declarations(self.program, shared)
        self.known, self.records, self.modules = (
            self.declared.known,
            self.declared.records,
            self.declared.modules,
        )
        self.types, self.functions = self.declared.types, self.declared.functions
        self.check_free = self.declared.check_free
        self.built = Functions(self)
        self._differentiates: dict[str, bool] = {}
        for written in self.program.imports:
            import_names(self.declared, written, readers[source.imports[written.path].name])
        self.declared.declare(defines, self.scope)
        self._declare_functions()

    @property
    def imported(self) -> bool:
        """Whether this is not the program's own file."""
        return self.file != self.e.file

    def scope(self) -> Scope:
        """A scope outside of all functions."""
        return Scope(self, self.e)

    def module(self, entry: str | None, readers: Sequence[ProgramReader]) -> ModuleOp:
        """Build every function of the files, callees first; keep those that the entry needs."""
        own = {function.name: function for function in self.program.functions}
        if not own:
            raise self.e.error("the program has no function", "def main(x: f32[4]) -> f32[4]:", Pos(1, 1))
        chosen = self._entry(entry, own)
        self.builder.document_program(self.program.about)
        for reader in readers:
            reader.build(chosen)
        symbols = [*self.e.helpers.values()]
        symbols += [symbol for reader in readers for symbol in reader.built.symbols(reader.functions)]
        self.builder.keep_reachable(chosen, symbols)
        self.builder.drop_marked(STOP)
        return self.builder.module

    def build(self, entry: str) -> None:
        """Build the functions that are built once; the entry of the program is public."""
        own = {name: function for name, function in self.functions.items() if self.owner(name) is self}
        for function in ordered(own, self.e):
            public = function.name == entry and not self.imported
            if public or not self.is_generic(function):
                self.built.build(function, public)

    def owner(self, name: str) -> ProgramReader:
        """The reader of the file that declares a function."""
        return self.declared.owners.get(name, self)

    def check_imported(self, name: str, pos: Pos) -> None:
        """An error if an imported file does not have what `layers.norm` names."""
        if name not in {*self.known, *self.functions, *self.records}:
            module, _, own = name.partition(".")
            known = [
                key.partition(".")[2]
                for key in (*self.known, *self.functions, *self.records)
                if key.startswith(f"{module}.")
            ]
            raise self.e.error(f"{self.modules[module]} has no {own}", listed(own, known, "it has"), pos)

    def elsewhere(self, name: str) -> str | None:
        """A hint for a name that an imported file has."""
        found = next(
            (
                module
                for module in self.modules
                if f"{module}.{name}" in {*self.known, *self.functions, *self.records}
            ),
            None,
        )
        return None if found is None else f"the file {self.modules[found]} has it: {found}.{name}"

    def is_generic(self, function: s.Function) -> bool:
        """Whether a function is built for each form of its arguments, or where it is called."""
        if function.decorator is not None and function.decorator.name == "per_device":
            if self.differentiates(function):  # over what its arguments vary, its caller knows
                return True
        return is_generic(function, self.records, {**self.types.sizes, **self.types.constants})

    def differentiates(self, function: s.Function) -> bool:
        """Whether a function, or one that it names, takes a gradient."""
        if function.name not in self._differentiates:
            self._differentiates[function.name] = False
            names = dict.fromkeys(reads(function.body))
            self._differentiates[function.name] = any(
                self.owner(name).differentiates(self.functions[name])
                if name in self.functions
                else name in DERIVATIVES
                for name in names
            )
        return self._differentiates[function.name]

    def _entry(self, entry: str | None, own: Mapping[str, s.Function]) -> str:
        chosen = self._chosen(entry, own)
        decorator = self.functions[chosen].decorator
        if decorator is not None and decorator.name == "per_device":
            hint = "the entry takes whole tensors: a @shard_map function, or one without decorator"
            raise self.e.error(f"the entry {chosen} is per-device code", hint, self.functions[chosen].pos)
        return chosen

    def _chosen(self, entry: str | None, own: Mapping[str, s.Function]) -> str:
        if entry is None:
            return "main" if "main" in own else list(own)[-1]
        if entry not in own:
            hint = listed(entry, own, "the functions are")
            raise ShardcError(f"the program has no function {entry}", Location(), hint)
        return entry

    def _declare_functions(self) -> None:
        for function in self.program.functions:
            self.check_free(function.name, function.pos)
            decorator = function.decorator
            if decorator is not None and decorator.name not in OPTIONS:
                known = (*OPTIONS, *s.RULES)
                hint = DECORATED.get(decorator.name) or listed(decorator.name, known, "the decorators are")
                raise self.e.error(f"unknown decorator @{decorator.name}", hint, decorator.pos)
            self.functions[function.name] = function

    def call(
        self, scope: Scope, function: s.Function, values: Sequence[Value], places: Sequence[Pos], pos: Pos
    ) -> Value:
        """A call of a function with these arguments, one for each parameter."""
        check_per_device(scope, function, pos)
        inside = scope.manual is not None and self.differentiates(function)
        if inside or any(map(has_function, values)):
            return self.built.inlined(scope, function, values, places, pos)
        callee, fitted = self.built.fitting(scope, function, values, places, pos)
        check_callable(scope, function.name, callee, pos)
        operands = [tensor for value in fitted for tensor in tensors_of(value)]
        types = [tensor.type for result in callee.returned for tensor in tensors_of(result)]
        with self.e.at(pos):
            tensors = self.e.ops(func.call.name, *operands, results=types, weak=False, callee=callee.symbol)
        results = rebuilt(callee.returned, tensors)
        assert isinstance(results, tuple)
        return results[0] if len(results) == 1 else results

    def function_value(self, scope: Scope, name: str, pos: Pos) -> FunctionName:
        """A function as an argument of op(…, body=…), cond, …; one with @shard_map is called there."""
        function, owner = self.functions[name], self.owner(name)
        if owner is not self:
            return owner.function_value(scope, function.name, pos)
        if self.is_generic(function):
            return FunctionName(name, None, self._caller(scope, function, pos), named=True)
        signature = self.built.signature(name)
        if scope.manual is not None and signature.mapped:
            check_shardings(scope, scope.manual, name, signature, pos)
        several = any(len(list(annotated_leaves(p))) != 1 for p in signature.parameters)
        called, body = self._caller(scope, function, pos), self.built.body_of(function, signature)
        as_call = signature.mapped or bool(function.rules) or several

        def apply(*args: Value, **named: Value) -> Value:
            return called(*args, **named) if as_call or named else body(*args)

        plain = len(signature.types) == len(signature.parameters)
        return FunctionName(name, signature.types if plain else None, apply, named=True)

    def _caller(self, scope: Scope, function: s.Function, pos: Pos) -> Callable[..., Value]:
        def apply(*args: Value, **named: Value) -> Value:
            values = filled(self.e, function, args, named, self.scope().value)
            return self.call(scope, function, values, [pos] * len(values), pos)

        return apply
