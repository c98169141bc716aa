"""Writes Python functions from regions: device_main, and each function of the program that it calls."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from pathlib import Path

from shardc.analysis.collectives import is_per_device
from shardc.analysis.per_device import Array, PerDeviceProgram
from shardc.analysis.usage import noted, usage
from shardc.backend.python import idiom, records
from shardc.backend.python.barriers import divide_barriers
from shardc.backend.python.emission import Emission
from shardc.backend.python.exchanges import join_exchanges
from shardc.backend.python.expressions import index, several
from shardc.backend.python.folding import fold
from shardc.backend.python.names import Names, identifier, source_name
from shardc.backend.python.scope import Scope
from shardc.backend.python.told import told
from shardc.backend.python.trace import FunctionTrace
from shardc.backend.python.writer import WIDTH, Writer, paragraphs
from shardc.graph import Function, Region, walk
from shardc.graph.trees import Interface
from shardc.ops import Trait, func, has


def write_body(
    emission: Emission,
    region: Region,
    params: Sequence[str],
    stacked: Container[int] = (),
    function: str | None = None,
    interface: Interface | None = None,
) -> None:
    """The lines of a function: its region's nodes and its return.

    The results with numbers in `stacked` get a dimension in front. `function` is the callee's name, None for
    device_main, whose `interface` says what it takes and gives.
    """
    printers = emission.target.printers
    divided = divide_barriers(region, emission.varying)
    if idiom.exchanged.name in printers:
        divided = join_exchanges(emission.graph, divided, emission.varying)
    folded = fold(emission.graph, divided, emission.constants, printers, emission.varying)
    uses = usage(folded)
    uses.whole.update(noted(region))  # folding keeps values, but not what is noted on nodes
    region = folded
    own = [] if interface is None else records.kept_names(interface)
    scope = Scope(emission, uses, Names((*emission.functions.values(), *own)), {})
    taken = None if interface is None or interface.is_flat else interface
    for value, param in zip(region.args, params, strict=True):
        scope.bind(value, param)
    if stacked:
        results = scope.region(region)
        parts = [index(e, ["None"]) if i in stacked else e for i, e in enumerate(results)]
        emission.writer.comment("Partial results get a dimension in front, along which main combines them.")
        made = records.returned(taken, iter(parts)) if taken else several(parts)
        emission.writer.statement("return ", made)
    elif taken:
        emission.writer.statement("return ", records.returned(taken, iter(scope.returned(region))))
    else:
        emission.writer.statement("return ", scope.function(region))
    emission.trace.functions[function] = FunctionTrace(tuple(region.args), tuple(scope.lines))


def define_device_main(emission: Emission, program: PerDeviceProgram, stacked: Container[int] = ()) -> None:
    """def device_main: the blocks of the parameters in, the blocks of the results out."""
    writer, interface = emission.writer, program.interface
    with writer.definition("device_main", [*emission.leading_of(None), *records.parameters(interface)]):
        blocks = [(param.name, block(param)) for param in program.params]
        lines = told(interface, blocks, [*map(block, program.results)], WIDTH - 4)
        writer.docstring("What each device runs, on its blocks.", "\n".join(lines))
        names = [param.name for param in program.params]
        write_body(emission, program.body, names, stacked, interface=interface)


def block(array: Array) -> str:
    """f32[8, 64] of f32[16@data, 64]"""
    return str(array.type) if str(array) == str(array.type) else f"{array.local} of {array}"


def title(program: PerDeviceProgram, devices: str) -> list[str]:
    """What the docstring of the file says; between its first and last paragraph what the author says."""
    source = f" from {Path(program.file).name}" if program.file else ""
    count = program.mesh.mesh.size if program.mesh else 1
    where = f"{count} {devices}" if count > 1 else "one device"
    about = program.graph.about
    return [
        f"Compiled by shardc{source}.",
        *(paragraphs(about) if about else ()),
        f"`main` takes and returns whole arrays, and runs on {where}.\n"
        "Run as a script, this file calls it with random ones.",
    ]


def describe_main(writer: Writer, program: PerDeviceProgram) -> None:
    """Its docstring: global types, one a line."""
    types = [(param.name, str(param.type)) for param in program.params]
    lines = told(program.interface, types, [str(result.type) for result in program.results], WIDTH - 4)
    doc = program.graph.main.doc
    said = ["The whole program, on whole arrays."] if doc is None else paragraphs(doc)
    writer.docstring(*said, "\n".join(lines))


def name_callees(emission: Emission, program: PerDeviceProgram) -> list[Function]:
    """Names for the functions that the program calls; they are given back, each before what it calls."""
    found = list(program.graph.called(program.body))
    for function in found:
        names = Names((*emission.functions.values(), *records.own_names(program.interface)))
        emission.functions[function.name] = names.fresh(identifier(function.name) or "function")
        if not _communicates(emission, function):
            emission.silent.add(function.name)
    return found[::-1]


def define_callees(emission: Emission, callees: Iterable[Function]) -> None:
    """Each function that the program calls, once."""
    for function in callees:
        _define(emission, emission.functions[function.name], function)


def _communicates(emission: Emission, function: Function) -> bool:
    """Whether a function needs to know its device, itself or in what it calls."""
    return any(
        is_per_device(node)
        or has(node.name, Trait.SHOWS)
        or (node.name == func.call.name and node.attrs["callee"] not in emission.silent)
        for node in walk(function.body)
    )


def _define(emission: Emission, python_name: str, function: Function) -> None:
    graph, writer, names = emission.graph, emission.writer, Names(emission.functions.values())
    params: list[str] = []
    for i, value in enumerate(function.body.args):
        params.append(names.fresh(source_name(graph.values[value].loc) or f"arg{i}"))
        names.pin(params[-1])
    with writer.definition(python_name, [*emission.leading_of(function.name), *params]):
        types = zip(params, function.body.args, strict=True)
        takes = ", ".join(f"{param}: {graph.type(value)}" for param, value in types)
        returns = ", ".join(str(graph.type(value)) for value in function.body.results)
        if function.doc is not None:
            writer.docstring(*paragraphs(function.doc))
        writer.comment(f"({takes}) -> {returns}")
        write_body(emission, function.body, params, function=function.name)
    writer.blank(2)
