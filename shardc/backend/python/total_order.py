"""The total order of floats, -NaN < -inf < … < -0 < 0 < … < NaN, and values in which it is the usual one: JAX
makes zeros equal, and NaNs, before it compares or sorts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from shardc.graph import Graph, Node, walk
from shardc.graph.attrs import Dense
from shardc.ops import hlo

Test = Callable[[Any], bool]


def makers(graph: Graph) -> dict[int, Node]:
    """What makes each value of a program."""
    nodes = (node for function in graph.functions.values() for node in walk(function.body))
    return {value: node for node in nodes for value in node.results}


class Canonical(Struct, frozen=True):
    """Finds select(y != y, NaN, y), where y is select(x == 0, 0, x); the first two may be x as well."""

    made: Mapping[int, Node]

    def source(self, value: int) -> int | None:
        """The x that a value is, with equal zeros and equal NaNs; None if it is no such thing."""
        numbers = self._chosen(value, "NE", _is_nan)
        zeros = None if numbers is None else self._chosen(numbers[1], "EQ", _is_zero)
        if numbers is None or zeros is None:
            return None
        tested, other, itself = numbers
        one, kept, zero = zeros
        same = tested == itself and tested in (kept, other) and one == kept
        return kept if same and self._constant(zero, _is_zero) else None

    def _chosen(self, value: int, direction: str, known: Test) -> tuple[int, int, int] | None:
        """select(a ? b, constant, c), as a, c and b."""
        node = self.made.get(value)
        if node is None or node.name != hlo.select.name or not self._constant(node.operands[1], known):
            return None
        test = self.made.get(node.operands[0])
        if test is None or test.name != hlo.compare.name:
            return None
        if test.attrs["comparison_direction"] != direction:
            return None
        if test.attrs.get("compare_type") == "TOTALORDER":
            return None
        return test.operands[0], node.operands[2], test.operands[1]

    def _constant(self, value: int, known: Test) -> bool:
        node = self.made.get(value)
        if node is not None and node.name == hlo.broadcast_in_dim.name:
            return self._constant(node.operands[0], known)
        held = node.attrs["value"] if node is not None and node.name == hlo.constant.name else None
        return isinstance(held, Dense) and held.is_splat and known(np.asarray(held.data))


def nans_come_first(dtype: np.dtype[Any]) -> bool:
    """Whether NaN has a sign in a type of floats, as in those of 8 bits that have it in the place of -0."""
    return bool(np.signbit(np.asarray(np.nan, dtype).astype(np.float64)))


def _is_nan(element: Any) -> bool:
    """Whether it is the NaN that JAX writes."""
    if not np.isnan(element):
        return False
    return bool(np.signbit(element.astype(np.float64))) == nans_come_first(element.dtype)


def _is_zero(element: Any) -> bool:
    return bool(element == 0)
