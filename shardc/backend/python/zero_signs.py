"""Which floats are never -0.0, as far as their making tells: what may be written `x` for `x + 0.0`.

1.0 - x and a sum over a dimension are never -0.0; the product of two such numbers is not either where it
cannot round to zero from below.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, log2
from typing import cast

import numpy as np

from shardc.backend.python import group, idiom
from shardc.graph import Dense, Graph, Node, is_inexact
from shardc.ops import chlo, combiner, hlo, spmd

_DEPTH = 8
_SLACK = 4
"""Bits that a sum with a constant may lose beyond those of its dtype."""


class Floats:
    """The floats of 32 and 64 bits of one program, known by the nodes that make them."""

    def __init__(self, graph: Graph, made: Mapping[int, Node]) -> None:
        self.graph, self.made = graph, made

    def never_negative_zero(self, value: int, depth: int = _DEPTH) -> bool:
        """Whether no element is -0.0."""
        node = self.made.get(value)
        if node is None or not depth or self.graph.type(value).dtype not in ("f32", "f64"):
            return False
        if node.name == hlo.constant.name:
            data = cast(Dense, node.attrs["value"]).data
            return not bool(np.any((data == 0) & np.signbit(data)))
        sides = [self.never_negative_zero(operand, depth - 1) for operand in node.operands]
        if node.name in _PARTS:
            return sides[0]
        if node.name == hlo.add.name:
            return any(sides)
        if node.name == hlo.subtract.name:
            return sides[0]
        if node.name == hlo.select.name:
            return all(sides[1:])
        if node.name in (hlo.concatenate.name, idiom.stack.name):
            return all(sides)
        if node.name == hlo.multiply.name:
            return len(set(node.operands)) == 1 or (all(sides) and self._stays_positive(node, depth))
        if node.name in (hlo.reduce.name, idiom.keepdims.name):
            return len(node.operands) == 2 and combiner(node.regions[0], self.graph) == "sum" and sides[1]
        if node.name == hlo.convert.name:
            return not is_inexact(self.graph.type(node.operands[0]).dtype)
        return node.name in _NEVER

    def _stays_positive(self, node: Node, depth: int) -> bool:
        """Of a product by a positive number: whether it is zero only where the other side is."""
        lows = [self._least(operand, depth - 1) for operand in node.operands]
        positive = any(self._is_positive(operand) for operand in node.operands)
        if not positive or None in lows:
            return False
        return sum(cast("list[float]", lows)) >= np.finfo(self.graph.type(node.results[0]).numpy).minexp

    def _is_positive(self, value: int) -> bool:
        node = self.made.get(value)
        while node is not None and node.name in _PARTS:
            node = self.made.get(node.operands[0])
        if node is None or node.name != hlo.constant.name:
            return False
        return bool(np.all(np.greater(cast(Dense, node.attrs["value"]).data, 0)))

    def _least(self, value: int, depth: int) -> float | None:
        """The binary logarithm of a number below all sizes that are not zero; None where none is known."""
        node = self.made.get(value)
        if node is None or not depth or self.graph.type(value).dtype not in ("f32", "f64"):
            return None
        if node.name == hlo.constant.name:
            return _least_of(cast(Dense, node.attrs["value"]))
        if node.name == hlo.iota.name:
            return 0.0  # which is the logarithm of 1
        lows = [self._least(operand, depth - 1) for operand in node.operands]
        if node.name in _PARTS:
            return lows[0]
        if node.name in (hlo.add.name, hlo.subtract.name):
            numbers = [self._number(operand) for operand in node.operands]
            known = [log2(number) for number in numbers if number]
            digits = np.finfo(self.graph.type(value).numpy).nmant + _SLACK if known else 0
            return max(known) - digits if known else None
        if None in lows:
            return None
        if node.name == hlo.multiply.name:
            return sum(cast("list[float]", lows))
        return None

    def _number(self, value: int) -> float | None:
        """The size of a number that is the same everywhere and no zero."""
        node = self.made.get(value)
        while node is not None and node.name in _PARTS:
            node = self.made.get(node.operands[0])
        if node is None or node.name != hlo.constant.name:
            return None
        data = cast(Dense, node.attrs["value"]).data
        return abs(float(data[()])) if data.shape == () and np.isfinite(data[()]) else None


def _least_of(value: Dense) -> float | None:
    sizes = np.abs(value.data[(value.data != 0) & np.isfinite(value.data)]).astype(np.float64)
    return log2(float(sizes.min())) if sizes.size else inf


_PARTS = {
    idiom.same.name,
    hlo.broadcast_in_dim.name,
    hlo.reshape.name,
    hlo.slice_.name,
    hlo.transpose.name,
    spmd.all_reduce.name,
    spmd.vary.name,
}
"""What has only elements of its first operand, or their sum over devices."""

_NEVER = {
    chlo.square.name,
    group.softmax.name,
    hlo.abs_.name,
    hlo.dot_general.name,
    hlo.exponential.name,
    hlo.iota.name,
    hlo.logistic.name,
    idiom.sigmoid.name,
}
"""Positive numbers, and sums of products, which begin with 0.0."""
