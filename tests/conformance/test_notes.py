"""Facts that the founding documents state, as programs: what each device computes, and what is refused.

Numbers are those that JAX, NumPy or the documents give.
"""

from __future__ import annotations

import numpy as np
import pytest

import shardc
from shardc.layout.distribute import Array
from tests.tolerance import assert_sums

ROWS = np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]])


def result(text: str, *inputs: Array) -> Array:
    """What the per-device program gives, on emulated devices."""
    types = {"f64": np.float64, "f32": np.float32, "i32": np.int32}
    dtype = next(types[name] for name in types if name in text)
    return np.asarray(shardc.compile(text, target="numpy").main(*(x.astype(dtype) for x in inputs)))


REDUCTIONS = {
    "ReduceSum": ("sum(x, axis=1)", ROWS.sum(axis=1)),
    "ReduceProd": ("prod(x, axis=1)", [24, 1680]),
    "ReduceMean": ("mean(x, axis=1)", [2.5, 6.5]),
    "ReduceMax": ("max(x, axis=1)", [4, 8]),
    "ReduceMin": ("min(x, axis=1)", [1, 5]),
    "ReduceL1": ("sum(abs(x), axis=1)", [10, 26]),
    "ReduceL2": ("sqrt(sum(x * x, axis=1))", np.sqrt([30, 174])),
    "ReduceSumSquare": ("sum(square(x), axis=1)", [30, 174]),
    "ReduceLogSum": ("log(sum(x, axis=1))", np.log([10, 26])),
    "ReduceLogSumExp": ("logsumexp(x, axis=1)", np.log(np.exp(ROWS).sum(axis=1))),
    "ArgMax": ("argmax(x, axis=1)", [3, 3]),
    "Relu of a partial sum": ("relu(sum(x - 4, axis=1))", [0, 10]),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("devices", [2, 4])
def test_reductions_over_a_split_dimension(name: str, devices: int) -> None:
    """ONNX's two steps, local then across shards, are wrong if applied without looking."""
    body, expected = REDUCTIONS[name]
    text = f"mesh m[i={devices}]\ndef main(x: f64[2, 4@i]):\n    return {body}\n"
    assert_sums(result(text, ROWS), np.asarray(expected), ROWS.shape[1], 0.0)


def test_a_mean_of_uneven_blocks_is_no_mean_of_means() -> None:
    text = "mesh m[i=2]\ndef main(x: f64[3@i]):\n    return mean(x)\n"
    assert result(text, np.array([1.0, 2, 6])) == 3


def test_the_matmul_of_mindspores_guide() -> None:
    text = (
        "mesh m[dp=2, sp=2, mp=2]\n"
        "def main(x: f64[8@mp, 8@(sp, dp)], w: f64[8@(sp, dp), 4]) -> f64[8@(mp, sp, dp), 4]:\n"
        "    return x @ w\n"
    )
    x, w = np.arange(64.0).reshape(8, 8), (np.arange(32.0) % 7).reshape(8, 4)
    program = shardc.compile(text)
    assert program.source.count("lax.psum_scatter(") == 1
    assert "lax.psum(" not in program.source and "lax.all_gather(" not in program.source
    np.testing.assert_array_equal(result(text, x, w), x @ w)


def test_a_partial_result_goes_through_a_second_product() -> None:
    text = (
        "mesh m[k=2]\n"
        "def main(x: f64[2, 4@k], a: f64[4@k, 2], b: f64[2, 2]) -> f64[2, 2]:\n"
        "    return (x @ a) @ b\n"
    )
    x, a, b = np.arange(8.0).reshape(2, 4), np.arange(8.0).reshape(4, 2), np.array([[1.0, 2], [3, 4]])
    assert result(text, x, a, b).tolist() == [[130, 192], [370, 544]]
    assert shardc.compile(text).source.count("lax.psum(") == 1
