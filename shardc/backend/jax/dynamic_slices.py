"""Dynamic slices in JAX, those of one layer of a stack too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from shardc.backend.jax.target import JAX
from shardc.backend.python import idiom
from shardc.backend.python.expressions import Expr, attribute, call, index, integers, method, raw, tuple_of
from shardc.backend.python.literals import typed
from shardc.backend.python.scope import Scope
from shardc.backend.python.shapes import ints
from shardc.graph import DTYPES, Node
from shardc.ops import hlo
from shardc.semantics.arrays import integer_ends


class _Starts:
    """Where a slice of some sizes starts, in text, and in which dimensions JAX may count from the end.

    The starts are of one integer type, in which the sizes of the dimensions are numbers: those of 8 bits are
    converted for 200 rows. A literal has another type where 64 bits are the default.
    """

    def __init__(
        self, scope: Scope, node: Node, starts: Sequence[int], sizes: Sequence[int], first: int = 0
    ) -> None:
        """The starts are those of the dimensions from `first` on."""
        shape = scope.type(node.operands[0]).shape[first : first + len(starts)]
        types = [scope.type(start).dtype for start in starts]
        terms = [scope.term(start) for start in starts]
        same = all(dtype == scope.emission.default_integer for dtype in types)
        self._narrow = any(
            size > integer_ends(DTYPES[dtype][1])[1] for dtype, size in zip(types, shape, strict=True)
        )
        self._plain = same or self._narrow or all(t.weak for t in terms) or not any(t.weak for t in terms)
        self.places = [self._place(scope, start) for start in starts]
        from_end = cast("tuple[bool, ...]", node.attrs.get("from_end", (False,) * len(starts)))
        whole = [size == full for size, full in zip(sizes, shape, strict=True)]
        literal = [term.literal is not None for term in terms]
        self.from_end = tuple(map(any, zip(from_end, whole, literal, strict=True)))
        self.cut = [dim for dim, same in enumerate(whole) if not same]

    def _place(self, scope: Scope, start: int) -> Expr:
        literal = scope.term(start).literal
        if literal is not None and int(literal) < 0:  # which JAX refuses where it may not count from the end
            return raw("0") if self._plain else typed(raw("0"), scope.type(start).dtype, scope.target)
        place = scope.index(start) if self._plain else scope.expr(start)
        return call(scope.target.dtype("i32"), place) if self._narrow and literal is None else place

    def allowed(self, dim: int | None = None) -> Expr | None:
        """`allow_negative_indices` for one dimension or all, None where it may be what it is by itself."""
        found = self.from_end if dim is None else self.from_end[dim : dim + 1]
        if all(found):
            return None
        return tuple_of([raw(str(may)) for may in found]) if any(found) else raw("False")


@JAX.prints(hlo.dynamic_slice, idiom.sliced)
def dynamic_slice(scope: Scope, node: Node) -> Expr:
    value, *operands = node.operands
    sizes = ints(node, "slice_sizes")
    starts = _Starts(scope, node, operands, sizes)
    if len(starts.cut) == 1:
        (dim,) = starts.cut
        return call(
            "lax.dynamic_slice_in_dim",
            scope.expr(value),
            starts.places[dim],
            str(sizes[dim]),
            axis=str(dim),
            allow_negative_indices=starts.allowed(dim),
        )
    return call(
        "lax.dynamic_slice",
        scope.expr(value),
        tuple_of(starts.places),
        integers(sizes),
        allow_negative_indices=starts.allowed(),
    )


@JAX.prints(hlo.dynamic_update_slice, idiom.updated)
def dynamic_update_slice(scope: Scope, node: Node) -> Expr:
    value, update, *operands = node.operands
    scope.variable(value)
    starts = _Starts(scope, node, operands, scope.type(update).shape)
    if len(starts.cut) == 1:
        (dim,) = starts.cut
        return call(
            "lax.dynamic_update_slice_in_dim",
            scope.expr(value),
            scope.expr(update),
            starts.places[dim],
            axis=str(dim),
            allow_negative_indices=starts.allowed(dim),
        )
    return call(
        "lax.dynamic_update_slice",
        scope.expr(value),
        scope.expr(update),
        tuple_of(starts.places),
        allow_negative_indices=starts.allowed(),
    )


@JAX.prints(idiom.layer)
def layer(scope: Scope, node: Node) -> Expr:
    """ws[i] along a dimension; the index is clamped unless it is a loop's counter."""
    stack, place = node.operands
    axis = cast(int, node.attrs["axis"])
    if node.attrs["counter"]:
        return index(scope.expr(stack), [*[":"] * axis, scope.index(place)])
    starts = _Starts(scope, node, [place], [1], axis)
    return call(
        "lax.dynamic_index_in_dim",
        scope.expr(stack),
        starts.places[0],
        axis=str(axis) if axis else None,
        keepdims="False",
        allow_negative_indices=starts.allowed(0),
    )


@JAX.prints(idiom.put_layer)
def put_layer(scope: Scope, node: Node) -> Expr:
    """ys.at[i].set(y)."""
    stack, update, place = node.operands
    return method(index(attribute(scope.expr(stack), "at"), [scope.index(place)]), "set", scope.expr(update))
