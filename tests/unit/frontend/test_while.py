"""while COND carrying …: against the same loop in Python."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import shardc

LOOP = """\
def main(a: f32[6], limit: i32[]):
    n, s = 0, 0.0
    while (n < limit) & (s < 20) carrying n, s:
        s = s + a[n]
        m = 0
        while m < n carrying m, s:
            s = s + 1
            m = m + 2
        n = n + 1
    return n, s
"""


@pytest.mark.parametrize("limit", [0, 1, 4, 6])
@pytest.mark.parametrize("target", ["numpy", "jax"])
def test_nested_loops(limit: int, target: Literal["numpy", "jax"]) -> None:
    a = np.arange(6, dtype=np.float32) * 3
    n, total = 0, 0.0
    while n < limit and total < 20:
        total += a[n] + (n + 1) // 2
        n += 1
    names: dict[str, object] = {}
    exec(shardc.compile(LOOP, target=target).source, names)
    found = names["main"](a, np.int32(limit))  # pyright: ignore[reportCallIssue, reportUnknownVariableType]
    assert [float(x) for x in found] == [n, total]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def test_a_loop_in_a_loop_over_layers() -> None:
    """The inner loop reads what the outer one binds, and carries what it carries."""
    source = """\
def main(ws: f32[3, 4], x: f32[4]):
    for w in ws carrying x:
        k = 0
        while k < 3 carrying k, x:
            x = x * 0.5 + w
            k = k + 1
    return x
"""
    names: dict[str, object] = {}
    exec(shardc.compile(source, target="numpy").source, names)
    ws, x = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones(4, np.float32)
    expected = x
    for w in ws:
        for _ in range(3):
            expected = expected * np.float32(0.5) + w
    np.testing.assert_array_equal(names["main"](ws, x), expected)  # pyright: ignore[reportCallIssue, reportUnknownArgumentType]
