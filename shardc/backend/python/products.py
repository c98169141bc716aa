"""Matrix products: `a @ b` where the contraction is matmul, einsum with letters otherwise.

The letters are those of the source's einsum where it had one, which the operation keeps as LETTERS.
"""

from __future__ import annotations

from typing import cast

from shardc.backend.python.expressions import Expr, attribute, binary, call, method
from shardc.backend.python.scope import Scope
from shardc.graph import LETTERS, DotDims, Node


def subscripts(node: Node, lhs_rank: int, rhs_rank: int, *, turned: bool = False) -> str:
    """What einsum calls the contraction: "bsd,dhk->bshk". Letters that the source does not say are in the
    order of lhs, or, `turned`, of rhs."""
    dims = cast(DotDims, node.attrs["dot_dimension_numbers"])
    lhs, _, rhs = str(node.attrs.get(LETTERS, "")).partition(",")
    if not _fits(lhs, rhs, dims, lhs_rank, rhs_rank):
        lhs, rhs = _letters(dims, lhs_rank, rhs_rank, turned)
    batch = [lhs[i] for i in dims.lhs_batching]
    free = [lhs[i] for i in range(lhs_rank) if i not in dims.lhs_batching + dims.lhs_contracting]
    free += [rhs[i] for i in range(rhs_rank) if i not in dims.rhs_batching + dims.rhs_contracting]
    out = [*batch, *free]
    order = cast("tuple[int, ...]", node.attrs.get("permutation", range(len(out))))
    return f"{lhs},{rhs}->{''.join(out[i] for i in order)}"


def _fits(lhs: str, rhs: str, dims: DotDims, lhs_rank: int, rhs_rank: int) -> bool:
    """Whether the letters are alike just where the contraction has one dimension of both operands."""
    shared = {
        *zip(dims.lhs_batching, dims.rhs_batching, strict=True),
        *zip(dims.lhs_contracting, dims.rhs_contracting, strict=True),
    }
    alike = {(i, j) for i, a in enumerate(lhs) for j, b in enumerate(rhs) if a == b}
    return (len(lhs), len(rhs)) == (lhs_rank, rhs_rank) and alike == shared


def _letters(dims: DotDims, lhs_rank: int, rhs_rank: int, turned: bool) -> tuple[str, str]:
    """Letters for both operands, in the order of lhs and then of the rest of rhs; `turned`, of rhs first."""
    if turned:
        swapped = DotDims(dims.rhs_batching, dims.lhs_batching, dims.rhs_contracting, dims.lhs_contracting)
        rhs, lhs = _letters(swapped, rhs_rank, lhs_rank, False)
        return lhs, rhs
    names = iter("abcdefghijklmnopqrstuvwxyz")
    lhs, rhs = [next(names) for _ in range(lhs_rank)], [""] * rhs_rank
    for left, right in zip(dims.lhs_batching, dims.rhs_batching, strict=True):
        rhs[right] = lhs[left]
    for left, right in zip(dims.lhs_contracting, dims.rhs_contracting, strict=True):
        rhs[right] = lhs[left]
    return "".join(lhs), "".join(letter or next(names) for letter in rhs)


def is_matmul(dims: DotDims, lhs_rank: int, rhs_rank: int) -> bool:
    """Whether `@` gives the dimensions of the result in the same order."""
    batch = tuple(range(len(dims.lhs_batching)))
    if dims.lhs_batching != batch or dims.rhs_batching != batch or len(dims.lhs_contracting) != 1:
        return False
    if dims.lhs_contracting != (lhs_rank - 1,):
        return False
    if not batch:
        return dims.rhs_contracting == (max(rhs_rank - 2, 0),) and rhs_rank <= 2
    return lhs_rank == rhs_rank == len(batch) + 2 and dims.rhs_contracting == (rhs_rank - 2,)


