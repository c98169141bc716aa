"""The founding document on shard_map: its eleven code fragments, and every case noted while trying it in JAX.

FRAGMENTS has the fragments in order, as programs with the values that the document states. NOTES has the
cases, by their names in the conformance file: as programs with JAX's values, as wrong programs with what our
text must name, or why they do not apply to a language without tracing and gradients.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.passes.pipeline import run_to

Array = np.ndarray[Any, np.dtype[Any]]

ROOT = Path(__file__).parents[2]
CASES = ROOT.parent / "shared/conformance/seed_cases.json"
EXAMPLES = ROOT / "examples"

X = np.arange(144.0).reshape(12, 12)
A, B = np.arange(128.0).reshape(8, 16), np.arange(512.0).reshape(16, 32)
UP = np.arange(16.0)
THREE = np.array([[3.0]])


def grid(signature: str, *body: str) -> str:
    """A function of the document's mesh."""
    lines = "\n    ".join(body)
    return f"mesh m[i=4, j=2]\n@shard_map\ndef main{signature}:\n    {lines}\n"


def line(n: int, signature: str, *body: str, axis: str = "i") -> str:
    """A function of a mesh with one axis."""
    return grid(signature, *body).replace("m[i=4, j=2]", f"m[{axis}={n}]")


def result(text: str, *inputs: Array) -> Array:
    """What the per-device program gives on emulated devices."""
    dtype = {"f64": np.float64, "f32": np.float32}[re.findall(r"f64|f32", text)[0]]
    return np.asarray(shardc.compile(text, target="numpy").main(*(x.astype(dtype) for x in inputs)))


def blocks(text: str) -> list[str]:
    """The types of the blocks that the body sees."""
    with collecting():
        module = read(text, "p.shard")
        run_to(make_context(), module, "local")
    graph = snapshot(module).graph
    manual = next(node for node in graph.main.body.nodes if node.name == "sdy.manual_computation")
    return [str(type) for type in graph.types(manual.regions[0].args)]


def block_of_law(block: Array) -> Array:
    """f: [2, 5] -> [3, 7] of the rank-preserving law."""
    return np.ones((3, 2)) @ block @ np.arange(35.0).reshape(5, 7)


F1 = grid("(x: f32[12@i, 12]) -> f32[12@i, 24@j]", "return x")
F2 = grid("(x: f32[12@i, 24@j]) -> f32[12@i, 24@j]", "return x")
F3 = grid("(x: f32[12@i, 12@j]) -> f32[12@i, 6]", "return psum(x, j)")
F4 = grid("(x: f32[12@i, 12@j]) -> f32[3, 12@j]", "return psum(x, i)")
F5 = grid("(x: f32[12@i, 12@j]) -> f32[3, 6]", "return psum(x, (i, j))")

Fragment = tuple[str, tuple[Array, ...], Array, list[str]]
"""A program, its arguments, its result, and the blocks that its body sees."""

