"""Writes Python functions from regions: device_main, and each function of the program that it calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shardc.backend.body import Body
from shardc.backend.context import Context
from shardc.backend.expressions import Expr, index, tuple_of
from shardc.backend.idioms import fold
from shardc.backend.local import Array, LocalProgram
from shardc.backend.names import RESERVED, Names, identifier
from shardc.backend.usage import usage
from shardc.graph import Function, Graph, Region, walk


def write_body(
    context: Context, region: Region, params: Sequence[str], results: Sequence[Array] | None = None
) -> None:
    """The lines of a function: its region's nodes and its return."""
    region = fold(context.graph, region)
    body = Body(context, usage(region), Names(context.functions.values()), {})
    for value, param in zip(region.args, params, strict=True):
        body.bind(value, param)
    returned = [body.expr(value) for value in body.region(region)]
    if results is not None:
        returned = [_stacked(expr, array) for expr, array in zip(returned, results, strict=True)]
    context.writer.statement("return ", returned[0] if len(returned) == 1 else tuple_of(returned))


def _stacked(expr: Expr, array: Array) -> Expr:
    """A partial result gets a dimension in front, along which main combines the devices' parts."""
    if array.sharding is None or not array.sharding.unreduced:
        return expr
    return index(expr, ["None"])


def signature(context: Context, params: Sequence[str]) -> str:
    """comm, x, w"""
    return ", ".join((*context.leading, *params))


def define_device_main(context: Context, program: LocalProgram) -> None:
    """def device_main: the blocks of the parameters in, the blocks of the results out."""
    names = [param.name for param in program.params]
    writer = context.writer
    with writer.indented(f"def device_main({signature(context, names)}):"):
        blocks = [f"{param.name}: {block(param)}" for param in program.params]
        returns = ", ".join(block(result) for result in program.results)
        writer.docstring("What each device runs.", "\n".join([*blocks, f"Returns {returns}."]))
        write_body(context, program.body, names, program.results)


def block(array: Array) -> str:
    """f32[8, 64] of f32[16@data, 64]"""
    return str(array.type) if str(array) == str(array.type) else f"{array.local} of {array}"


def title(program: LocalProgram, where: str = "") -> tuple[str, str]:
    """What the docstring of the file says."""
    source = f" from {program.file}" if program.file else ""
    size = program.mesh.mesh.size if program.mesh else 1
    devices = f"{size} devices" if size > 1 else "one device"
    return (
        f"Compiled by shardc{source}, for {devices}{f' {where}' if where and size > 1 else ''}.",
        "`main` takes and returns whole arrays. Run as a script, this file calls it with random ones.",
    )


def main_types(program: LocalProgram) -> str:
    """(x: f32[8, 4]) -> f32[8]"""
    takes = ", ".join(f"{param.name}: {param.type}" for param in program.params)
    returns = ", ".join(str(result.type) for result in program.results)
    return f"({takes}) -> {f'({returns})' if len(program.results) != 1 else returns}"


def define_callees(context: Context, program: LocalProgram) -> None:
    """Each function that the program calls, once, before what calls it."""
    for function in _called(program.graph, program.body, {}):
        taken = {*context.functions.values(), *RESERVED}
        wish = identifier(function.name) or "function"
        chosen = next(n for n in (wish, *(f"{wish}_{i}" for i in range(1, len(taken) + 2))) if n not in taken)
        context.functions[function.name] = chosen
        _define(context, chosen, function)


def _called(graph: Graph, region: Region, seen: dict[str, Function]) -> Iterator[Function]:
    for node in walk(region):
        callee = node.attrs.get("callee")
        if isinstance(callee, str) and callee not in seen:
            seen[callee] = graph.functions[callee]
            yield from _called(graph, seen[callee].body, seen)
            yield seen[callee]


def _define(context: Context, python_name: str, function: Function) -> None:
    graph, writer, names = context.graph, context.writer, Names(context.functions.values())
    params: list[str] = []
    for i, value in enumerate(function.body.args):
        params.append(names.fresh(identifier(graph.values[value].loc.name) or f"arg{i}"))
        names.pin(params[-1])
    with writer.indented(f"def {python_name}({signature(context, params)}):"):
        types = zip(params, function.body.args, strict=True)
        takes = "\n".join(f"{param}: {graph.type(value)}" for param, value in types)
        returns = ", ".join(str(graph.type(value)) for value in function.body.results)
        writer.docstring("A part of device_main.", *([takes] if takes else []), f"Returns {returns}.")
        write_body(context, function.body, params)
    writer.blank(2)
