"""What --run says: both errors against f64, decisions, results that show nothing, references of one's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from shardc.cli.shardc import main
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.interpret.compare import compare
from shardc.interpret.reference import GraphReference
from shardc.ops import spmd
from shardc.passes.pipeline import run_to
from shardc.proof.flat import devices_region

Say = Callable[..., tuple[str, int]]

GPT = """mesh pod[data=2, model=2]

size B = 2, S = 8, D = 32, H = 4, K = 8, F = 64, V = 32, L = 4

def norm(x: f32[B, S, D]) -> f32[B, S, D]:
    centred = x - mean(x, axis=-1, keepdims=True)
    return centred * rsqrt(mean(centred * centred, axis=-1, keepdims=True) + 1e-5)

def attention(
    x: f32[B, S, D], wq: f32[D, H, K], wk: f32[D, H, K], wv: f32[D, H, K], wo: f32[H, K, D]
) -> f32[B, S, D]:
    q = einsum("bsd,dhk->bshk", x, wq)
    k = einsum("bsd,dhk->bshk", x, wk)
    v = einsum("bsd,dhk->bshk", x, wv)
    scores = einsum("bqhk,bshk->bhqs", q, k) * 0.35
    weights = softmax(where(tril(ones((S, S), bool)), scores, -1e9), axis=-1)
    mixed = einsum("bhqs,bshk->bqhk", weights, v)
    return einsum("bqhk,hkd->bqd", mixed, wo)

def main(
    x: f32[B@data, S, D], wq: f32[L, D, H@model, K], wk: f32[L, D, H@model, K], wv: f32[L, D, H@model, K],
    wo: f32[L, H@model, K, D], w1: f32[L, D, F@model], w2: f32[L, F@model, D], unembed: f32[D, V@model],
) -> f32[B@data, S, V]:
    for i in range(L) carrying x:
        x = x + attention(norm(x), wq[i], wk[i], wv[i], wo[i])
        x = x + gelu(norm(x) @ w1[i]) @ w2[i]
    return norm(x) @ unembed
"""
GPT_SHAPES = {
    "x": (2, 8, 32),
    "wq": (4, 32, 4, 8),
    "wk": (4, 32, 4, 8),
    "wv": (4, 32, 4, 8),
    "wo": (4, 4, 8, 32),
    "w1": (4, 32, 64),
    "w2": (4, 64, 32),
    "unembed": (32, 32),
}
RING = """mesh pod[m=4]

@shard_map
def local(q: f32[8@m, 4], k: f32[8@m, 4]) -> f32[8@m, 8]:
    return q @ {keys}.T

def plain(q: f32[8, 4], k: f32[8, 4]) -> f32[8, 8]:
    return q @ k.T
"""


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    monkeypatch.chdir(tmp_path)

    def run(text: str, *arguments: str, **arrays: np.ndarray) -> tuple[str, int]:
        Path("prog.shard").write_text(text)
        if arrays:
            np.savez("in.npz", allow_pickle=False, **arrays)
            arguments = (*arguments, "--inputs", "in.npz")
        code = main(["prog.shard", "--run", *arguments])
        captured = capsys.readouterr()
        return captured.out + captured.err, code

    return run


@pytest.mark.parametrize("seed", range(2))
def test_an_unscaled_gpt_is_right(say: Say, seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in GPT_SHAPES.items()}
    text, code = say(GPT, **arrays)
    assert code == 0 and "one device by" in text and "DIFFERS" not in text


def test_random_weights_are_scaled_by_their_fan_in(say: Say) -> None:
    """Unscaled, a product of eight such matrices has elements of 1e19, and its square is infinite."""
    layers = "\n".join("    x = x @ w" for _ in range(40))
    text, code = say(
        f"mesh pod[m=2]\ndef main(x: f32[4@m, 64], w: f32[64, 64]) -> f32[4@m, 64]:\n{layers}\n    return x\n"
    )
    assert code == 0 and "NaN" not in text and "off by" in text


@pytest.mark.parametrize(
    ("value", "said"), [("x * 0.0", "all 8 elements are 0"), ("log(-1.0 - x * x)", "all 8 elements are NaN")]
)
def test_results_that_show_nothing(say: Say, value: str, said: str) -> None:
    text, code = say(f"mesh pod[m=2]\ndef main(x: f32[8@m]) -> f32[8@m]:\n    return {value}\n")
    assert code == 0 and said in text


def test_results_half_of_which_are_no_numbers(say: Say) -> None:
    x = np.where(np.arange(8) < 5, -1.0, 1.0).astype(np.float32)
    text, code = say("mesh pod[m=2]\ndef main(x: f32[8@m]) -> f32[8@m]:\n    return sqrt(x)\n", x=x)
    assert code == 0 and "5 of 8 elements are NaN or infinite: that shows little" in text


LARGE = """mesh m[x=4]
def f(a: f16[2, 8@x], b: f16[8@x, 2]) -> f16[2, 2]:
    return a @ b