FRAGMENTS: dict[str, list[Fragment]] = {
    "1 matmul_basic": [
        (
            (EXAMPLES / "matmul_basic/matmul_basic.shard").read_text(),
            (A, B),
            A @ B,
            ["f32[2, 8]", "f32[8, 32]"],
        )
    ],
    "2 matmul_reduce_scatter": [
        (
            (EXAMPLES / "matmul_reduce_scatter/matmul_reduce_scatter.shard").read_text(),
            (A, B),
            A @ B,
            ["f32[2, 8]", "f32[8, 32]"],
        )
    ],
    "3 a map that drops an axis: stack": [
        (
            line(
                8,
                "(xs: f32[8@i, 5]) -> f32[8@i, 3, 5]",
                "x = xs[0]",
                "return expand_dims(tile(x, (3, 1)), 0)",
            ),
            (np.arange(40.0).reshape(8, 5),),
            np.stack([np.tile(x, (3, 1)) for x in np.arange(40.0).reshape(8, 5)]),
            ["f32[1, 5]"],
        )
    ],
    "4 a map that keeps rank: concatenate": [
        (
            line(
                4,
                "(y: f32[8@i, 5], w: f32[5, 7]) -> f32[12@i, 7]",
                "return ones((3, 2), dtype=f32) @ y @ w",
            ),
            (np.arange(40.0).reshape(8, 5), np.arange(35.0).reshape(5, 7)),
            np.concatenate([block_of_law(b) for b in np.split(np.arange(40.0).reshape(8, 5), 4)]),
            ["f32[2, 5]", "f32[5, 7]"],
        )
    ],
    "5 f1": [(F1, (X,), np.tile(X, (1, 2)), ["f32[3, 12]"])],
    "6 f2, by rows too": [
        (F2, (np.tile(X, (1, 2)),), np.tile(X, (1, 2)), ["f32[3, 12]"]),
        (
            grid("(x: f32[24@(j, i), 12]) -> f32[12@i, 24@j]", "return x"),
            (np.tile(X, (2, 1)),),
            np.tile(X, (1, 2)),
            ["f32[3, 12]"],
        ),
    ],
    "7 closures": [
        (grid(f"(x: f32[1, 1]) -> f32[{out}]", "return x"), (THREE,), np.full(shape, 3.0), ["f32[1, 1]"])
        for out, shape in (("4@i, 2@j", (4, 2)), ("4@i, 1", (4, 1)), ("1, 1", (1, 1)))
    ]
    + [(grid("() -> f32[4@i, 2@j]", "return full((1, 1), 3.0, dtype=f32)"), (), np.full((4, 2), 3.0), [])],
    "8 f3": [(F3, (X,), X[:, :6] + X[:, 6:], ["f32[3, 6]"])],
    "9 f4 and f5": [
        (F4, (X,), X.reshape(4, 3, 12).sum(axis=0), ["f32[3, 6]"]),
        (F5, (X,), X.reshape(4, 3, 2, 6).sum(axis=(0, 2)), ["f32[3, 6]"]),
    ],
    "10 the shapes of blocks: size // axis size": [
        (
            grid("(x: f32[16@(j, i), 6], y: f32[4, 2@j], z: f32[8@i]) -> f32[16@(j, i), 6]", "return x"),
            (np.arange(96.0).reshape(16, 6), np.zeros((4, 2)), np.zeros(8)),
            np.arange(96.0).reshape(16, 6),
            ["f32[2, 6]", "f32[4, 1]", "f32[2]"],
        )
    ],
}
"""The eleventh is the transformer layer with 2D weight gathering: examples/weight_gathering."""


@pytest.mark.parametrize("name", FRAGMENTS)
def test_fragment(name: str) -> None:
    for text, inputs, expected, seen in FRAGMENTS[name]:
        np.testing.assert_array_equal(result(text, *inputs), expected.astype(np.float32))
        assert blocks(text) == seen


def test_the_eleventh_fragment_is_an_example() -> None:
    """Automatic code with constraints, and a projection by hand; test_examples runs it."""
    text = (EXAMPLES / "weight_gathering/weight_gathering.shard").read_text()
    assert "@shard_map\ndef matmul_reduce_scatter" in text


Values = tuple[str, tuple[Array, ...], Array]
"""A program, its arguments, and what JAX gives."""

Refused = tuple[str, tuple[str, ...]]
"""A wrong program, and what the text must name: argument, axis, fix."""

Check = Callable[[], None]


def on_8(out: str, body: str, given: str = "f64[16@x]") -> str:
    return line(8, f"(a: {given}) -> {out}", f"return {body}", axis="x")


def claims(text: str) -> Check:
    """JAX with check_vma=False believes a wrong claim; here there is no way past the check."""

    def check() -> None:
        with pytest.raises(ShardcError, match="varies over x"):
            shardc.compile(text)

    return check


