"""What is never below zero: its absolute value is itself, and no choice is made by its sign.

    abs(sum(exp(x)))                                        ->  sum(exp(x))
    where(s >= 0, q, 0) + -where(s >= 0, 0, q), q = g / s   ->  q, as jax.nn.logsumexp has in a backward pass

A value may be no number, and then so is q.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np
from msgspec import Struct

from shardc.graph import Dense, Graph, Node, Region, is_float, walk
from shardc.ops import chlo, combiner, hlo, spmd

_DEPTH = 12


def has_absolute(region: Region) -> bool:
    """Whether there is an absolute value in a region."""
    return any(node.name == hlo.abs_.name for node in walk(region))


class Sizes(Struct, frozen=True):
    """The values of a program, by the nodes that make them.

    splat: the element of a constant that has one. same: the name of nodes that give their operand.
    """

    graph: Graph
    made: Mapping[int, Node]
    splat: Callable[[int], object]
    same: str

    def itself(self, node: Node) -> int | None:
        """What an absolute value or a sum gives as it is, if it does so for its signs."""
        if node.name == hlo.abs_.name:
            return node.operands[0] if self.is_size(node.operands[0]) else None
        return self._by_no_sign(node) if node.name == hlo.add.name else None

    def is_size(self, value: int, depth: int = _DEPTH) -> bool:
        """Whether no element of a float is below zero or -0.0."""
        node = self.made.get(value)
        if node is None or not depth or not is_float(self.graph.type(value).dtype):
            return False
        if node.name == hlo.constant.name:
            return not bool(np.any(np.signbit(cast(Dense, node.attrs["value"]).data)))
        if node.name in _SIZES or (node.name == hlo.multiply.name and len(set(node.operands)) == 1):
            return True
        if node.regions:
            kind = combiner(node.regions[0], self.graph) if len(node.operands) == 2 else None
            return kind in ("sum", "max", "min") and self._are_sizes(node.operands, depth)
        if node.name in _PARTS or node.name == self.same:
            return self.is_size(node.operands[0], depth - 1)
        if node.name == hlo.select.name:
            return self._are_sizes(node.operands[1:], depth)
        return node.name in _OF_SIZES and self._are_sizes(node.operands, depth)

    def _are_sizes(self, values: Sequence[int], depth: int) -> bool:
        return all(self.is_size(value, depth - 1) for value in values)

    def _by_no_sign(self, node: Node) -> int | None:
        """q of a sum of q where a size is not below zero, and of -q where it is."""
        for above, below in (node.operands, node.operands[::-1]):
            first, negative = self._made(above, hlo.select.name), self._made(below, hlo.negate.name)
            second = None if negative is None else self._made(negative.operands[0], hlo.select.name)
            if first is None or second is None or first.operands[0] != second.operands[0]:
                continue
            test, q, zero = first.operands
            sign, quotient = self._made(test, hlo.compare.name), self._made(q, hlo.divide.name)
            if sign is None or quotient is None or second.operands[2] != q:
                continue
            zeros = [self.splat(value) for value in (zero, second.operands[1], sign.operands[1])]
            if zeros != [0, 0, 0] or sign.attrs["comparison_direction"] != "GE":
                continue
            if self._plain(quotient.operands[1]) == sign.operands[0] and self.is_size(sign.operands[0]):
                return q
        return None

    def _made(self, value: int, name: str) -> Node | None:
        made = self.made.get(self._plain(value))
        return made if made is not None and made.name == name else None

    def _plain(self, value: int) -> int:
        """The value that another one is."""
        made = self.made.get(value)
        while made is not None and made.name == self.same:
            value = made.operands[0]
            made = self.made.get(value)
        return value


_SIZES = {chlo.square.name, hlo.abs_.name, hlo.exponential.name, hlo.logistic.name}
_PARTS = {
    hlo.broadcast_in_dim.name,
    hlo.reshape.name,
    hlo.slice_.name,
    hlo.sqrt.name,
    hlo.transpose.name,
    spmd.all_gather.name,
    spmd.all_reduce.name,
    spmd.vary.name,
}
"""What has sizes where its operand has: elements of it, roots, and sums over devices."""

_OF_SIZES = {hlo.add.name, hlo.divide.name, hlo.multiply.name}
