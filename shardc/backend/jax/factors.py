"""Factors of matrices by LAPACK, whose routines say whether they found some, as JAX's functions.

    vectors, values, info = syevd(x)
    where(info == 0, vectors, nan), where(info == 0, values, nan)
        ->  idiom.factors  vectors, values = lax.linalg.eigh(x, lower=True, symmetrize_input=False)

    factors, pivots, info = getrf(x); pivots - 1; where(info >= 0, factors, nan); a loop of swaps
        ->  idiom.factors  factors, pivots, permutation = lax.linalg.lu(x)

    such a loop elsewhere
        ->  idiom.permutation  permutation = lax.linalg.lu_pivots_to_permutation(pivots, 4)

JAX's functions have the NaNs themselves. Where something else is done with what a routine gives, it stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import numpy as np
from msgspec.structs import replace

from shardc.analysis.per_device import PerDeviceProgram
from shardc.backend.jax.solutions import ends, with_solutions
from shardc.backend.jax.target import JAX
from shardc.backend.python import idiom
from shardc.backend.python.expressions import Expr, call, index
from shardc.backend.python.ranges import splat
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Several
from shardc.graph import Graph, Node, Region, captured, is_integer, walk
from shardc.ops import hlo
from shardc.semantics.lapack import options_of, routine

_GIVEN = {"getrf": (0,), "syevd": (0, 1), "gesdd": (2, 1, 3)}
"""Which results of a routine JAX's function gives, in its order; the last of a routine is `info`. Of the
pivots of getrf it gives something else.
"""

_FOUND = {"getrf": "GE"}
"""How `info` compares with 0 where something was found, unless EQ."""

_CALLED = {
    "getrf": ("factors", "pivots", "permutation"),
    "syevd": ("vectors", "values"),
    "gesdd": ("u", "s", "vh"),
}
"""What variables are called that JAX's function gives."""

_VALUES = (1,)
"""The same where singular values alone are asked for."""

_TESTS = (hlo.compare.name, hlo.broadcast_in_dim.name, hlo.reshape.name)
"""What a test by `info` is made of."""


def with_factors(program: PerDeviceProgram) -> PerDeviceProgram:
    """The program with such calls as one node each; the given one stays as it is."""
    graph = program.graph
    bodies = [program.body, *(function.body for function in graph.functions.values())]
    if not any(_routine(node) or node.name == hlo.while_.name for body in bodies for node in walk(body)):
        return program
    functions = {
        name: function
        if function is program.function
        else replace(function, body=_region(function.body, graph))
        for name, function in graph.functions.items()
    }
    body = _region(program.body, graph)
    return replace(program, graph=Graph(graph.meshes, functions, graph.values), body=body)


def _routine(node: Node) -> str | None:
    """The routine that a node calls, if it is one of these."""
    name = routine(str(node.attrs["call_target_name"])) if node.name == hlo.custom_call.name else None
    return name if name in _GIVEN else None


def _kept(node: Node) -> list[int]:
    """The results of a routine that JAX's function gives."""
    name = str(_routine(node))
    alone = name == "gesdd" and options_of(node.attrs)["mode"] == ord("N")
    places = _VALUES if alone else _GIVEN[name]
    return [node.results[place] for place in places]


def _region(region: Region, graph: Graph) -> Region:
    users, made = ends(region)
    gone, calls = set[int](), dict[int, Node]()
    for node in region.nodes:
        found = _routine(node) and _tested(node, users, made)
        if found and _routine(node) == "getrf":
            found = _with_pivots(node, found, users, made, graph)
        if found:
            results, tests = found
            name = str(_routine(node))
            called = _CALLED[name] if len(results) > 1 or name != "gesdd" else ("s",)
            attrs = {"routine": name, "called": called, **options_of(node.attrs)}
            calls[id(node)] = Node(node.id, idiom.factors.name, node.operands, results, attrs, (), node.loc)
            gone |= {id(test) for test in tests}
    for node in region.nodes:
        found = None if id(node) in gone else _permuted(node, users, made, graph)
        if found:
            calls[id(node)] = found
    nodes = [
        calls.get(id(node)) or replace(node, regions=tuple([_region(inner, graph) for inner in node.regions]))
        if node.regions
        else calls.get(id(node), node)
        for node in region.nodes
        if id(node) not in gone
    ]
    return with_solutions(Region(region.args, nodes), graph)


def _permuted(
    node: Node, users: Mapping[int, Sequence[Node]], made: Mapping[int, Node], graph: Graph
) -> Node | None:
    """The permutation that pivots say, of a loop that makes it and nothing else that is used."""
    if node.name != hlo.while_.name or not any(_is_counted(value, made) for value in node.operands):
        return None
    from shardc.backend.jax.permutations import permutation  # which runs a turn of a loop

    for pivots in dict.fromkeys([*node.operands, *captured(node)]):
        type = graph.type(pivots)
        if not is_integer(type.dtype) or type.rank == 0 or _is_counted(pivots, made):
            continue
        place = permutation(graph, node, pivots, made)
        if place is not None and not any(users.get(v) for v in node.results if v != node.results[place]):
            (result,) = node.results[place : place + 1]
            attrs = {"size": graph.type(result).shape[-1]}
            return Node(node.id, idiom.permutation.name, (pivots,), (result,), attrs, (), node.loc)
    return None


