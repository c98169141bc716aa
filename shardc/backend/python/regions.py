"""Regions as Python functions: the combination of a reduction, the body of a loop, a branch."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TypeVar

from shardc.backend.python.expressions import Expr, list_of, several, tuple_of
from shardc.backend.python.names import Names, source_name
from shardc.backend.python.scope import Scope
from shardc.graph import Node, captured

B = TypeVar("B", bound=Scope)


def inner_scope(
    scope: Scope, node: Node, params: Sequence[tuple[int, str]], reads: Iterable[str] = ()
) -> Scope:
    """A scope inside `scope`, with parameters of its own.

    It reads what the node's regions capture, and the variables `reads`.
    """
    terms = {value: scope.terms[value] for value in captured(node) if value in scope.terms}
    inner = Scope(scope.emission, scope.uses, _inner_names(scope, node, reads), terms)
    for value, param in params:
        inner.bind(value, param)
    return inner


@contextmanager
def block(scope: B, node: Node) -> Generator[B]:
    """A scope for an indented block. It has the same variables; those it reads keep their values throughout,
    even after their last use: a loop's block runs again.
    """
    outer = {value: scope.terms[value] for value in captured(node) if value in scope.terms}
    read = [variable for term in outer.values() for variable in term.expr.reads]
    scope.names.hold([*read, *read])
    inner = type(scope)(scope.emission, scope.uses, scope.names, outer)
    yield inner
    for term in inner.terms.values():
        scope.names.release(term.expr.reads)
    scope.names.release(read)


def carried_name(scope: Scope, node: Node, value: int) -> str | None:
    """The source's name for a region's argument, else for what the loop makes of it."""
    for region in node.regions:
        if value in region.args:
            i = region.args.index(value)
            candidates = (value, node.regions[-1].results[i], node.results[i])
            names = (source_name(scope.graph.values[v].loc) for v in candidates)
            return next((name for name in names if name), None)
    return source_name(scope.graph.values[value].loc)


def _inner_names(scope: Scope, node: Node, reads: Iterable[str]) -> Names:
    """Names for a scope that must not hide what it reads."""
    names = Names((*scope.emission.functions.values(), *reads))
    for value in captured(node):
        if value in scope.terms:
            for read in scope.terms[value].expr.reads:
                names.pin(read)
    return names


def parameters(
    scope: Scope, node: Node, values: Sequence[int], fallback: str, reads: Iterable[str] = ()
) -> list[str]:
    """Names for region arguments that hide nothing that the region reads."""
    names = _inner_names(scope, node, reads)
    chosen: list[str] = []
    for i, value in enumerate(values):
        wish = carried_name(scope, node, value)
        chosen.append(names.fresh(wish or (fallback if len(values) == 1 else f"{fallback}{i}")))
        names.pin(chosen[-1])
    return chosen


def write_return(scope: Scope, exprs: Sequence[Expr]) -> None:
    scope.writer.statement("return ", several(exprs) if exprs else tuple_of(()))


def scalar_function(
    scope: Scope, node: Node, number: int, wish: str, groups: Sequence[str], as_list: bool = False
) -> str:
    """def combine(a, b): … for a region over scalars, and its name.

    The region's arguments come in equal groups, one per name in `groups`; a group of several is one tuple
    parameter, or with `as_list` several parameters, and then the results are a list. A node that is printed
    once more, with shorter operands, has the function that it had.
    """
    if (id(node), number) in scope.written:
        return scope.written[id(node), number]
    region = node.regions[number]
    count = len(region.args) // len(groups)
    flat = [group if count == 1 else f"{group}{i}" for group in groups for i in range(count)]
    function = scope.names.fresh(wish)
    scope.names.pin(function)
    params = flat if as_list else groups
    inner = inner_scope(scope, node, list(zip(region.args, flat, strict=True)))
    with scope.writer.inner_function(f"def {function}({', '.join(params)}):"):
        if count > 1 and not as_list:
            for i, group in enumerate(groups):
                scope.writer.line(f"{', '.join(flat[i * count : (i + 1) * count])} = {group}")
        exprs = inner.region(region)
        if as_list:
            scope.writer.statement("return ", list_of(exprs))
        else:
            write_return(scope, exprs)
    scope.written[id(node), number] = function
    return function
