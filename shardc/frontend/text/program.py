"""A whole program: meshes, sizes, and its functions in the order they need each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardc.explain.diagnostics import ShardcError
from shardc.frontend.text import syntax as s
from shardc.frontend.text.annotations import Annotated, Types, Uneven, close_match
from shardc.frontend.text.builder import SourceBuilder
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.expressions import evaluate
from shardc.frontend.text.invocations import Misfit
from shardc.frontend.text.manual import OPTIONS, allows_uneven, device_scope, manual_of, names_axes
from shardc.frontend.text.order import ordered
from shardc.frontend.text.parser import parse
from shardc.frontend.text.scope import DeviceScope, Scope
from shardc.frontend.text.signature import Signature
from shardc.frontend.text.statements import results_of, run
from shardc.frontend.text.syntax import Pos
from shardc.frontend.text.values import FunctionName, Tensor
from shardc.graph.types import Location, TensorType
from shardc.layout import Mesh
from shardc.layout.mesh import LayoutError

MAX_DEVICES = 2**20
"""The largest mesh."""


def read(
    text: str, file: str, defines: Mapping[str, int] | None = None, entry: str | None = None
) -> ModuleOp:
    """The IR of a .shard program.

    `defines` gives sizes other values than the text does; `entry` chooses the function that becomes public,
    otherwise it is main, or the last one. Functions it doesn't need are checked and left out. Raises
    ShardcError with the place in `file`.
    """
    program = parse(text, file)
    return ProgramReader(program, dict(defines or {})).module(entry)


class ProgramReader:
    """Builds the functions of one program."""

    evaluate = staticmethod(evaluate)

    def __init__(self, program: s.Program, defines: Mapping[str, int]) -> None:
        self.program = program
        self.builder = SourceBuilder()
        self.e = Emitter(self.builder, program.file)
        self.meshes: dict[str, Mesh] = {}
        self.sizes: dict[str, int] = {}
        self.functions: dict[str, s.Function] = {}
        self.types = Types(self.e, self.meshes, self.sizes)
        self.named: set[str] = set()
        """The axes that the shardings of the function being built name, and those of functions it calls."""
        self._signatures: dict[str, Signature] = {}
        self._declare_sizes(defines)
        self._declare_meshes()
        self._declare_functions()

    def module(self, entry: str | None) -> ModuleOp:
        """Build every function, callees first; keep those that the entry needs."""
        if not self.functions:
            raise self.e.error("the program has no function", "def main(x: f32[4]) -> f32[4]:", Pos(1, 1))
        chosen = self._entry(entry)
        for function in ordered(self.functions, self.e):
            self._build(function, function.name == chosen)
        self.builder.keep_reachable(chosen, list(self.functions))
        return self.builder.module

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
            hint = close_match(entry, tuple(self.functions), "the functions are")
            raise ShardcError(f"the program has no function {entry}", Location(), hint)
        return entry

    def _declare_sizes(self, defines: Mapping[str, int]) -> None:
        names = tuple(size.name for size in self.program.sizes)
        for name, value in defines.items():
            if name not in names:
                hint = close_match(name, names, "the sizes are")
                raise ShardcError(f"-D {name}={value}: the program has no size {name}", Location(), hint)
            if value < 0:
                raise ShardcError(f"-D {name}={value}: a size is at least 0")
        for size in self.program.sizes:
            self.check_free(size.name, size.pos)
            if size.name in self.sizes:
                raise self.e.error(f"size {size.name} is declared twice", pos=size.pos)
            value = self.types.size(size.value)
            self.sizes[size.name] = defines.get(size.name, value)

    def _declare_meshes(self) -> None:
        for mesh in self.program.meshes:
            if mesh.name in self.meshes:
                raise self.e.error(f"mesh {mesh.name} is declared twice", pos=mesh.pos)
            if not mesh.axes:
                raise self.e.error(f"mesh {mesh.name} has no axes", pos=mesh.pos)
            axes = tuple((name, self.types.size(size)) for name, size in mesh.axes)
            try:
                symbol = self._mesh_symbol(mesh.name)
                declared = Mesh(symbol, axes, processes=mesh.processes or 1)
                if declared.size > MAX_DEVICES:
                    raise LayoutError(f"mesh {mesh.name} has more than 2^20 devices")
                declared = Mesh(symbol, axes, mesh.devices, 1 if mesh.processes is None else mesh.processes)
            except (LayoutError, ArithmeticError) as error:
                raise self.e.error(str(error), pos=mesh.pos) from None
            self.meshes[mesh.name] = declared
            with self.e.at(mesh.pos):
                self.builder.mesh(declared)

    def _mesh_symbol(self, name: str) -> str:
        """What the module calls a mesh: there, unlike here, meshes and functions share one name space."""
        taken = {function.name for function in self.program.functions} | {
            m.name for m in self.meshes.values()
        }
        while name in taken:
            name += "_mesh"
        return name

    def _declare_functions(self) -> None:
        for function in self.program.functions:
            self.check_free(function.name, function.pos)
            decorator = function.decorator
            if decorator is not None and decorator.name not in OPTIONS:
                hint = close_match(decorator.name, tuple(OPTIONS), "the decorators are")
                raise self.e.error(f"unknown decorator @{decorator.name}", hint, decorator.pos)
            self.functions[function.name] = function

    def check_free(self, name: str, pos: Pos) -> None:
        """An error if a name of a value, size or function means something else in the whole program."""
        if name in ("True", "False", "None"):
            raise self.e.error(f"{name} cannot be given a value", pos=pos)
        if name in self.sizes:
            raise self.e.error(f"{name} is a size of this program", "choose another name", pos)
        if name in self.functions:
            raise self.e.error(f"{name} is a function of this program", "choose another name", pos)

    def signature(self, name: str) -> Signature:
        """The signature of a function that is built."""
        return self._signatures[name]

    def function_value(self, name: str) -> FunctionName:
        """A function as an argument of op(…, body=…), cond, …; one with @shard_map is called there."""
        signature = self._signatures[name]

        def inline(*args: Tensor) -> list[Tensor]:
            if signature.mapped:
                self.named.update(signature.axes)
                return self.e.ops("func.call", *args, results=signature.results, weak=False, callee=name)
            return self._body(self.functions[name], list(args), signature.results, signature.manual)

        return FunctionName(name, tuple(signature.parameters), inline)

    def _build(self, function: s.Function, public: bool) -> None:
        decorator = None if function.decorator is None else function.decorator.name
        mapped = decorator == "shard_map"
        manual = device_scope(self.e, function, self.meshes) if decorator == "per_device" else None
        for i, parameter in enumerate(function.parameters):
            self.check_free(parameter.name, parameter.pos)
            if any(parameter.name == other.name for other in function.parameters[:i]):
                raise self.e.error(f"{function.name} has two parameters {parameter.name}", pos=parameter.pos)
        stated = public or not (mapped and names_axes(self.e, function))
        uneven = "warned" if not mapped else "allowed" if allows_uneven(self.e, function) else "wrong"
        parameters = [
            self._resolved(p.type, uneven, f"parameter {p.name}: " if mapped else "")
            for p in function.parameters
        ]
        results = self._results(function, uneven, mapped)
        if manual is not None:
            self._check_blocks([*parameters, *(results or ())])
        types = [*parameters, *(results or ())]
        self.named = {axis.name for type in types if type.sharding for axis in type.sharding.axes()}
        with (
            self.e.at(function.pos),
            self.builder.func(
                function.name,
                [parameter.type for parameter in parameters],
                locs=[Location(self.program.file, *p.pos, p.name) for p in function.parameters],
                shardings=[parameter.sharding for parameter in parameters] if stated else None,
                result_shardings=[r.sharding for r in results] if results and stated else None,
                public=public,
            ) as args,
        ):
            tensors = [Tensor(a, p.type, False, p.sharding) for a, p in zip(args, parameters, strict=True)]
            types = None if results is None else [result.type for result in results]
            if mapped:
                returned = self._per_device(function, tensors, parameters, results)
            else:
                returned = self._body(function, tensors, types, manual)
            self.builder.ret([tensor.value for tensor in returned])
        annotated = mapped or any(x.sharding for x in (*parameters, *(results or ())))
        self._signatures[function.name] = Signature(
            tuple(p.name for p in function.parameters),
            [parameter.type for parameter in parameters],
            [tensor.type for tensor in returned],
            annotated,
            manual,
            frozenset(self.named),
            mapped,
        )

    def _results(self, function: s.Function, uneven: Uneven, mapped: bool) -> list[Annotated] | None:
        """What the types of the results mean, if they are written."""
        written = function.results
        if written is None:
            return None
        names = ["the result: "] if len(written) == 1 else [f"result {i}: " for i in range(len(written))]
        return [
            self._resolved(type, uneven, name if mapped else "")
            for type, name in zip(written, names, strict=True)
        ]

    def _resolved(self, written: s.Type, uneven: Uneven, what: str) -> Annotated:
        """What a type means; errors begin with what it is the type of."""
        try:
            return self.types.resolve(written, uneven)
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
        args: list[Tensor],
        results: list[TensorType] | None,
        manual: DeviceScope | None,
        why: Sequence[Misfit] = (),
    ) -> list[Tensor]:
        scope = Scope(self, self.e, manual=manual)
        for parameter, arg in zip(function.parameters, args, strict=True):
            scope.names[parameter.name] = arg
        value, statement = run(scope, function)
        return results_of(scope, function, value, statement, results, why)

    def _per_device(
        self,
        function: s.Function,
        args: list[Tensor],
        parameters: list[Annotated],
        results: list[Annotated] | None,
    ) -> list[Tensor]:
        """One manual computation over the whole body."""
        if results is None:
            raise self.e.error(
                f"@shard_map function {function.name} needs result types",
                "they say how the devices' blocks make up the result",
            )
        manual = manual_of(self.e, function, self.meshes, parameters, results)
        blocks = [manual.local(p.type, sh) for p, sh in zip(parameters, manual.in_shardings, strict=True)]
        returned = [manual.local(r.type, sh) for r, sh in zip(results, manual.out_shardings, strict=True)]

        self.named.update(manual.axes)
        scope = manual.mesh, manual.axes

        def body(_: object, *values: SSAValue) -> list[SSAValue]:
            self.builder.name(values, [parameter.name for parameter in function.parameters])
            tensors = [Tensor(value, type) for value, type in zip(values, blocks, strict=True)]
            why = [partial(manual.misfit, i, result.type) for i, result in enumerate(results)]
            return [tensor.value for tensor in self._body(function, tensors, returned, scope, why)]

        values = self.builder.manual_computation(
            [arg.value for arg in args],
            body,
            local_types=blocks,
            in_shardings=manual.in_shardings,
            out_shardings=manual.out_shardings,
            results=[result.type for result in results],
            manual_axes=manual.axes,
        )
        end = function.body[-1]
        if isinstance(end, s.Return):
            self.builder.place_return(
                values[0], Location(self.e.loc.file, end.value.pos.line, end.value.pos.col)
            )
        return [Tensor(value, r.type) for value, r in zip(values, results, strict=True)]
