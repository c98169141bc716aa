"""In which order tensors lie in memory, as far as a compiler chooses it: next to products.

A product takes its factors, and leaves its result, in another order of dimensions too. So a transpose beside
it moves nothing: what products alone take lies as the transpose's operand does, and a product's result that
only a transpose takes lies as the transpose wants it.

    g = dot(h, y); w - g.T      # g lies with the dimensions of h as neighbours; g.T does not read across
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from shardc.graph import Node, Op
from shardc.ops import Trait, has, hlo
from shardc.ops.definition import Lying, as_written


def leaves_turned(node: Node, makers: Mapping[int, Node], users: Mapping[int, list[Node]]) -> bool:
    """Whether a transpose alone has the result of a product, which then lies as the transpose wants it."""
    maker = makers.get(node.operands[0]) if node.name == hlo.transpose.name else None
    return maker is not None and has(maker.name, Trait.PRODUCT) and len(users[node.operands[0]]) == 1


def lying(ops: Mapping[int, tuple[Node, Op]], users: Mapping[int, list[Node]]) -> dict[int, Lying]:
    """Node id -> how its operands and results lie, of products and transposes."""
    makers = {value: node for node, _ in ops.values() for value in node.results}
    chosen: dict[int, int] = {}
    for node, op in ops.values():
        if node.name == hlo.transpose.name:
            (operand,), (result,) = node.operands, node.results
            permutation, (given, wanted) = cast(tuple[int, ...], op.attrs["permutation"]), as_written(op)
            using = users.get(result, [])
            if leaves_turned(node, makers, users):
                chosen[operand] = permutation[wanted]
            elif using and all(has(user.name, Trait.PRODUCT) for user in using):
                chosen[result] = permutation.index(chosen.get(operand, given))
    return {
        node.id: tuple(
            chosen.get(value, dim)
            for value, dim in zip((*node.operands, *node.results), as_written(op), strict=True)
        )
        for node, op in ops.values()
        if node.name == hlo.transpose.name or has(node.name, Trait.PRODUCT)
    }
