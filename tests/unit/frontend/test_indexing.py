"""Subscripts with tensors, and x.at[…]: against NumPy, and per device against the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shardc
from tests.tolerance import assert_near

RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 5, 4)).astype(np.float32)
ROWS = np.array([[3, -1], [0, 5]], np.int32)
J = np.array([2, -4], np.int32)
K = np.int32(-2)
HEADER = "mesh m[a=2, b=2]\n"
PARAMETERS = "x: f32[6@a, 5, 4@b], i: i32[2, 2], j: i32[2], k: i32[]"

SUBSCRIPTS = [
    "i",
    "i, j",
    "i, :, j",
    ":, j",
    "..., j",
    "j, None, 1:3",
    "1:5:2, j, ::-1",
    "0, :, j",
    ":, 0, j",
    "k, j",
    "j, :, k",
    "None, j, ..., None",
    "[0, 2, 2], 1:3",
    "i, -1",
    "::-2, 1:4, j",
]


def _run(source: str, *args: Any) -> np.ndarray[Any, Any]:
    names: dict[str, Any] = {}
    exec(shardc.compile(source, target="numpy").source, names)
    return np.asarray(names["main"](*args))


def _numpy(subscripts: str) -> Any:
    return eval(f"np.s_[{subscripts}]", {"np": np, "i": ROWS, "j": J, "k": K})


@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
def test_reading(subscripts: str) -> None:
    source = f"{HEADER}def main({PARAMETERS}):\n    return x[{subscripts}]\n"
    np.testing.assert_array_equal(_run(source, X, ROWS, J, K), X[_numpy(subscripts)])


WRITTEN = [*SUBSCRIPTS, "2", "1:3", ":, ::2", "k", "..., -1", ":, 4:0:-2, 1"]
COMBINED = {"set": None, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("how", COMBINED)
@pytest.mark.parametrize("subscripts", WRITTEN)
def test_writing(subscripts: str, how: str) -> None:
    places, expected = _numpy(subscripts), X.copy()
    value = RNG.standard_normal(X[places].shape).astype(np.float32)
    combine = COMBINED[how]
    if combine is None:
        value[...] = 7  # which of two values at one place stays is not said
        expected[places] = value
    else:
        combine.at(expected, places, value)
    shape = ", ".join(map(str, value.shape))
    source = (
        f"{HEADER}def main({PARAMETERS}, v: f32[{shape}]) -> f32[6@a, 5, 4@b]:\n"
        f"    return x.at[{subscripts}].{how}(v)\n"
    )
    assert_near(_run(source, X, ROWS, J, K, value), expected)


def test_out_of_range_is_read_at_the_end_and_not_written() -> None:
    far = np.array([100, 1], np.int32)
    read = "def main(x: f32[6, 5, 4], j: i32[2]):\n    return x[j]\n"
    np.testing.assert_array_equal(_run(read, X, far), X[[5, 1]])
    write = "def main(x: f32[6, 5, 4], j: i32[2]):\n    return x.at[j].set(0)\n"
    expected = X.copy()
    expected[1] = 0
    np.testing.assert_array_equal(_run(write, X, far), expected)


def test_a_statement_makes_a_new_value() -> None:
    source = """\
def main(x: f32[4], y: f32[3]):
    old = x
    for i in range(3) carrying x:
        x[i] = x[i + 1] + y[i]
    x[-1] = 0
    return old, x
"""
    names: dict[str, Any] = {}
    exec(shardc.compile(source, target="numpy").source, names)
    x, y = np.arange(4, dtype=np.float32), np.ones(3, np.float32)
    old, new = names["main"](x, y)
    np.testing.assert_array_equal(old, [0, 1, 2, 3])
    np.testing.assert_array_equal(new, [2, 3, 4, 0])


def test_rows_of_a_split_table_are_looked_up_where_they_are() -> None:
    source = """\
mesh m[a=4]
def main(table: f32[64@a, 8], ids: i32[16]) -> f32[16, 8]:
    return table[ids]
"""
    text = shardc.compile(source).source
    assert "all_gather" not in text and text.count("lax.psum(") == 1


def test_rows_of_a_split_table_are_written_where_they_are() -> None:
    source = """\
mesh m[a=4]
def main(table: f32[64@a, 8], ids: i32[16], v: f32[16, 8]) -> f32[64@a, 8]:
    table[ids] = v
    return table.at[ids, 0].add(1)
"""
    text = shardc.compile(source).source
    assert "all_gather" not in text and "psum" not in text and "ppermute" not in text


def test_statements_that_change_a_value() -> None:
    text = """
def main(x: f32[8, 4], i: i32[3], n: i32[]):
    x += 1
    x *= 2
    x **= 2
    x[i] += 1.0
    x[i, 0] -= 2.0
    x[1:3] *= 3.0
    n //= 2
    x @= 2 * eye(4)
    for k in range(3) carrying n:
        n += k
    return x, n
"""
    x, i, n = np.arange(32, dtype=np.float32).reshape(8, 4), np.array([2, 5, 2], np.int32), np.int32(7)
    expected = ((x + 1) * 2) ** 2
    np.add.at(expected, i, 1.0)
    np.add.at(expected[:, 0], i, -2.0)
    expected[1:3] *= 3
    expected = expected * 2
    changed, count = shardc.compile(text, target="numpy").main(x, i, n)
    assert_near(changed, expected)
    assert count == 6