def eager() -> None:
    """The NumPy target runs one operation after the other on real blocks; see tests/e2e/test_debugging.py."""
    program = shardc.compile(F3, target="numpy")
    seen: list[tuple[int, ...]] = []

    class Comm:
        def psum(self, x: Array, axis: str) -> Array:
            seen.append(x.shape)
            return x

    program.device_main(Comm(), np.ones((3, 6), np.float32))
    assert seen == [(3, 6)]


Y8 = np.arange(32.0).reshape(8, 4)
NO_GRADIENTS = "the language has no gradients: JAX takes them, before the program comes here"
CARRY = (
    "(a: f32[8@i], b: f32[2]) -> (f32[8@i], f32[2])",
    "for k in range(3) carrying a, b:",
    "    c = a",
    "    a = b",
    "    b = c",
    "return a, b",
)

NOTES: dict[str, Values | Refused | Check | str] = {
    "f2: tile equivalence": (F2.replace("f32", "f64"), (np.tile(X, (1, 2)),), np.tile(X, (1, 2))),
    "f2 alternative: tile rows, P((j,i),None)": (
        FRAGMENTS["6 f2, by rows too"][1][0],
        (np.tile(X, (2, 1)),),
        np.tile(X, (1, 2)),
    ),
    "f3": (F3, (X,), X[:, :6] + X[:, 6:]),
    "f4": (F4, (X,), X.reshape(4, 3, 12).sum(axis=0)),
    "closure constant, out P(None, None)": (
        grid("(x: f32[1, 1]) -> f32[1, 1]", "return x"),
        (THREE,),
        THREE,
    ),
    "rank-preserving law: f32[8,5], f: [2,5]->[3,7]": FRAGMENTS["4 a map that keeps rank: concatenate"][0][
        :3
    ],
    "check_shmap x.T@x": (
        line(4, "(x: f32[8@i, 4]) -> f32[16@i, 4]", "return x.T @ x"),
        (Y8,),
        np.concatenate([b.T @ b for b in np.split(Y8, 4)]),
    ),
    "collective pmean": (on_8("f64[2]", "pmean(a, x)"), (UP,), np.array([7, 8])),
    "collective pmax": (on_8("f64[2]", "pmax(a, x)"), (UP,), np.array([14, 15])),
    "collective pmin": (on_8("f64[2]", "pmin(a, x)"), (UP,), np.array([0, 1])),
    "collective all_gather tiled": (
        on_8("f64[128@x]", "all_gather(a, x, tiled=True)"),
        (UP,),
        np.tile(UP, 8),
    ),
    "collective all_gather untiled": (
        on_8("f64[64@x, 2]", "all_gather(a, x)"),
        (UP,),
        np.tile(UP.reshape(8, 2), (8, 1)),
    ),
    "collective ppermute partial: missing destinations get zeros": (
        on_8("f64[16@x]", "ppermute(a, x, ((0, 3), (1, 2)))"),
        (UP + 1,),
        np.array([0, 0, 0, 0, 3, 4, 1, 2, *[0] * 8]),
    ),
    "collective axis_index": (on_8("f64[16@x]", "a * 0 + axis_index(x)"), (UP,), np.arange(16) // 2),
    "collective pcast to varying": (
        on_8("f64[24@x]", 'pcast(a, x, to="varying")', "f64[3]"),
        (np.arange(3.0),),
        np.tile(np.arange(3.0), 8),
    ),
    "vjp psum -> pvary": NO_GRADIENTS,
    "vjp all_gather -> psum_scatter": NO_GRADIENTS,
    "vjp psum_scatter -> all_gather": NO_GRADIENTS,
    "vjp all_to_all -> all_to_all(swapped)": NO_GRADIENTS,
    "vjp ppermute -> inverse ppermute": NO_GRADIENTS,
    "vjp replicated input, varying use -> psum": NO_GRADIENTS,
    "JEP17111 ex.1: backward has pvary, one psum only (the forward one)": NO_GRADIENTS,
    "error: axis 0 of size 10 over mesh axis i=4": (
        grid("(q: f32[10@i, 4]) -> f32[10@i, 4]", "return q"),
        ("parameter q", "i (4 devices) does not divide dimension 0 of f32[10, 4]", "pad the dimension to 12"),
    ),
    "error: spec longer than rank": (
        grid("(q: f32[8@i, @j]) -> f32[8@i]", "return q"),
        ('found "@"', "a dimension's size stands before its axes: 16@j"),
    ),
    "error: out spec longer than output rank": (
        grid("(q: f32[8@i]) -> f32[8@i]", "return sum(q)"),
        ("the result of main is f32[]", "the block of f32[8@i]", "reshape the block, or psum it"),
    ),
    "error: unmentioned varying axis in out_specs": (
        grid("(a: f32[8@i, 4@j]) -> f32[8@i, 2]", "return a"),
        ("the result, f32[8@i, 2]", "a: f32[2, 2]{varies: i, j} varies over j", "psum over j first", "`4@j`"),
    ),
    "error: unmentioned varying axis, single-axis mesh": (
        on_8("f64[1]", "a", "f64[8@x]"),
        ("the result, f64[1]", "a: f64[1]{varies: x} varies over x", "psum over x first", "`8@x`"),
    ),
    "error: unknown mesh axis in in_specs": (
        grid("(a: f32[8@k]) -> f32[8@i]", "return a"),
        ("parameter a", "no axis k", "the axes of m are i, j"),
    ),
    "error: in_specs=None": "no error in JAX, and no program here: a type without axes is the spec",
    "error: non-PartitionSpec leaf": (
        grid("(a: f32[8@'i']) -> f32[8@i]", "return a"),
        ("found 'i'", "names are written without quotes"),
    ),
    "error: no mesh in context": (
        "@shard_map\ndef main(a: f32[8]) -> f32[8]:\n    return a\n",
        ("@shard_map without a mesh", "declare one: mesh pod[data=2, model=4]"),
    ),
    "error: all_to_all tiled not divisible": (
        on_8("f64[8@x, 3]", "all_to_all(a, x, 1, 0, tiled=True)", "f64[8@x, 3]"),
        ("all_to_all over x", "dimension 1 of a: f64[1, 3] into 8 parts", "pad this one to 8"),
    ),
    "error: scan carry vma mismatch": (
        grid(*CARRY),
        ("result 1, f32[2], is the same over i", "b: f32[2]{varies: i}", "psum over i first", "`8@i`"),
    ),
    "in_specs=None means static, not an error": (
        grid("(x: f32[4]) -> f32[16@i]", "return x"),
        (np.arange(4.0),),
        np.tile(np.arange(4.0), 4),
    ),
    "eager: the body runs without jit on a tracer carrying real values": eager,
    "smap: one axis at a time": "shard_map with axes=(i,) says the same; smap's in_axes count dimensions",
    "check_vma=False: wrong replication claim is silent": claims(on_8("f64[1]", "a", "f64[8@x]")),
}


@pytest.mark.parametrize("name", NOTES)
def test_note(name: str) -> None:
    match NOTES[name]:
        case str():
            pass
        case (str() as text, tuple() as needed):
            with pytest.raises(ShardcError) as caught:
                shardc.compile(text)
            told = str(caught.value)
            assert told.startswith("<text>:") and "^" in told
            assert [words for words in needed if words not in told] == [], told
        case (str() as text, tuple() as inputs, expected):
            np.testing.assert_array_equal(result(text, *inputs), expected)
        case check:
            check()


@pytest.mark.skipif(not CASES.is_file(), reason="the noted cases are not beside this repository")
def test_every_note_is_here() -> None:
    noted = [case for case in json.loads(CASES.read_text()) if case["seed"] == "jax.shard_map"]
    kinds = [case["case"] for case in noted if case["kind"] == "note"]
    assert [name for name in kinds if name not in NOTES] == []
    for case in noted:
        here = NOTES[case["case"]]
        if isinstance(here, tuple) and len(here) == 3 and "value" in case["expected"]:
            np.testing.assert_array_equal(here[2], np.array(case["expected"]["value"]))
