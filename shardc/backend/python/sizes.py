"""What is never below zero: its size is itself, and no choice is made by its sign.

    jnp.abs(jnp.sum(jnp.exp(x)))                            ->  jnp.sum(jnp.exp(x))
    where(s >= 0, q, 0) + -where(s >= 0, 0, q), q = g / s   ->  q, as jax.nn.logsumexp has in a backward pass

A value may be no number, and then so is q.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

import numpy as np

from shardc.backend.python import group, idiom
from shardc.graph import Dense, Graph, Node, is_float
from shardc.ops import chlo, combiner, hlo, spmd

_DEPTH = 8


class Known(Protocol):
    """The nodes of a program, and the elements of its constants."""

    graph: Graph
    made: dict[int, Node]

    def splat(self, value: int) -> object: ...


def is_size(graph: Graph, made: Mapping[int, Node], value: int, depth: int = _DEPTH) -> bool:
    """Whether no element of a float is below zero or -0.0."""
    node = made.get(value)
    if node is None or not depth or not is_float(graph.type(value).dtype):
        return False
    if node.name == hlo.constant.name:
        return not bool(np.any(np.signbit(cast(Dense, node.attrs["value"]).data)))
    if node.name in _SIZES:
        return True
    if node.name == hlo.multiply.name and len(set(node.operands)) == 1:
        return True
    if node.name in (hlo.reduce.name, idiom.keepdims.name):
        kind = combiner(node.regions[0], graph) if len(node.operands) == 2 else None
        return kind in ("sum", "max", "min") and _are_sizes(graph, made, node.operands, depth)
    if node.name in _PARTS:
        return is_size(graph, made, node.operands[0], depth - 1)
    return node.name in _OF_SIZES and _are_sizes(graph, made, node.operands, depth)


def _are_sizes(graph: Graph, made: Mapping[int, Node], values: tuple[int, ...], depth: int) -> bool:
    return all(is_size(graph, made, value, depth - 1) for value in values)


def own_size(known: Known, node: Node) -> int | None:
    """The operand of an absolute value, if that is what it gives."""
    return node.operands[0] if is_size(known.graph, known.made, node.operands[0]) else None


def by_no_sign(known: Known, node: Node) -> int | None:
    """q of a sum of q where a size is not below zero, and of -q where it is."""
    for above, below in (node.operands, node.operands[::-1]):
        first, negative = _made(known, above, hlo.select.name), _made(known, below, hlo.negate.name)
        second = None if negative is None else _made(known, negative.operands[0], hlo.select.name)
        if first is None or second is None or first.operands[0] != second.operands[0]:
            continue
        _, q, zero = first.operands
        test, quotient = (_made(known, first.operands[0], hlo.compare.name), _made(known, q, hlo.divide.name))
        if test is None or quotient is None or second.operands[2] != q:
            continue
        zeros = [known.splat(value) for value in (zero, second.operands[1], test.operands[1])]
        size = test.operands[0]
        if zeros != [0, 0, 0] or test.attrs["comparison_direction"] != "GE":
            continue
        if _itself(known, quotient.operands[1]) == size and is_size(known.graph, known.made, size):
            return q
    return None


def _made(known: Known, value: int, name: str) -> Node | None:
    made = known.made.get(_itself(known, value))
    return made if made is not None and made.name == name else None


def _itself(known: Known, value: int) -> int:
    """The value that another one is."""
    made = known.made.get(value)
    while made is not None and made.name == idiom.same.name:
        value = made.operands[0]
        made = known.made.get(value)
    return value


_SIZES = {
    chlo.square.name,
    group.softmax.name,
    hlo.abs_.name,
    hlo.exponential.name,
    hlo.logistic.name,
    idiom.sigmoid.name,
}
_PARTS = {
    hlo.broadcast_in_dim.name,
    hlo.reshape.name,
    hlo.slice_.name,
    hlo.sqrt.name,
    hlo.transpose.name,
    idiom.same.name,
    spmd.all_reduce.name,
    spmd.vary.name,
}
"""What has sizes where its operand has: elements of it, roots, and sums over devices."""

_OF_SIZES = {hlo.add.name, hlo.divide.name, hlo.multiply.name}
