"""Matrix products: `a @ b` where the contraction is matmul, einsum with letters otherwise."""

from __future__ import annotations

from typing import cast

from shardc.backend.body import Body
from shardc.backend.expressions import Expr, attribute, binary, call, method
from shardc.graph import DotDims, Node


def letters(dims: DotDims, lhs_rank: int, rhs_rank: int) -> tuple[str, str, str]:
    """The einsum letters of both operands and the result: batch, then the rest of lhs, then of rhs."""
    names = iter("abcdefghijklmnopqrstuvwxyz")
    lhs, rhs = [""] * lhs_rank, [""] * rhs_rank
    for left, right in zip(dims.lhs_batching, dims.rhs_batching, strict=True):
        lhs[left] = rhs[right] = next(names)
    lhs = [letter or ("?" if i in dims.lhs_contracting else next(names)) for i, letter in enumerate(lhs)]
    for left, right in zip(dims.lhs_contracting, dims.rhs_contracting, strict=True):
        lhs[left] = rhs[right] = next(names)
    rhs = [letter or next(names) for letter in rhs]
    batch = [lhs[i] for i in dims.lhs_batching]
    free = [lhs[i] for i in range(lhs_rank) if i not in dims.lhs_batching + dims.lhs_contracting]
    free += [rhs[i] for i in range(rhs_rank) if i not in dims.rhs_batching + dims.rhs_contracting]
    return "".join(lhs), "".join(rhs), "".join(batch + free)


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


def contraction(body: Body, node: Node, **keywords: str | None) -> Expr:
    """The product in the operands' own dtype, or with keywords as an einsum."""
    lhs, rhs = (body.expr(value) for value in node.operands)
    return _product(body, node, lhs, rhs, keywords)


def product_in(body: Body, node: Node, dtype: str) -> Expr:
    """The product of the operands converted to a dtype."""
    lhs, rhs = (
        body.expr(value)
        if body.type(value).dtype == dtype
        else method(body.expr(value), "astype", body.target.dtype(dtype))
        for value in node.operands
    )
    return _product(body, node, lhs, rhs, {})


def _product(body: Body, node: Node, lhs: Expr, rhs: Expr, keywords: dict[str, str | None]) -> Expr:
    dims = cast(DotDims, node.attrs["dot_dimension_numbers"])
    ranks = [body.type(value).rank for value in node.operands]
    if not any(keywords.values()):
        if is_matmul(dims, *ranks):
            return binary("@", lhs, rhs)
        if is_transposed(dims, *ranks):
            return binary("@", lhs, attribute(rhs, "T"))
        if ranks == [2, 2] and not dims.lhs_batching and dims.lhs_contracting == (0,):
            transposed = rhs if dims.rhs_contracting == (0,) else attribute(rhs, "T")
            return binary("@", attribute(lhs, "T"), transposed)
    a, b, out = letters(dims, *ranks)
    return call(f"{body.target.xp}.einsum", f'"{a},{b}->{out}"', lhs, rhs, **keywords)
