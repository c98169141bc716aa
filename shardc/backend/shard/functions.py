"""Functions of a .shard program: those that the program had, and those that regions become."""

from __future__ import annotations

from collections.abc import Container, Generator, Sequence
from contextlib import contextmanager
from typing import cast

from msgspec.structs import replace

from shardc.analysis.collectives import is_per_device
from shardc.analysis.usage import usage
from shardc.backend.python.expressions import Expr, raw, several
from shardc.backend.python.folding import fold
from shardc.backend.python.names import identifier, source_name
from shardc.backend.python.regions import carried_name
from shardc.backend.python.scope import Scope
from shardc.backend.python.writer import WIDTH, Writer
from shardc.backend.shard.scope import ShardEmission, ShardScope
from shardc.diagnostics import ShardcError
from shardc.graph import Function, Graph, Node, Region, captured, walk
from shardc.ops import func, hlo


def needs_group(graph: Graph, region: Region, declared: Container[int]) -> bool:
    """Whether a region, or a function it calls, does what only per-device code does."""
    return any(
        is_per_device(node)
        or any(value in declared for value in node.results)
        or (node.name == func.call.name and needs_group(graph, _callee(graph, node), declared))
        for node in walk(region)
    )


def _callee(graph: Graph, node: Node) -> Region:
    return graph.functions[str(node.attrs["callee"])].body


@contextmanager
def definition(
    writer: Writer, name: str, params: Sequence[str], results: Sequence[str], decorator: str | None
) -> Generator[None]:
    """The lines that begin a function, and inside, its body; `params` are `x: f32[8]`."""
    if decorator:
        writer.line(f"@{decorator}")
    returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
    opening = Expr(f"def {name}(", tuple(map(raw, params)), f") -> {returned}:")
    *lines, last = opening.lines("", "", WIDTH)
    for line in lines:
        writer.line(line)
    with writer.indented(last):
        yield


def function_text(emission: ShardEmission, name: str, function: Function) -> str:
    """A function of the program, on blocks."""
    graph, writer = emission.graph, Writer()
    names = emission.names()
    params: list[str] = []
    for i, value in enumerate(function.body.args):
        params.append(names.fresh(identifier(graph.values[value].loc.name) or f"arg{i}"))
        names.pin(params[-1])
    typed = [f"{p}: {graph.type(v)}" for p, v in zip(params, function.body.args, strict=True)]
    results = [str(graph.type(value)) for value in function.body.results]
    decorator = "per_device" if function.name in emission.communicating else None
    with definition(writer, name, typed, results, decorator):
        write_body(replace(emission, writer=writer), function.body, params)
    return writer.text()


def write_body(emission: ShardEmission, region: Region, params: Sequence[str]) -> None:
    """The lines of a function: its region's nodes and its return."""
    region = fold(emission.graph, region, emission.constants, emission.target.printers)
    scope = ShardScope(emission, usage(region), emission.names(), {})
    for value, param in zip(region.args, params, strict=True):
        scope.names.pin(param)
        scope.bind(value, param)
    emission.writer.statement("return ", scope.function(region))


def region_function(scope: Scope, node: Node, number: int, wish: str, passed: Sequence[int] = ()) -> str:
    """The name of a function with what a region does, after its own arguments given the values `passed`.

    It knows nothing else from outside but numbers: ShardcError if the region reads more.
    """
    outer, region = cast(ShardScope, scope), node.regions[number]
    emission = cast(ShardEmission, outer.emission)
    numbers = {v: outer.terms[v] for v in captured(node) if v in outer.terms and outer.terms[v].weak}
    unknown = [v for v in _reads(region) if v not in numbers and v not in passed]
    if unknown:
        name = scope.graph.values[unknown[0]].loc.name or str(scope.type(unknown[0]))
        raise ShardcError(f"a region of {node.name} reads {name}, which is made outside of it", node.loc)
    args, is_loop = (*region.args, *passed), node.name == hlo.while_.name

    def write(name: str) -> str:
        writer = Writer()
        names = emission.names()
        inner = ShardScope(replace(emission, writer=writer), outer.uses, names, dict(numbers))
        typed: list[str] = []
        for i, value in enumerate(args):
            wish = carried_name(scope, node, value) if is_loop else source_name(scope.graph.values[value].loc)
            param = names.fresh(wish or chr(ord("a") + i % 26))
            names.pin(param)
            inner.bind(value, param)
            typed.append(f"{param}: {scope.type(value)}")
        results = (*region.results, *passed) if is_loop and number == 1 else region.results
        types = [str(scope.type(value)) for value in results]
        decorator = "per_device" if needs_group(scope.graph, region, emission.declared) else None
        with definition(writer, name, typed, types, decorator):
            unchanged = [inner.expr(value) for value in passed]
            exprs = inner.region(region)
            exprs += unchanged[: len(results) - len(exprs)]
            writer.statement("return ", several(exprs))
        return writer.text()

    return emission.helper(wish, write)


def _reads(region: Region) -> list[int]:
    """What a region reads from outside, in order."""
    return captured(Node(-1, "", (), (), {}, (region,)))
