"""Writes Python functions from regions: device_main, and each function of the program that it calls."""

from __future__ import annotations

import textwrap
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path

from shardc.backend.barriers import apart
from shardc.backend.body import Body
from shardc.backend.context import Context
from shardc.backend.expressions import index, several
from shardc.backend.idioms import fold
from shardc.backend.local import Array, LocalProgram
from shardc.backend.names import Names, identifier, source_name
from shardc.backend.trace import FunctionTrace
from shardc.backend.usage import noted, usage
from shardc.backend.writer import WIDTH, Writer
from shardc.graph import Function, Graph, Region, walk


def write_body(
    context: Context,
    region: Region,
    params: Sequence[str],
    stacked: Container[int] = (),
    function: str | None = None,
) -> None:
    """The lines of a function: its region's nodes and its return.

    The results with numbers in `stacked` get a dimension in front. `function` is the callee's name, None for
    device_main.
    """
    divided = apart(region, context.varying)
    folded = fold(context.graph, divided, context.constants, context.target.table)
    uses = usage(folded)
    uses.whole.update(noted(region))  # folding keeps values, but not what is noted on nodes
    region = folded
    body = Body(context, uses, Names(context.functions.values()), {})
    for value, param in zip(region.args, params, strict=True):
        body.bind(value, param)
    if stacked:
        results = body.region(region)
        parts = [index(e, ["None"]) if i in stacked else e for i, e in enumerate(results)]
        context.writer.comment("Partial results get a dimension in front, along which main combines them.")
        context.writer.statement("return ", several(parts))
    else:
        context.writer.statement("return ", body.function(region))
    context.trace.functions[function] = FunctionTrace(tuple(region.args), tuple(body.lines))


def define_device_main(context: Context, program: LocalProgram, stacked: Container[int] = ()) -> None:
    """def device_main: the blocks of the parameters in, the blocks of the results out."""
    names = [param.name for param in program.params]
    writer = context.writer
    with writer.definition("device_main", [*context.leading_of(None), *names]):
        blocks = [f"{param.name}: {block(param)}" for param in program.params]
        returns = _returns(block(result) for result in program.results)
        writer.docstring("What each device runs, on its blocks.", "\n".join([*blocks, *returns]))
        write_body(context, program.body, names, stacked)


def _returns(results: Iterable[str]) -> list[str]:
    """What a docstring says of the results, in lines that fit."""
    return textwrap.wrap(f"returns {', '.join(results)}", WIDTH - 4, subsequent_indent="    ")


def block(array: Array) -> str:
    """f32[8, 64] of f32[16@data, 64]"""
    return str(array.type) if str(array) == str(array.type) else f"{array.local} of {array}"


def title(program: LocalProgram, devices: str) -> tuple[str, str]:
    """What the docstring of the file says."""
    source = f" from {Path(program.file).name}" if program.file else ""
    count = program.mesh.mesh.size if program.mesh else 1
    where = f"{count} {devices}" if count > 1 else "one device"
    return (
        f"Compiled by shardc{source}.",
        f"`main` takes and returns whole arrays, and runs on {where}.\n"
        "Run as a script, this file calls it with random ones.",
    )


def describe_main(writer: Writer, program: LocalProgram) -> None:
    """Its docstring: global types, one a line."""
    lines = [f"{param.name}: {param.type}" for param in program.params]
    returns = _returns(str(result.type) for result in program.results)
    writer.docstring("The whole program, on whole arrays.", "\n".join([*lines, *returns]))


def define_callees(context: Context, program: LocalProgram) -> None:
    """Each function that the program calls, once, before what calls it."""
    for function in _called(program.graph, program.body, {}):
        names = Names((*context.functions.values(), *(param.name for param in program.params)))
        chosen = names.fresh(identifier(function.name) or "function")
        context.functions[function.name] = chosen
        if not _communicates(context, function):
            context.silent.add(function.name)
        _define(context, chosen, function)


def _called(graph: Graph, region: Region, seen: dict[str, Function]) -> Iterator[Function]:
    for node in walk(region):
        callee = node.attrs.get("callee")
        if isinstance(callee, str) and callee not in seen:
            seen[callee] = graph.functions[callee]
            yield from _called(graph, seen[callee].body, seen)
            yield seen[callee]


def _communicates(context: Context, function: Function) -> bool:
    """Whether a function needs to know its device, itself or in what it calls."""
    return any(
        node.name.startswith("spmd.")
        or (node.name == "func.call" and node.attrs["callee"] not in context.silent)
        for node in walk(function.body)
    )


def _define(context: Context, python_name: str, function: Function) -> None:
    graph, writer, names = context.graph, context.writer, Names(context.functions.values())
    params: list[str] = []
    for i, value in enumerate(function.body.args):
        params.append(names.fresh(source_name(graph.values[value].loc) or f"arg{i}"))
        names.pin(params[-1])
    with writer.definition(python_name, [*context.leading_of(function.name), *params]):
        types = zip(params, function.body.args, strict=True)
        takes = ", ".join(f"{param}: {graph.type(value)}" for param, value in types)
        returns = ", ".join(str(graph.type(value)) for value in function.body.results)
        writer.comment(f"({takes}) -> {returns}")
        write_body(context, function.body, params, function=function.name)
    writer.blank(2)
