"""Facts that the founding documents state, as programs: what each device computes, and what is refused.

Numbers are those that JAX, NumPy or the documents give.
"""

from __future__ import annotations

import numpy as np
import pytest

import shardc
from shardc.explain.diagnostics import ShardcError
from shardc.layout.distribute import Array

Values = list[float] | Array
ONES_AND_UP = np.arange(16.0)
MATRIX = np.arange(144).reshape(12, 12)
ROWS = np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]])


def result(text: str, *inputs: Array) -> Array:
    """What the per-device program gives, on emulated devices."""
    types = {"f64": np.float64, "f32": np.float32, "i32": np.int32}
    dtype = next(types[name] for name in types if name in text)
    return np.asarray(shardc.compile(text, target="numpy").main(*(x.astype(dtype) for x in inputs)))


def on_8(body: str, out: str, given: str = "f64[16@x]") -> str:
    return f"mesh m[x=8]\n@shard_map\ndef main(a: {given}) -> {out}:\n    return {body}\n"


COLLECTIVES: dict[str, tuple[str, Array, Values]] = {
    "pmean": (on_8("pmean(a, x)", "f64[2]"), ONES_AND_UP, [7, 8]),
    "pmax": (on_8("pmax(a, x)", "f64[2]"), ONES_AND_UP, [14, 15]),
    "pmin": (on_8("pmin(a, x)", "f64[2]"), ONES_AND_UP, [0, 1]),
    "all_gather, tiled": (
        on_8("all_gather(a, x, tiled=True)", "f64[128@x]"),
        ONES_AND_UP,
        np.tile(ONES_AND_UP, 8),
    ),
    "all_gather": (
        on_8("all_gather(a, x)", "f64[64@x, 2]"),
        ONES_AND_UP,
        np.tile(ONES_AND_UP.reshape(8, 2), (8, 1)),
    ),
    "ppermute gives zeros to whom nobody sends": (
        on_8("ppermute(a, x, ((0, 3), (1, 2)))", "f64[16@x]"),
        ONES_AND_UP + 1,
        [0, 0, 0, 0, 3, 4, 1, 2, *[0] * 8],
    ),
    "axis_index": (
        on_8("a * 0 + axis_index(x)", "f64[16@x]"),
        ONES_AND_UP,
        np.arange(16) // 2,
    ),
    "a replicated value used by everyone": (
        on_8("a", "f64[24@x]", "f64[3]"),
        np.arange(3),
        np.tile(np.arange(3), 8),
    ),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives(name: str) -> None:
    text, given, expected = COLLECTIVES[name]
    np.testing.assert_array_equal(result(text, given), expected)


MAPS: dict[str, tuple[str, Array, Array]] = {
    "f1: an axis that in_specs leave out": ("f32[12@i, 12]->f32[12@i, 24@j]: a", MATRIX, np.tile(MATRIX, 2)),
    "f2: the same by hand": ("f32[12@i, 24@j]->f32[12@i, 24@j]: a", np.tile(MATRIX, 2), np.tile(MATRIX, 2)),
    "f3: sums over j": (
        "f32[12@i, 12@j]->f32[12@i, 6]: psum(a, j)",
        MATRIX,
        MATRIX[:, :6] + MATRIX[:, 6:],
    ),
    "f4: sums over i": (
        "f32[12@i, 12@j]->f32[3, 12@j]: psum(a, i)",
        MATRIX,
        MATRIX.reshape(4, 3, 12).sum(axis=0),
    ),
    "f5: sums over both": (
        "f32[12@i, 12@j]->f32[3, 6]: psum(a, (i, j))",
        MATRIX,
        MATRIX.reshape(4, 3, 2, 6).sum(axis=(0, 2)),
    ),
    "a tile of a constant": ("f32[1, 1]->f32[4@i, 2@j]: a", np.array([[3]]), np.full((4, 2), 3)),
    "a constant that stays whole": ("f32[1, 1]->f32[1, 1]: a", np.array([[3]]), np.array([[3]])),
    "blocks may change shape": (
        "f32[8@i, 4]->f32[16@i, 4]: transpose(a) @ a",
        np.arange(32).reshape(8, 4),
        np.concatenate([b.T @ b for b in np.split(np.arange(32).reshape(8, 4), 4)]),
    ),
}


@pytest.mark.parametrize("name", MAPS)
def test_specs_of_shard_map(name: str) -> None:
    form, given, expected = MAPS[name]
    types, body = form.split(": ")
    source, target = types.split("->")
    text = f"mesh m[i=4, j=2]\n@shard_map\ndef main(a: {source}) -> {target}:\n    return {body}\n"
    np.testing.assert_array_equal(result(text, given), expected)


def test_the_blocks_of_f5_start_as_printed() -> None:
    assert MAPS["f5: sums over both"][2][0].tolist() == [456, 464, 472, 480, 488, 496]


ERRORS = {
    "a size that does not divide": ("f32[10@i, 4]->f32[10@i, 4]: a", "10"),
    "an axis more than dimensions": ("f32[8@i, @j]->f32[8@i]: a", ""),
    "an output of other rank": ("f32[8@i]->f32[8@i]: sum(a)", "f32[]"),
    "not the same on all of j": ("f32[8@i, 4@j]->f32[8@i, 2]: a", "varies over j"),
    "an unknown axis": ("f32[8@k]->f32[8]: a", "no axis k"),
    "an all_to_all that does not divide": (
        "f32[8@i, 3]->f32[8@i, 3]: all_to_all(a, i, 1, 0, tiled=True)",
        "3",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_shard_map(name: str) -> None:
    form, message = ERRORS[name]
    types, body = form.split(": ")
    source, target = types.split("->")
    text = f"mesh m[i=4, j=2]\n@shard_map\ndef main(a: {source}) -> {target}:\n    return {body}\n"
    with pytest.raises(ShardcError) as error:
        shardc.compile(text)
    assert message in str(error.value)
    assert str(error.value).startswith("<text>:")


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
    np.testing.assert_allclose(result(text, ROWS), expected, rtol=1e-12)


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