def _is_counted(value: int, made: Mapping[int, Node]) -> bool:
    """Whether it is made of the numbers of places."""
    node = made.get(value)
    while node is not None and node.name == hlo.broadcast_in_dim.name:
        node = made.get(node.operands[0])
    return node is not None and node.name == hlo.iota.name


_Found = tuple[tuple[int, ...], list[Node]]


def _with_pivots(
    node: Node,
    found: _Found,
    users: Mapping[int, Sequence[Node]],
    made: Mapping[int, Node],
    graph: Graph,
) -> _Found | None:
    """With the pivots counted from 0, and the permutation that they say, as far as there are such; None if
    they are used otherwise.
    """
    results, gone = found
    counting = users.get(node.results[1], ())
    if not counting:
        return found
    less = counting[0]
    if len(counting) > 1 or less.name != hlo.subtract.name or splat(less.operands[1], made) != 1:
        return None
    from shardc.backend.jax.permutations import permutation  # which runs a turn of a loop

    (pivots,) = less.results
    loops = [each for each in made.values() if each.name == hlo.while_.name]
    for loop in dict((each.id, each) for each in loops).values():
        place = permutation(graph, loop, pivots, made) if _uses(loop, pivots) else None
        if place is not None and not any(users.get(v) for v in loop.results if v != loop.results[place]):
            return (*results, pivots, loop.results[place]), [*gone, less, loop]
    return (*results, pivots), [*gone, less]


def _uses(loop: Node, value: int) -> bool:
    inside = (node for region in loop.regions for node in walk(region))
    return any(value in node.operands for node in (loop, *inside))


def _tested(node: Node, users: Mapping[int, Sequence[Node]], made: Mapping[int, Node]) -> _Found | None:
    """What the choices by `info` give, and the nodes that make them; None if they do something else."""
    *given, info = node.results
    tests = list(_reached(info, users))
    chosen: list[int] = []
    for result in _kept(node):
        choices = [user for user in users.get(result, ()) if user in tests]
        if len(choices) != len(users.get(result, ())) or len(choices) > 1:
            return None
        chosen.append(choices[0].results[0] if choices else result)
    beside = given[1:] if _routine(node) == "getrf" else []
    others = any(users.get(value) for value in given if value not in (*_kept(node), *beside))
    others = others or any(test.name not in (*_TESTS, hlo.select.name) for test in tests)
    choices = [test for test in tests if test.name == hlo.select.name]
    plain = all(_is_filling(test, node, made) for test in choices)
    whole = all(made.get(value) is test for test in tests for value in test.results)
    way = _FOUND.get(str(_routine(node)), "EQ")
    compared = all(_is_zero(test, way, made) for test in tests if test.name == hlo.compare.name)
    return None if others or not (plain and whole and compared) else (tuple(chosen), tests)


def _reached(value: int, users: Mapping[int, Sequence[Node]]) -> Iterator[Node]:
    """What follows from `info`, to the choices."""
    for user in users.get(value, ()):
        yield user
        if user.name in _TESTS:
            yield from _reached(user.results[0], users)


def _is_filling(test: Node, node: Node, made: Mapping[int, Node]) -> bool:
    """Whether a choice is a result of the call, or NaN."""
    _, found, fill = test.operands
    filling = splat(fill, made)
    return found in _kept(node) and filling is not None and bool(np.isnan(cast(np.generic, filling)))


def _is_zero(test: Node, way: str, made: Mapping[int, Node]) -> bool:
    return test.attrs["comparison_direction"] == way and splat(test.operands[1], made) == 0


@JAX.prints(idiom.factors)
def factors(scope: Scope, node: Node) -> Several | Expr:
    """vectors, values = lax.linalg.eigh(x)"""
    x = scope.expr(node.operands[0])
    found = _PRINTED[str(node.attrs["routine"])](node, x)
    return found if len(node.results) == 1 else Several(found)


@JAX.prints(idiom.permutation)
def permutation_of(scope: Scope, node: Node) -> Expr:
    """lax.linalg.lu_pivots_to_permutation(pivots, 4)"""
    pivots = scope.expr(node.operands[0])
    return call("lax.linalg.lu_pivots_to_permutation", pivots, str(node.attrs["size"]))


def _eigh(node: Node, x: Expr) -> Expr:
    if node.attrs.get("symmetrizes") and node.attrs["uplo"] == ord("L"):
        return call("lax.linalg.eigh", x)
    return call("lax.linalg.eigh", x, lower=str(node.attrs["uplo"] == ord("L")), symmetrize_input="False")


def _svd(node: Node, x: Expr) -> Expr:
    if len(node.results) == 1:
        return call("lax.linalg.svd", x, compute_uv="False")
    return call("lax.linalg.svd", x, full_matrices=str(node.attrs["mode"] == ord("A")))


def _lu(node: Node, x: Expr) -> Expr:
    """The permutation is the last of three."""
    made = call("lax.linalg.lu", x)
    return {1: index(made, ["0"]), 2: index(made, [":2"]), 3: made}[len(node.results)]


_PRINTED = {"getrf": _lu, "syevd": _eigh, "gesdd": _svd}
