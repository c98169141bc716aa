"""Windows that begin at a place of their own for each row: dynamic slices under jax.vmap."""

from __future__ import annotations

from typing import cast

from shardc.backend.jax.target import JAX
from shardc.backend.python import idiom
from shardc.backend.python.expressions import Expr, call, integers, lambda_of, raw, tuple_of
from shardc.backend.python.literals import typed
from shardc.backend.python.scope import Scope
from shardc.graph import Node

_PLACES = ("i", "j", "k", "l", "m", "n")
"""What a lambda may call its starts; what is read in it has others."""


@JAX.prints(idiom.sliced_each)
def sliced_each(scope: Scope, node: Node) -> Expr:
    """jax.vmap(lambda row, i: lax.dynamic_slice_in_dim(row, i, 4, axis=0))(x, i)"""
    table, *starts = node.operands
    if not node.attrs["rows"]:
        scope.variable(table)
        whole = scope.expr(table)
        return _mapped(scope, node, "dynamic_slice", {}, [whole], starts)
    return _mapped(scope, node, "dynamic_slice", {"row": table}, [], starts)


@JAX.prints(idiom.updated_each)
def updated_each(scope: Scope, node: Node) -> Expr:
    """jax.vmap(lambda row, new, i: lax.dynamic_update_slice_in_dim(row, new, i, axis=0))(x, y, i)"""
    table, new, *starts = node.operands
    return _mapped(scope, node, "dynamic_update_slice", {"row": table, "new": new}, [], starts)


def _mapped(
    scope: Scope, node: Node, function: str, rows: dict[str, int], read: list[Expr], starts: list[int]
) -> Expr:
    """`function` of what each row has, named, and of what all share, from its starts on."""
    taken = frozenset[str]().union(*(expr.reads for expr in read))
    places = [name for name in _PLACES if name not in taken][: len(starts)]
    of_row = [*read, *map(raw, rows)]
    cut, sizes = cast("tuple[int, ...]", node.attrs["cut"]), cast("tuple[int, ...]", node.attrs["sizes"])
    from_end = cast("tuple[bool, ...]", node.attrs["from_end"])
    sliced = function == "dynamic_slice"
    if len(cut) == 1:
        size = [str(sizes[cut[0]])] if sliced else []
        count = None if from_end[0] else "False"
        keywords = {"axis": str(cut[0]), "allow_negative_indices": count}
        body = call(f"lax.{function}_in_dim", *of_row, places[0], *size, **keywords)
    else:
        dtype = scope.type(starts[0]).dtype
        zero = raw("0") if dtype == scope.emission.default_integer else typed(raw("0"), dtype, scope.target)
        named, ends = dict(zip(cut, places, strict=True)), dict(zip(cut, from_end, strict=True))
        dims = range(len(sizes))
        at = tuple_of([raw(named[dim]) if dim in named else zero for dim in dims])
        size = [integers(sizes)] if sliced else []
        count = None if all(from_end) else tuple_of([raw(str(ends.get(dim, False))) for dim in dims])
        body = call(f"lax.{function}", *of_row, at, *size, allow_negative_indices=count)
    made = lambda_of(", ".join([*rows, *places]), body)
    of_rows, maps = cast(int, node.attrs["rows"]), cast(int, node.attrs["maps"])
    of_one_row = f"(None{', 0' * len(starts)})" if rows else None
    for depth in range(maps):
        made = call("jax.vmap", made, in_axes=of_one_row if depth < maps - of_rows else None)
    return call(made, *map(scope.expr, [*rows.values(), *starts]))