"""


@pytest.mark.parametrize("right", [True, False])
def test_parts_of_sums_that_overflow(right: bool) -> None:
    """120,000 - 100,000: one device sums in f32, the devices' parts are rounded to f16 first."""
    module = read(LARGE, "large.shard", {}, None)
    whole = snapshot(module.clone()).graph
    run_to(make_context(), module, "local")
    local = snapshot(module).graph
    if not right:
        region = devices_region(local)
        assert region is not None
        where = next(n for n, node in enumerate(region.nodes) if node.name == spmd.all_reduce.name)
        region.nodes[where] = replace(region.nodes[where], attrs={**region.nodes[where].attrs, "kind": "max"})
    a = np.full((2, 8), 300.0, np.float16)
    b = np.concatenate([np.full((4, 2), 200.0), np.full((4, 2), -180.0)]).astype(np.float16)
    (found,) = compare(GraphReference(whole), local, [a, b])
    assert not np.isfinite(found.array).any()
    assert found.same == right and ("in f64 the devices have them right" in str(found)) == right


def test_sums_that_overflow(say: Say) -> None:
    """Devices find infinities of both signs, one device infinity; in f64 the sum is 0."""
    x = np.array([[3e38, 3e38, -3e38, -3e38], [1, 2, 3, 4]], np.float32)
    text, code = say("mesh pod[m=2]\ndef main(x: f32[2, 4@m]) -> f32[2]:\n    return sum(x, axis=1)\n", x=x)
    assert code == 0 and "DIFFERS" not in text and "off by inf" not in text
    assert "1 of 2 elements are numbers in f64 that f32 does not hold" in text


def test_elements_that_one_of_them_hides(say: Say) -> None:
    x = np.array([1e9, 1, 2, 3, 4, 5, 6, 7], np.float32)
    text, code = say("mesh pod[m=2]\ndef main(x: f32[8@m]) -> f32[8@m]:\n    return x * x\n", x=x)
    assert code == 0 and "7 of 8 elements are smaller than the error allowed" in text


