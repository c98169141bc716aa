"""print and breakpoint: the same blocks in every way of running a program, and nothing else changes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import shardc
from shardc.cli.shardc import main
from shardc.compilation import lower
from shardc.diagnostics import ShardcError
from shardc.explain.shown import shower
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.interpret.run import run
from shardc.options import Options
from tests.tolerance import assert_near

PROGRAM = """mesh m[i=4, j=2] devices [7, 6, 5, 4, 3, 2, 1, 0]

def dead(x: f32[8, 6]):
    print("dead", x, device=5)
    return x + 1

def main(x: f32[8@i, 6], w: f32[6, 16@j], n: i32[]):
    h = x
    for k in range(3) carrying h:
        h = tanh(h)
        print("turn", k, h)
    for a in w carrying h:
        print("row", a, device=6)
        h = h + sum(a)
    t = dead(x)
    s = sum(x)
    print("total", s)
    print("w", w, device=3)
    print("a {brace} and a \\ in it's label", n)
    while n < 20 carrying n:
        n = 3 * n + 1
        breakpoint(n)
    return h, x @ w
"""
PLAIN = "\n".join(line for line in PROGRAM.split("\n") if "print(" not in line and "breakpoint(" not in line)

BRANCHES = """mesh m[i=4]

@per_device
def odd(x: f32[3]):
    print("odd", x, device=3)
    return x + 1

@per_device
def even(x: f32[3]):
    print("even", x, device=3)
    print("even", x, device=2)
    return x + 2

@shard_map
def main(x: f32[12@i]) -> f32[12@i]:
    jax.debug.print("x: {} and {y}", x, y=x + 1)
    k = axis_index(i)
    y = cond(k % 2 == 1, odd, even, x)
    while (k < 4) carrying k, y:
        y = y * 2
        k = k + 1
        print("k", k, device=1)
    return y
"""


def arguments() -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [
        rng.standard_normal((8, 6)).astype(np.float32),
        rng.standard_normal((6, 16)).astype(np.float32),
        np.array(2, np.int32),
    ]


def local_of(program: str) -> Graph:
    """What each device runs."""
    return lower(read(program, "p.shard"), Options())


def emulated(program: str, arrays: list[np.ndarray]) -> list[str]:
    said: list[str] = []
    local = local_of(program)
    run(local, arrays, show=shower(local, said.append))
    return said


def numpy_printed(program: str, arrays: list[np.ndarray], capfd: pytest.CaptureFixture[str]) -> str:
    compiled = shardc.compile(program, target="numpy")
    capfd.readouterr()
    compiled.main(*arrays)
    return capfd.readouterr().out


def test_what_is_shown() -> None:
    x, w, n = arguments()
    said = emulated(PROGRAM, [x, w, n])
    h = x
    expected: list[str] = []
    for turn in range(3):
        h = np.tanh(h)
        expected.append(f"turn on device 0, i32[]: {turn}")
        expected.append(f"h on device 0, f32[2, 6] of f32[8@i, 6]:\n{h[6:]}")
    expected += [f"row on device 6, f32[8] of f32[16@j]:\n{row[8:]}" for row in w]
    expected.append(f"dead on device 5, f32[2, 6] of f32[8@i, 6]:\n{x[2:4]}")
    assert said[: len(expected)] == expected
    total, *rest = said[len(expected) :]
    assert total.startswith("total on device 0, f32[]: ")
    assert_near(np.float32(total.split()[-1]), x.sum(), terms=x.size)
    assert rest == [
        f"w on device 3, f32[6, 8] of f32[6, 16@j]:\n{w[:, :8]}",
        "a {brace} and a \\ in it's label on device 0, i32[]: 2",
        "n on device 0, i32[]: 7",
        "n on device 0, i32[]: 22",
    ]


@pytest.mark.parametrize("program", [PROGRAM, BRANCHES], ids=["loops", "branches"])
def test_emitted_numpy_shows_the_same(program: str, capfd: pytest.CaptureFixture[str]) -> None:
    arrays = arguments() if program is PROGRAM else [np.arange(12, dtype=np.float32)]
    said = emulated(program, arrays)
    printed = numpy_printed(program, arrays, capfd)
    assert sorted(printed.splitlines()) == sorted("\n".join(said).splitlines())


@pytest.mark.parametrize("program", [PROGRAM, BRANCHES], ids=["loops", "branches"])
def test_emitted_jax_shows_the_same(program: str, capfd: pytest.CaptureFixture[str]) -> None:
    """In an order of its own, and with round brackets in labels."""
    import jax

    arrays = arguments() if program is PROGRAM else [np.arange(12, dtype=np.float32)]
    said = [text.replace("{", "(").replace("}", ")") for text in emulated(program, arrays)]
    compiled = shardc.compile(program)
    capfd.readouterr()
    jax.block_until_ready(compiled.main(*arrays))
    jax.effects_barrier()
    headings = [line for line in capfd.readouterr().out.splitlines() if " on device " in line]
    expected = [text.partition("\n")[0] for text in said]
    assert sorted(line.partition(": ")[0] for line in headings) == sorted(
        line.partition(": ")[0] for line in expected
    )


def test_a_branch_that_a_device_does_not_take_shows_nothing_of_it() -> None:
    said = emulated(BRANCHES, [np.arange(12, dtype=np.float32)])
    assert [text.partition(",")[0] for text in said] == [
        "x on device 0",
        "and on device 0",
        "odd on device 3",
        "even on device 2",
        *["k on device 1"] * 3,
    ]


def test_results_and_collectives_are_those_without_prints() -> None:
    arrays = arguments()
    shown, plain = (shardc.compile(text, target="numpy") for text in (PROGRAM, PLAIN))
    for one, other in zip(shown.main(*arrays), plain.main(*arrays), strict=True):
        np.testing.assert_array_equal(one, other)
    # The total that is printed is one sum more.
    assert shown.source.count("comm.psum(") == plain.source.count("comm.psum(") + 1


def test_a_breakpoint_asks() -> None:
    program = "mesh m[i=2]\n\ndef main(x: f32[4@i]):\n    breakpoint(x)\n    return x + 1\n"
    local = local_of(program)
    said: list[str] = []
    answers = iter(["1", "9", "no", ""])
    x = np.arange(4, dtype=np.float32)
    run(local, [x], show=shower(local, said.append, lambda question: next(answers)))
    assert said == [
        "x on device 0, f32[2] of f32[4@i]:\n[0. 1.]",
        "x on device 1, f32[2] of f32[4@i]:\n[2. 3.]",
        "the devices are 0, 1",
        "the devices are 0, 1",
    ]
    with pytest.raises(ShardcError, match="ended at this breakpoint"):
        run(local, [x], show=shower(local, said.append, lambda question: "q"))


def test_without_a_terminal_nothing_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.shard"
    path.write_text("mesh m[i=2]\n\ndef main(x: f32[4@i]):\n    breakpoint(x)\n    return x + 1\n")
    monkeypatch.setattr(sys, "stdin", open("/dev/null"))  # noqa: SIM115
    assert main([str(path), "--run"]) == 0
    assert "x on device 0, f32[2] of f32[4@i]:" in capsys.readouterr().out
