"""Regions that pick the larger or the smaller of two (value, index) pairs, as argmax and argmin reduce."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from math import isnan
from typing import Any

from shardc.graph.program import Region
from shardc.ops import hlo

Pair = tuple[float, int]

COMPARES: dict[str, Callable[[Any, Any], bool]] = {
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
    "EQ": operator.eq,
    "NE": operator.ne,
}


def _select(condition: bool, then: int, other: int) -> int:
    return then if condition else other


_LOGIC: dict[str, Callable[..., Any]] = {
    hlo.or_.name: max,
    hlo.and_.name: min,
    hlo.not_.name: operator.not_,
    hlo.select.name: _select,
}

_PAIRS = tuple(product((0, 1, 2), (0, 1)))


def extreme(region: Region) -> str | None:
    """argmax or argmin if the region picks so, of equal values the one with the smaller index; else None.

    Found by trying: a region of comparisons and logic sees no more of its arguments than their order. What
    it makes of NaN is not looked at.
    """
    if len(region.args) != 4 or len(region.results) != 2:
        return None
    tried = [(pairs, _pick(region, *pairs)) for pairs in product(_PAIRS, _PAIRS)]
    for kind, sign in (("argmax", -1), ("argmin", 1)):
        if all(picked == min(pairs, key=lambda pair: (sign * pair[0], pair[1])) for pairs, picked in tried):
            return kind
    return None


def picks_first_nan(region: Region) -> bool:
    """Whether a region that `extreme` knows prefers a NaN to any number, and of two the first."""
    nan = float("nan")
    for i, j in ((0, 1), (1, 0)):
        for first, second in (((nan, i), (0, j)), ((0, i), (nan, j)), ((nan, i), (nan, j))):
            picked = _pick(region, first, second)
            if picked is None or not isnan(picked[0]) or picked[1] != (i if isnan(first[0]) else j):
                return False
    return True


def _pick(region: Region, first: Pair, second: Pair) -> Pair | None:
    """What the region gives for two pairs; None if it does anything but compare and choose."""
    env = dict(zip(region.args, (*first, *second), strict=True))
    for node in region.nodes[:-1]:
        if not env.keys() >= set(node.operands):
            return None
        operands = [env[value] for value in node.operands]
        if node.name == hlo.compare.name:
            env[node.results[0]] = COMPARES[str(node.attrs["comparison_direction"])](*operands)
        elif node.name in _LOGIC:
            env[node.results[0]] = _LOGIC[node.name](*operands)
        else:
            return None
    value, index = (env.get(result, -1) for result in region.results)
    return (value, int(index))
