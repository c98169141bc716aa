"""Writes a local module as a .shard program: per-device code that compiles to the same again.

emit(graph) -> a mesh, the functions that the program calls, and its entry as a @shard_map function.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shardc.backend import local
from shardc.backend.axes import EmittedMesh
from shardc.backend.context import Target
from shardc.backend.functions import block
from shardc.backend.local import Array, LocalProgram
from shardc.backend.names import RESERVED, identifier
from shardc.backend.shard_body import PLACE, ShardContext
from shardc.backend.shard_collectives import TABLE as COLLECTIVES
from shardc.backend.shard_control import TABLE as CONTROL
from shardc.backend.shard_elementwise import TABLE as ELEMENTWISE
from shardc.backend.shard_functions import definition, function_text, is_per_device, write_body
from shardc.backend.shard_partial import declarations
from shardc.backend.shard_raw import operation
from shardc.backend.shard_reductions import TABLE as REDUCTIONS
from shardc.backend.shard_shapes import TABLE as SHAPES
from shardc.backend.shard_text import check_dtype
from shardc.backend.writer import Writer
from shardc.graph import Function, Graph, Region, walk

TABLE = {**ELEMENTWISE, **SHAPES, **REDUCTIONS, **COLLECTIVES, **CONTROL}
TARGET = Target("a .shard program", "", TABLE, operation, tuples=False)


def emit(graph: Graph) -> str:
    """The .shard program of a local module; ShardcError where the language cannot say something."""
    program = local.read(graph)
    for value in graph.values:
        check_dtype(value.type.dtype, value.loc)
    callees = list(_called(graph, program.body, {}))
    declared = declarations(graph, [program.body, *(f.body for f in callees)], program.mesh)
    context = ShardContext(
        graph,
        TARGET,
        Writer(),
        program.mesh,
        declared=declared,
        communicating=frozenset(f.name for f in callees if is_per_device(graph, f.body, declared)),
    )
    context.functions[program.function.name] = _function_name(context, program.function.name)
    for function in callees:
        context.functions[function.name] = _function_name(context, function.name)
    texts = [function_text(context, context.functions[f.name], f) for f in callees]
    entry = _entry(context, program)
    helpers = [text.replace(PLACE, name) for text, name in context.helpers.items()]
    return "\n\n".join([_preamble(program), *helpers, *texts, entry])


def _called(graph: Graph, region: Region, seen: dict[str, Function]) -> Iterator[Function]:
    """The functions that a region calls, callees first."""
    for node in walk(region):
        callee = node.attrs.get("callee")
        if isinstance(callee, str) and callee not in seen:
            seen[callee] = graph.functions[callee]
            yield from _called(graph, seen[callee].body, seen)
            yield seen[callee]


def _function_name(context: ShardContext, name: str) -> str:
    wish = name if name == "main" else identifier(name) or "function"
    taken = {*context.functions.values(), *context.vocabulary, *(RESERVED - {"main"})}
    chosen, number = wish, 1
    while chosen in taken:
        number += 1
        chosen = f"{wish}_{number}"
    return chosen


def _preamble(program: LocalProgram) -> str:
    """The mesh, under a line that says what this is."""
    source = f" of {Path(program.file).name}" if program.file else ""
    writer = Writer()
    writer.comment(f"What each device runs{source}, as shardc compiled it.")
    if program.mesh is not None and program.mesh.axes:
        writer.line(_mesh(program.mesh))
    return writer.text()


def _mesh(emitted: EmittedMesh) -> str:
    """mesh pod[data=2, model=4] devices [0, 2, 1, 3] processes 2"""
    mesh = emitted.mesh
    axes = ", ".join(f"{name}={size}" for name, size in emitted.axes)
    text = f"mesh {identifier(mesh.name) or 'devices'}[{axes}]"
    if mesh.device_ids is not None:
        text += f" devices [{', '.join(map(str, mesh.device_ids))}]"
    return text + (f" processes {mesh.processes}" if mesh.processes > 1 else "")


def _entry(context: ShardContext, program: LocalProgram) -> str:
    names = context.names()
    params: list[str] = []
    for param in program.params:
        params.append(names.fresh(param.name))
        names.pin(params[-1])
    typed = [f"{name}: {_type(program, p)}" for name, p in zip(params, program.params, strict=True)]
    results = [_type(program, result) for result in program.results]
    writer = context.writer
    uneven = any(any(array.padding) for array in (*program.params, *program.results))
    mapped = program.mesh is not None and program.mesh.axes
    decorator = None if not mapped else "shard_map(uneven=True)" if uneven else "shard_map"
    with definition(writer, context.functions[program.function.name], typed, results, decorator):
        for name, param in zip(params, program.params, strict=True):
            if param.local != param.type:
                writer.comment(f"{name}: {block(param)}")
        write_body(context, program.body, params)
    return writer.text()


def _type(program: LocalProgram, array: Array) -> str:
    """f32[16@data, 64] partial(sum: model), in the axes of the emitted mesh."""
    if array.sharding is None or program.mesh is None:
        return str(array.type)
    dims: list[str] = []
    for size, dim in zip(array.type.shape, array.sharding.dims, strict=True):
        names = program.mesh.names(dim.axes)
        split = "" if not names else f"@{names[0]}" if len(names) == 1 else f"@({', '.join(names)})"
        dims.append(f"{size}{split}")
    partial = ", ".join(program.mesh.names(array.sharding.unreduced))
    suffix = f" partial({array.sharding.kind}: {partial})" if partial else ""
    return f"{array.type.dtype}[{', '.join(dims)}]{suffix}"
