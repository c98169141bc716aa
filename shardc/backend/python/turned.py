"""Transposes beside each other and beside products, which letters say as well.

    x.transpose(1, 0, 2).transpose(0, 2, 1)                  ->  x.transpose(1, 2, 0)
    jnp.einsum("abc,cd->abd", q, w).transpose(1, 0, 2)       ->  jnp.einsum("abc,cd->bad", q, w)
    jnp.einsum("abc,cbd->ad", q.transpose(1, 0, 2), k)       ->  jnp.einsum("abc,cad->bd", q, k)

jax.vmap moves the dimension that it maps over so, and to the front of a product.
"""

from __future__ import annotations

from typing import Protocol, cast

from msgspec.structs import replace

from shardc.backend.python import idiom
from shardc.backend.python.products import is_einsum
from shardc.graph import LETTERS, DotDims, Node
from shardc.ops import hlo

Dims = tuple[int, ...]


class Known(Protocol):
    """What is known of the program: see folding._Folder."""

    def only(self, value: int, *names: str) -> Node | None: ...

    def shape(self, value: int) -> Dims: ...


def transposed(known: Known, node: Node) -> Node | None:
    """A transpose of a transpose, or of an einsum."""
    made = known.only(node.operands[0], hlo.dot_general.name, idiom.einsum.name, hlo.transpose.name)
    if made is None or (made.name == hlo.dot_general.name and not _is_einsum(known, made)):
        return None
    permutation = cast(Dims, node.attrs["permutation"])
    before = cast(Dims, made.attrs.get("permutation", range(len(permutation))))
    together = tuple(before[dim] for dim in permutation)
    if made.name == hlo.transpose.name:
        return replace(made, results=node.results, attrs={"permutation": together}, loc=node.loc)
    return replace(_in_order(made, together), results=node.results, loc=node.loc)


def of_transposed(known: Known, node: Node) -> Node | None:
    """An einsum of transposed operands is one of those themselves."""
    made = [known.only(value, hlo.transpose.name) for value in node.operands]
    if not any(made) or not _is_einsum(known, node):
        return None
    orders, operands = list[Dims](), list[int]()
    for value, turned in zip(node.operands, made, strict=True):
        whole = tuple(range(len(known.shape(value))))
        orders.append(whole if turned is None else cast(Dims, turned.attrs["permutation"]))
        operands.append(value if turned is None else turned.operands[0])
    dims = cast(DotDims, node.attrs["dot_dimension_numbers"])
    lhs, rhs = orders
    moved = DotDims(
        tuple(lhs[dim] for dim in dims.lhs_batching),
        tuple(rhs[dim] for dim in dims.rhs_batching),
        tuple(lhs[dim] for dim in dims.lhs_contracting),
        tuple(rhs[dim] for dim in dims.rhs_contracting),
    )
    after = _result(moved, len(lhs), len(rhs))
    order = [after.index((side, orders[side][dim])) for side, dim in _result(dims, len(lhs), len(rhs))]
    wanted = cast(Dims, node.attrs.get("permutation", range(len(order))))
    attrs = {**node.attrs, "dot_dimension_numbers": moved}
    if LETTERS in attrs:
        attrs[LETTERS] = ",".join(map(_letters, str(attrs[LETTERS]).split(","), orders))
    product = replace(node, operands=tuple(operands), attrs=attrs)
    return _in_order(product, tuple(order[dim] for dim in wanted))


def _in_order(product: Node, permutation: Dims) -> Node:
    """A product whose dimensions are in another order than a dot_general has them in; in that one."""
    attrs = {key: attr for key, attr in product.attrs.items() if key != "permutation"}
    if permutation == tuple(range(len(permutation))):
        return replace(product, name=hlo.dot_general.name, attrs=attrs)
    return replace(product, name=idiom.einsum.name, attrs={**attrs, "permutation": permutation})


def _is_einsum(known: Known, node: Node) -> bool:
    return is_einsum(node, [len(known.shape(value)) for value in node.operands])


def _result(dims: DotDims, lhs_rank: int, rhs_rank: int) -> list[tuple[int, int]]:
    """Of which operand, and of which dimension there, each dimension of a product is."""
    left = {*dims.lhs_batching, *dims.lhs_contracting}
    right = {*dims.rhs_batching, *dims.rhs_contracting}
    return [
        *((0, dim) for dim in dims.lhs_batching),
        *((0, dim) for dim in range(lhs_rank) if dim not in left),
        *((1, dim) for dim in range(rhs_rank) if dim not in right),
    ]


def _letters(letters: str, order: Dims) -> str:
    """The letters of an operand before it was transposed."""
    found = sorted(zip(order, letters, strict=False))
    return "".join(letter for _, letter in found)
