"""Solutions of linear systems, which JAX finds by an LU factorisation and two triangular ones.

    factors, _, permutation = lax.linalg.lu(a)
    t = triangular_solve(factors, b[permutation], lower and unit), u = triangular_solve(factors, t)
        ->  idiom.solution  u = jnp.linalg.solve(a, b)

Where something else uses the factors, as a derivative does, they stay. Rows are permuted by a gather between
changes of shape; dimensions that are not of size 1 are followed through both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import cast

from shardc.backend.jax.target import JAX
from shardc.backend.python import idiom
from shardc.backend.python.expressions import Expr, call
from shardc.backend.python.moves import Dims, order_of, unmoved
from shardc.backend.python.ranges import splat
from shardc.backend.python.scope import Scope
from shardc.graph import GatherDims, Graph, Node, Region, TensorType, walk
from shardc.ops import hlo
from shardc.semantics.lapack import options_of, routine

_LOWER = {"side": ord("L"), "uplo": ord("L"), "trans_x": ord("N"), "diag": ord("U")}
_UPPER = {"side": ord("L"), "uplo": ord("U"), "trans_x": ord("N"), "diag": ord("N")}
_FURTHEST = 12
"""So many changes of shape are looked back."""


def ends(region: Region) -> tuple[Mapping[int, list[Node]], dict[int, Node]]:
    """What uses the values of a region, also inside, and what makes them there."""
    users: defaultdict[int, list[Node]] = defaultdict(list)
    for node in walk(region):
        for value in node.operands:
            users[value].append(node)
    return users, {value: node for node in region.nodes for value in node.results}


def with_solutions(region: Region, graph: Graph) -> Region:
    """The region with each as one node; what led there is then used by nobody."""
    users, made = ends(region)
    nodes = list[Node]()
    for node in region.nodes:
        system = _system(graph, node, users, made)
        name = idiom.solution.name
        nodes.append(Node(node.id, name, system, node.results, {}, (), node.loc) if system else node)
    return Region(region.args, nodes)


def _system(
    graph: Graph, node: Node, users: Mapping[int, Sequence[Node]], made: Mapping[int, Node]
) -> tuple[int, int] | None:
    """a and b, if a node finds a⁻¹b."""
    if not _solves(node, _UPPER):
        return None
    lu, inner = node.operands[0], made.get(node.operands[1])
    back = None if inner is None else unmoved(graph, inner, made)
    inner = inner if back is None else made.get(back)
    factors = made.get(lu)
    if inner is None or factors is None or not _solves(inner, _LOWER) or inner.operands[0] != lu:
        return None
    if factors.name != idiom.factors.name or len(factors.results) < 3 or factors.results[0] != lu:
        return None
    _, pivots, permutation = factors.results
    beside = len(users[lu]) > 2 or users.get(pivots) or len(users[inner.results[0]]) > 1
    type = graph.type(node.results[0])
    b = None if beside else _unpermuted(graph, inner.operands[1], permutation, type, made)
    return None if b is None else (factors.operands[0], b)


def _solves(node: Node, options: Mapping[str, int]) -> bool:
    """Whether it is a triangular solve with these options."""
    is_call = node.name == hlo.custom_call.name
    if not is_call or routine(str(node.attrs["call_target_name"])) != "trsm":
        return False
    said = options_of(node.attrs)
    return all(said.get(key) == value for key, value in options.items())


def _unpermuted(
    graph: Graph, value: int, permutation: int, type: TensorType, made: Mapping[int, Node]
) -> int | None:
    """The value of a type whose rows a permutation has in another order in `value`."""
    larger = [dim for dim, size in enumerate(type.shape) if size != 1]
    if len(type.shape) - 2 not in larger:
        return None
    rows = larger.index(len(type.shape) - 2)
    order, permuted = tuple(range(len(larger))), False
    for _ in range(_FURTHEST):
        node = made.get(value)
        if node is None:
            return None
        if node.name == hlo.gather.name:
            found = None if permuted else _gathered(graph, node, permutation, made)
            if found is None or order[rows] != found[1]:
                return None
            before, permuted = found[0], True
        else:
            before = order_of(graph, node)
            if before is None:
                return None
        order = tuple([before[dim] for dim in order])
        value = node.operands[0]
        if permuted and graph.type(value) == type and order == tuple(range(len(order))):
            return value
    return None


def _gathered(
    graph: Graph, node: Node, permutation: int, made: Mapping[int, Node]
) -> tuple[Dims, int] | None:
    """As `order_of`, of a gather of whole slices at a permutation, and which dimension it permutes."""
    dims = cast(GatherDims, node.attrs["dimension_numbers"])
    table, indices = node.operands
    given, made_shape = graph.type(table).shape, graph.type(node.results[0]).shape
    places = graph.type(permutation).shape
    if len(dims.start_index_map) != 1 or graph.type(indices).shape != (*places, 1):
        return None
    (axis,) = dims.start_index_map
    batch = len(places) - 1
    is_row = dims.index_vector_dim == len(places) and dims.collapsed_slice_dims == (axis,)
    if not is_row or dims.start_indices_batching_dims != tuple(range(batch)):
        return None
    if not _says(graph, indices, permutation, given[axis], made):
        return None
    whole = [dim for dim in range(len(given)) if dim != axis and dim not in dims.operand_batching_dims]
    sizes = cast(Dims, node.attrs["slice_sizes"])
    if any(sizes[dim] != given[dim] for dim in whole):
        return None
    slices, chosen = iter(whole), iter((*dims.operand_batching_dims, axis))
    moved = [next(slices if dim in dims.offset_dims else chosen) for dim in range(len(made_shape))]
    larger = [dim for dim, size in enumerate(given) if size != 1]
    order = [larger.index(dim) for dim in moved if dim in larger]
    return (tuple(order), order.index(larger.index(axis))) if axis in larger else None


def _says(graph: Graph, indices: int, permutation: int, size: int, made: Mapping[int, Node]) -> bool:
    """Whether indices are the permutation, or so with `size` added where it is negative, which it is not."""
    node = made.get(indices)
    while node is not None and indices != permutation and order_of(graph, node) is not None:
        indices = node.operands[0]
        node = made.get(indices)
    if indices == permutation:
        return True
    if node is None or node.name != hlo.select.name or node.operands[2] != permutation:
        return False
    test, more = (made.get(value) for value in node.operands[:2])
    return (
        test is not None
        and more is not None
        and (test.name, test.operands[0], test.attrs.get("comparison_direction"))
        == (hlo.compare.name, permutation, "LT")
        and (more.name, more.operands[0]) == (hlo.add.name, permutation)
        and (splat(test.operands[1], made), splat(more.operands[1], made)) == (0, size)
    )


@JAX.prints(idiom.solution)
def solution(scope: Scope, node: Node) -> Expr:
    """jnp.linalg.solve(a, b), of matrices b"""
    return call("jnp.linalg.solve", *map(scope.expr, node.operands))
