"""A whole program: its declarations, and its functions in the order they need each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp

from shardc.diagnostics import Location, ShardcError, listed
from shardc.dialects.wellformed import verify
from shardc.frontend.text import syntax as s
from shardc.frontend.text.builder import SourceBuilder
from shardc.frontend.text.calls import check_callable, check_per_device, check_shardings
from shardc.frontend.text.declarations import Declarations
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.expressions import evaluate
from shardc.frontend.text.functions import Functions
from shardc.frontend.text.generic import is_generic
from shardc.frontend.text.manual import OPTIONS
from shardc.frontend.text.order import ordered
from shardc.frontend.text.parser import parse
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.syntax import Pos
from shardc.frontend.text.trees import has_function, rebuilt, tensors_of
from shardc.frontend.text.typed import annotated_leaves
from shardc.frontend.text.values import FunctionName, Value, plural
from shardc.ops import func


def read(
    text: str, file: str, defines: Mapping[str, int] | None = None, entry: str | None = None
) -> ModuleOp:
    """The IR of a .shard program, verified.

    `defines` gives sizes other values than the text does; `entry` chooses the function that becomes public,
    otherwise it is main, or the last one. Functions it doesn't need are checked and left out. Raises
    ShardcError with the place in `file`.
    """
    program = parse(text, file)
    module = ProgramReader(program, dict(defines or {})).module(entry)
    verify(module)
    return module


class ProgramReader:
    """Builds the functions of one program."""

    evaluate = staticmethod(evaluate)

    def __init__(self, program: s.Program, defines: Mapping[str, int]) -> None:
        self.program = program
        self.builder = SourceBuilder()
        self.e = Emitter(self.builder, program.file)
        self.declared = Declarations(program, self.builder, self.e)
        self.known, self.meshes, self.records = (
            self.declared.known,
            self.declared.meshes,
            self.declared.records,
        )
        self.types, self.functions = self.declared.types, self.declared.functions
        self.check_free = self.declared.check_free
        self.named: set[str] = set()
        """The axes that the shardings of the function being built name, and those of functions it calls."""
        self.built = Functions(self)
        self.declared.declare(defines, self.scope)
        self._declare_functions()

    def scope(self) -> Scope:
        """A scope outside of all functions."""
        return Scope(self, self.e)

    def module(self, entry: str | None) -> ModuleOp:
        """Build every function, callees first; keep those that the entry needs."""
        if not self.functions:
            raise self.e.error("the program has no function", "def main(x: f32[4]) -> f32[4]:", Pos(1, 1))
        chosen = self._entry(entry)
        for function in ordered(self.functions, self.e):
            if function.name == chosen or not self.is_generic(function):
                self.built.build(function, function.name == chosen)
        self.builder.keep_reachable(chosen, self.built.symbols(self.functions))
        return self.builder.module

    def is_generic(self, function: s.Function) -> bool:
        """Whether a function is built for each form of its arguments."""
        return is_generic(function, self.records, {**self.types.sizes, **self.types.constants})

    def _entry(self, entry: str | None) -> str:
        chosen = self._chosen(entry)
        decorator = self.functions[chosen].decorator
        if decorator is not None and decorator.name == "per_device":
            hint = "the entry takes whole tensors: a @shard_map function, or one without decorator"
            raise self.e.error(f"the entry {chosen} is per-device code", hint, self.functions[chosen].pos)
        return chosen

    def _chosen(self, entry: str | None) -> str:
        if entry is None:
            return "main" if "main" in self.functions else list(self.functions)[-1]
        if entry not in self.functions:
            hint = listed(entry, self.functions, "the functions are")
            raise ShardcError(f"the program has no function {entry}", Location(), hint)
        return entry

    def _declare_functions(self) -> None:
        for function in self.program.functions:
            self.check_free(function.name, function.pos)
            decorator = function.decorator
            if decorator is not None and decorator.name not in OPTIONS:
                hint = listed(decorator.name, OPTIONS, "the decorators are")
                raise self.e.error(f"unknown decorator @{decorator.name}", hint, decorator.pos)
            self.functions[function.name] = function

    def call(
        self, scope: Scope, function: s.Function, values: Sequence[Value], places: Sequence[Pos], pos: Pos
    ) -> Value:
        """A call of a function with these arguments, one for each parameter."""
        check_per_device(scope, function, pos)
        if any(map(has_function, values)):
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
        function = self.functions[name]
        if self.is_generic(function):
            return FunctionName(name, None, self._caller(scope, function, pos))
        signature = self.built.signature(name)
        if scope.manual is not None and signature.mapped:
            check_shardings(scope, scope.manual, name, signature, pos)
        if signature.mapped or any(len(list(annotated_leaves(p))) != 1 for p in signature.parameters):
            apply = self._caller(scope, function, pos)
        else:
            apply = self.built.body_of(function, signature)
        plain = len(signature.types) == len(signature.parameters)
        return FunctionName(name, signature.types if plain else None, apply)

    def _caller(self, scope: Scope, function: s.Function, pos: Pos) -> Callable[..., Value]:
        def apply(*args: Value) -> Value:
            required = [parameter for parameter in function.parameters if parameter.default is None]
            if not len(required) <= len(args) <= len(function.parameters):
                takes = plural(len(function.parameters), "argument")
                raise self.e.error(f"{function.name} takes {takes}, and is given {len(args)}")
            rest = [self.scope().value(p.default) for p in function.parameters[len(args) :] if p.default]
            values = (*args, *rest)
            return self.call(scope, function, values, [pos] * len(values), pos)

        return apply