def is_transposed(dims: DotDims, lhs_rank: int, rhs_rank: int) -> bool:
    """Whether it is lhs @ rhs.T."""
    plain = not dims.lhs_batching and rhs_rank == 2
    return plain and dims.lhs_contracting == (lhs_rank - 1,) and dims.rhs_contracting == (1,)


def is_einsum(node: Node, ranks: list[int]) -> bool:
    """Whether no `@` says it, with transposed operands or without."""
    if "permutation" in node.attrs:
        return True
    dims = cast(DotDims, node.attrs["dot_dimension_numbers"])
    swapped = ranks == [2, 2] and not dims.lhs_batching and dims.lhs_contracting == (0,)
    return not (is_matmul(dims, *ranks) or is_transposed(dims, *ranks) or swapped)


def is_product(node: Node, ranks: list[int]) -> bool:
    """Whether something is summed, and both operands have dimensions of their own: matrices, multiplied."""
    dims = cast(DotDims, node.attrs["dot_dimension_numbers"])
    shared = len(dims.lhs_batching) + len(dims.lhs_contracting)
    return bool(dims.lhs_contracting) and min(ranks) > shared


def contraction(scope: Scope, node: Node, **keywords: str | None) -> Expr:
    """The product in the operands' own dtype, or with keywords as an einsum."""
    lhs, rhs = (scope.expr(value) for value in node.operands)
    return _product(scope, node, lhs, rhs, keywords)


def terms_of(node: Node, ranks: list[int]) -> tuple[str, str, str, bool]:
    """Letters of the first and of the second operand and of the result of np.einsum, and whether the second
    is the node's first.

    NumPy multiplies the second by the first, so the result lies row after row where what the second has for
    itself stands before what the first has.
    """
    terms, _, out = subscripts(node, *ranks).partition("->")
    own = next(letter for letter in out if terms.count(letter) == 1)
    turned = own in terms.partition(",")[0]
    terms, _, out = subscripts(node, *ranks, turned=turned).partition("->")
    lhs, rhs = terms.split(",")
    return (rhs, lhs, out, True) if turned else (lhs, rhs, out, False)


def product_in(scope: Scope, node: Node, dtype: str) -> Expr:
    """The product of the operands converted to a dtype. Matrices are left to BLAS: NumPy's einsum multiplies
    them itself, slowly, where it is not asked to optimize."""
    lhs, rhs = (
        scope.expr(value)
        if scope.type(value).dtype == dtype
        else method(scope.expr(value), "astype", scope.target.dtype(dtype))
        for value in node.operands
    )
    ranks = [scope.type(value).rank for value in node.operands]
    if is_einsum(node, ranks) and is_product(node, ranks):
        first, second, out, turned = terms_of(node, ranks)
        factors = (rhs, lhs) if turned else (lhs, rhs)
        return call(f"{scope.target.xp}.einsum", f'"{first},{second}->{out}"', *factors, optimize="True")
    return _product(scope, node, lhs, rhs, {})


def _product(scope: Scope, node: Node, lhs: Expr, rhs: Expr, keywords: dict[str, str | None]) -> Expr:
    dims = cast(DotDims, node.attrs["dot_dimension_numbers"])
    ranks = [scope.type(value).rank for value in node.operands]
    if any(keywords.values()) and is_matmul(dims, *ranks) and "permutation" not in node.attrs:
        return call(f"{scope.target.xp}.matmul", lhs, rhs, **keywords)
    if any(keywords.values()) or is_einsum(node, ranks):
        return call(f"{scope.target.xp}.einsum", _quoted(node, ranks), lhs, rhs, **keywords)
    if is_matmul(dims, *ranks):
        return binary("@", lhs, rhs)
    if is_transposed(dims, *ranks):
        return binary("@", lhs, attribute(rhs, "T"))
    transposed = rhs if dims.rhs_contracting == (0,) else attribute(rhs, "T")
    return binary("@", attribute(lhs, "T"), transposed)


def _quoted(node: Node, ranks: list[int]) -> str:
    """The subscripts, as einsum takes them."""
    return f'"{subscripts(node, *ranks)}"'
