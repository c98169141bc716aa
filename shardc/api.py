"""shardc from Python: a program in, the program of each device out.

program = shardc.compile(text)                          # .shard or StableHLO text
program.source                                          # what `shardc -o` writes
program.main(x, w)                                      # runs it, on the devices there are
shardc.cost(text, machine="tpu-v5e")                    # what `shardc --cost` says, as data
shardc.explain(text, "h")                               # what `shardc --explain h` says, as data
shardc.trace(text, {"x": x, "w": w})                    # what `shardc --run --trace` says

Options are keywords, or a `shardc.options.Options`, or both: keywords change what the record says.
"""

from __future__ import annotations

import builtins
import linecache
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, Unpack

from msgspec import Struct

from shardc.diagnostics import Diagnostic, collecting
from shardc.graph.trees import Interface
from shardc.layout import Mesh, Sharding
from shardc.options import (
    CompileOptions,
    CostOptions,
    ExplainOptions,
    JaxOptions,
    Options,
    options_of,
)

if TYPE_CHECKING:
    from shardc.explain.records import Explanation
    from shardc.graph import Graph
    from shardc.interpret.compared import Array
    from shardc.report.cost import Cost


class Program(Struct, frozen=True, dict=True):
    """A compiled program: its text, and the functions in it.

    `mesh` is None where no mesh is used; `warnings` are those of the compilation, in order. `arguments` and
    `results` are the shardings of `main`'s tensors, None for each where there is no mesh; `interface` says
    which of them are one tuple, record or dict. `proof` is what was proved, or why nothing was, in a line;
    None where nobody asked. `captured` are the arrays that `main` has as its first arguments already: those
    on several devices that a JAX function used without being given them; `arguments` and `interface` count
    them too. The text is executed when one of its functions is first asked for.
    """

    source: str
    mesh: Mesh | None
    target: str
    warnings: tuple[Diagnostic, ...] = ()
    arguments: tuple[Sharding | None, ...] = ()
    results: tuple[Sharding | None, ...] = ()
    interface: Interface = Interface((), None)
    proof: str | None = None
    captured: tuple[Any, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self._compared == other._compared

    def __hash__(self) -> int:
        return hash(self._compared)

    def __repr__(self) -> str:
        return f"Program(source={self.source!r}, mesh={self.mesh!r}, target={self.target!r})"

    @property
    def _compared(self) -> tuple[object, ...]:
        about = self.warnings, self.arguments, self.results, self.interface
        return self.source, self.mesh, self.target, *about

    @property
    def main(self) -> Callable[..., Any]:
        """The function of the global arrays, in the order of the program's parameters."""
        main = self.module.main
        return partial(main, *self.captured) if self.captured else main

    @property
    def device_main(self) -> Callable[..., Any]:
        """The function that each device runs on its blocks; where there is no mesh, `main`."""
        return getattr(self.module, "device_main", self.module.main)

    @cached_property
    def module(self) -> ModuleType:
        """The text as a module. Tracebacks show its lines."""
        name = f"<shardc {hash(self.source) & 0xFFFFFFFF:08x}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(keepends=True), name)
        module = ModuleType("shardc_program")
        exec(builtins.compile(self.source, name, "exec"), module.__dict__)
        return module


class Trace(Struct, frozen=True):
    """What every operation made on some devices, line by line, and whether each was right.

    The last line of a wrong program says which operation differs from the single-device program, and by how
    much.
    """

    lines: tuple[str, ...]
    right: bool


def compile(
    text: str, options: Options | None = None, *, prove: bool | None = False, **named: Unpack[CompileOptions]
) -> Program:
    """Compile a program's text. ShardcError, which points into the text, if it is wrong.

    prove: also prove that what it compiles to equals it in exact arithmetic (docs/proof.md). ShardcError with
    the first element that differs, if it does; where nothing can be proved, one of the warnings says why.
    None: only where its work is small and SHARDC_PROVE is not off, and what is not proved is no warning.
    """
    from shardc.compilation import emit, lower
    from shardc.frontend.read import read
    from shardc.planning.meshes import mesh_of
    from shardc.proof.demand import ask

    chosen = options_of("compile", CompileOptions, options, named)
    with collecting() as warnings:
        module = read(text, chosen)
        asked = ask(module, prove)
        graph = lower(module, chosen, weight=asked.weight)
        source = emit(graph, chosen.target, chosen.process_data, chosen.comments)
        proof = asked.answer(graph, source, chosen.target)
    mesh = mesh_of(graph) if graph.meshes else None
    return Program(source, mesh, chosen.target, tuple(warnings), *_boundary(graph), proof)


_Shardings = tuple[Sharding | None, ...]


def _boundary(graph: Graph) -> tuple[_Shardings, _Shardings, Interface]:
    """How the parameters and the results of a local program lie on the mesh, and their trees."""
    from shardc.analysis import per_device

    local = per_device.read(graph)
    entering, leaving = (tuple(a.sharding for a in arrays) for arrays in (local.params, local.results))
    return entering, leaving, local.interface


def cost(
    text: str,
    options: Options | None = None,
    *,
    tries: int | None = None,
    **named: Unpack[CostOptions],
) -> Cost:
    """What a program costs each device. Warnings of the compilation are not shown.

    tries: how many changes of annotations are compiled to find those that remove a collective; by default
    fewer, the larger the program. ShardcError if the program or the machine's file is wrong.
    """
    from shardc.backend.numpy import peak
    from shardc.compilation import by_memory, machine_of, placed
    from shardc.frontend.read import read
    from shardc.report.program import cost_module

    chosen = options_of("cost", CostOptions, options, named)
    with collecting():
        module = read(text, chosen)
        placement = placed(module, chosen)
        return cost_module(module, peak, by_memory(module, chosen), machine_of(chosen), tries, placement)


def explain(
    text: str, name: str | None = None, options: Options | None = None, **named: Unpack[ExplainOptions]
) -> Explanation:
    """Why the tensors of a program are split as they are: those called `name` (or made in that line), or
    without one an overview. ShardcError if the program is wrong, or no tensor has the name.
    """
    from shardc.compilation import counted_on, machine_of, placed
    from shardc.explain.program import explain_module
    from shardc.frontend.read import read

    chosen = options_of("explain", ExplainOptions, options, named)
    with collecting():
        module = read(text, chosen)
        placement = placed(module, chosen)
        counted = counted_on(module, chosen)
        return explain_module(module, name, machine_of(chosen), placement and placement.text, counted)


def trace(
    text: str,
    arrays: Mapping[str, Array] | None = None,
    options: Options | None = None,
    *,
    devices: Sequence[int] = (0,),
    **named: Unpack[CostOptions],
) -> Trace:
    """Run a program on emulated devices, operation by operation, up to the first that is wrong.

    arrays: the arguments by name; random ones without. devices: the numbers of those whose blocks are
    shown. ShardcError if the program, an argument or a number is wrong.
    """
    from shardc.compilation import lower
    from shardc.dialects.snapshot import snapshot
    from shardc.explain.trace import trace as trace_module
    from shardc.frontend.read import read
    from shardc.interpret.arguments import arguments

    chosen = options_of("trace", CostOptions, options, named)
    lines: list[str] = []
    with collecting():
        module = read(text, chosen)
        given = arguments(snapshot(module).graph, arrays)
        lower(module, chosen, "collectives")
        right = trace_module(module, given, devices, lines.append)
    return Trace(tuple(lines), right)


def from_onnx(
    model: Any,
    *,
    mesh: Mesh | str | None = None,
    shardings: Mapping[str, Any] | None = None,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
    configuration: str | None = None,
    prove: bool | None = None,
    **named: Unpack[JaxOptions],
) -> Program:
    """Compile an ONNX model: its path, or a ModelProto.

    shardings: tensor name -> Sharding, or its text in any notation. dims: sizes of symbolic dimensions.
    values: inputs whose arrays are fixed while compiling. configuration: one of the model's own. `main` takes
    the other inputs, then the weights; `module.load_weights(path)` reads those by name, and on a mesh
    `module.load_blocks(path)` the blocks of them that each process needs. prove: as in `compile`.
    """
    from shardc.compilation import argument_specs, emit, lower
    from shardc.frontend.onnx.loader import with_loader
    from shardc.frontend.onnx.read import Wishes, lowered, open_model
    from shardc.proof.demand import ask

    chosen = options_of("from_onnx", JaxOptions, None, named)
    wishes = Wishes(
        mesh=mesh,
        shardings=dict(shardings or {}),
        dims=dict(dims or {}),
        values=dict(values or {}),
        configuration=configuration,
    )
    with collecting() as warnings:
        model = lowered(open_model(model), wishes)
        asked = ask(model.module, prove)
        graph = lower(model.module, chosen, weight=asked.weight)
        text = emit(graph, chosen.target, chosen.process_data, chosen.comments)
        proof = asked.answer(graph, text, chosen.target)
        source = with_loader(text, model.weights, model.constants.keys, chosen.target, argument_specs(graph))
    return Program(source, model.mesh, chosen.target, tuple(warnings), *_boundary(graph), proof)
