"""Writes a local module as a .shard program: per-device code that compiles to the same again.

emit(graph) -> a mesh, the functions that the program calls, and its entry as a @shard_map function.
"""

from __future__ import annotations

from keyword import iskeyword
from pathlib import Path

from shardc.analysis.emitted_mesh import EmittedMesh
from shardc.analysis.per_device import Array, PerDeviceProgram
from shardc.backend.python import interface
from shardc.backend.python.functions import block
from shardc.backend.python.names import RESERVED, identifier
from shardc.backend.python.writer import Writer
from shardc.backend.shard.functions import definition, function_text, needs_group, write_body
from shardc.backend.shard.partial import declarations
from shardc.backend.shard.scope import PLACE, ShardEmission
from shardc.backend.shard.target import TARGET
from shardc.diagnostics import ShardcError
from shardc.graph import Graph


def emit(graph: Graph) -> str:
    """The .shard program of a local module; ShardcError where the language cannot say something."""
    program = interface.read(graph, records=False)
    callees = list(graph.called(program.body))
    declared = declarations(graph, [program.body, *(f.body for f in callees)], program.mesh)
    emission = ShardEmission(
        graph,
        TARGET,
        Writer(),
        program.mesh,
        full=True,
        declared=declared,
        communicating=frozenset(f.name for f in callees if needs_group(graph, f.body, declared)),
    )
    emission.functions[program.function.name] = _function_name(emission, program.function.name)
    for function in callees:
        emission.functions[function.name] = _function_name(emission, function.name)
    texts = [function_text(emission, emission.functions[f.name], f) for f in callees]
    entry = _entry(emission, program)
    helpers = [text.replace(PLACE, name) for text, name in emission.helpers.items()]
    return "\n\n".join([_preamble(program), *helpers, *texts, entry])


def _function_name(emission: ShardEmission, name: str) -> str:
    wish = name if name == "main" else identifier(name) or "function"
    taken = {*emission.functions.values(), *emission.vocabulary, *(RESERVED - {"main"})}
    chosen, number = wish, 1
    while chosen in taken:
        number += 1
        chosen = f"{wish}_{number}"
    return chosen


def _preamble(program: PerDeviceProgram) -> str:
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
    for name, _ in emitted.axes:
        if not name.isidentifier() or iskeyword(name):
            raise ShardcError(
                f"axis {name} of mesh {mesh.name} has no name in the .shard language",
                hint="an axis is called there as a variable is: letters, digits and _, and no keyword",
            )
    axes = ", ".join(f"{name}={size}" for name, size in emitted.axes)
    text = f"mesh {identifier(mesh.name) or 'devices'}[{axes}]"
    if mesh.device_ids is not None:
        text += f" devices [{', '.join(map(str, mesh.device_ids))}]"
    return text + (f" processes {mesh.processes}" if mesh.processes > 1 else "")


def _entry(emission: ShardEmission, program: PerDeviceProgram) -> str:
    names = emission.names()
    params: list[str] = []
    for param in program.params:
        params.append(names.fresh(param.name))
        names.pin(params[-1])
    typed = [f"{name}: {_type(program, p)}" for name, p in zip(params, program.params, strict=True)]
    results = [_type(program, result) for result in program.results]
    writer = emission.writer
    uneven = any(any(array.padding) for array in (*program.params, *program.results))
    mapped = program.mesh is not None and program.mesh.axes
    options = ["uneven=True"] * uneven + ["check=False"] * program.promises
    decorator = None if not mapped else f"shard_map({', '.join(options)})" if options else "shard_map"
    with definition(writer, emission.functions[program.function.name], typed, results, decorator):
        for name, param in zip(params, program.params, strict=True):
            if param.local != param.type:
                writer.comment(f"{name}: {block(param)}")
        write_body(emission, program.body, params)
    return writer.text()


def _type(program: PerDeviceProgram, array: Array) -> str:
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