def test_a_decision_that_falls_otherwise(say: Say) -> None:
    """The sum is 1/2 in f64; in f32 its terms are rounded, so the devices and one device round both ways."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 256)).astype(np.float32)
    x[:, -1] = 0.5 - x[:, :-1].astype(np.float64).sum(1)
    text, code = say(
        "mesh pod[m=8]\ndef main(x: f32[64, 256@m]) -> f32[64]:\n    return round(sum(x, axis=1))\n", x=x
    )
    assert code == 0 and "DIFFERS" not in text
    assert "falls otherwise in f64 in" in text and "line 3" in text


def test_a_decision_that_no_argument_nearby_shows(say: Say) -> None:
    """Next to 1 the last place of x * 1e-3 is lost, so the sum is the same; in another order it is not."""
    body = "(sum(x * 1e-3 + 1.0, 1) - 64.0) * 1e6 > sum(x * 1e3, 1)"
    text, code = say(f"mesh pod[m=4]\ndef main(x: f32[8, 64@m]) -> bool[8]:\n    return {body}\n")
    assert code == 0 and "DIFFERS" not in text
    assert "compare falls otherwise in f64 in" in text


BITS = """module {
  sdy.mesh @mesh = <["m"=8]>
  func.func @main(
    %x: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {}]>}
  ) -> tensor<32xi32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<64x32xf32>, tensor<f32>) -> tensor<32xf32>
    %bits = stablehlo.bitcast_convert %sum : (tensor<32xf32>) -> tensor<32xi32>
    return %bits : tensor<32xi32>
  }
}
"""


def test_bits_of_a_sum_are_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Devices add in another order, so the last bits are others; those of what was given are compared."""
    path = tmp_path / "bits.mlir"
    path.write_text(BITS)
    assert main([str(path), "--run"]) == 0
    said = capsys.readouterr().out
    assert "line 9: bitcast_convert takes other bits in f64 in " in said and "DIFFERS" not in said
    assert "elements not compared" in said
    path.write_text(
        BITS.replace(
            "%sum : (tensor<32xf32>) -> tensor<32xi32>", "%x : (tensor<64x32xf32>) -> tensor<64x32xi32>"
        )
        .replace(") -> tensor<32xi32> {", ") -> tensor<64x32xi32> {")
        .replace("return %bits : tensor<32xi32>", "return %bits : tensor<64x32xi32>")
    )
    assert main([str(path), "--run"]) == 0
    assert "result 0: i32[64, 32], equal" in capsys.readouterr().out


def test_a_function_of_the_program(say: Say) -> None:
    right = RING.format(keys="all_gather(k, m, axis=0, tiled=True)")
    assert say(right, "--entry", "local", "--against", "plain")[1] == 0
    text, code = say(RING.format(keys="concatenate([k, k, k, k], axis=0)"), "--entry", "local")
    assert code == 0 and "nothing to compare it with" in text and "equal" not in text
    text, code = say(
        RING.format(keys="concatenate([k, k, k, k], axis=0)"), "--entry", "local", "--against", "plain"
    )
    assert code == 1 and "48 of" not in text and "DIFFERS" in text


WRONG = """mesh pod[m=4]

@shard_map
def local(x: {type}[8@m]) -> {result}:
    return {local}

def plain(x: {type}[8]) -> {result}:
    return {plain}
"""


@pytest.mark.parametrize(
    ("type", "result", "local", "plain"),
    [
        ("i32", "i32[]", "psum(sum(x), m)", "sum(x * x)"),  # a number: no shape to index
        ("c64", "c64[8@m]", "conj(x)", "x"),  # which are one where the imaginary parts are 0
    ],
)
def test_wrong_results_of_other_dtypes(say: Say, type: str, result: str, local: str, plain: str) -> None:
    program = WRONG.format(type=type, result=result, local=local, plain=plain)
    text, code = say(program, "--entry", "local", "--against", "plain")
    assert code == 1 and "DIFFERS" in text


@pytest.mark.parametrize("module", ["numpy", "jax.numpy"])
def test_a_function_of_python(say: Say, module: str) -> None:
    Path("plain.py").write_text(
        f"import {module} as np\n\ndef good(q, k):\n    return np.matmul(q, k.T)\n\n"
        "def bad(q, k):\n    return np.matmul(q, k[::-1].T)\n\ndef small(q, k):\n    return q\n"
    )
    program = RING.format(keys="all_gather(k, m, axis=0, tiled=True)")
    text, code = say(program, "--entry", "local", "--against", "plain.py:good")
    assert code == 0 and "off by" in text
    assert say(program, "--entry", "local", "--against", "plain.py:bad")[1] == 1
    text, code = say(program, "--entry", "local", "--against", "plain.py:small")
    assert code == 1 and "gives arrays of shapes [(8, 4)]" in text
    text, code = say(program, "--entry", "local", "--against", "plain.py:none")
    assert code == 1 and "has no function none" in text
    text, code = say(program, "--entry", "local", "--against", "other.py:none")
    assert code == 1 and "no Python file other.py" in text
