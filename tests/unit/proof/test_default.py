"""shardc prog.shard proves a program whose work is small, and says so on standard error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from shardc.cli import actions
from shardc.cli.shardc import main
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph, walk
from shardc.ops import hlo
from shardc.passes.pipeline import run_to
from shardc.proof import default, drawn
from shardc.proof.effort import effort, least, operations
from shardc.proof.prove import Verdict, prove
from shardc.proof.reduced import reduced
from shardc.proof.report import brief
from tests.unit.proof.faults import plant

PROGRAM = """mesh pod[data=2, model=4]
def main(x: f32[8@data, 16@model], w: f32[16@model, 32]) -> f32[8@data, 32]:
    return tanh(x @ w)
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SHARDC_PROVE")
    monkeypatch.setenv("SHARDC_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "prog.shard"
    path.write_text(PROGRAM)
    return path


def test_the_verdict_is_on_standard_error(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(program), "--no-prove"]) == 0
    plain = capsys.readouterr()
    assert not plain.err
    for _ in range(2):  # compiled, and from the cache
        assert main([str(program)]) == 0
        said = capsys.readouterr()
        assert said.out == plain.out
        assert said.err.startswith("proved: equal for all arguments") and said.err.count("\n") == 1
    assert main([str(program), "--emit", "local"]) == 0
    assert not capsys.readouterr().err


def test_the_environment_turns_it_off(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHARDC_PROVE", "off")
    assert main([str(program)]) == 0
    assert not capsys.readouterr().err


def test_what_is_large_is_not_proved(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(default, "LIMIT", 1000)
    assert main([str(program)]) == 0
    assert "not proved: its work is that of" in capsys.readouterr().err


def test_a_wrong_program_is_not_written(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, actions)
    written = program.with_suffix(".py")
    assert main([str(program), "-o", str(written)]) == 1
    said = capsys.readouterr().err
    assert "prog.shard:3:12: error: the compiled program DIFFERS" in said and "--no-prove" in said
    assert not written.exists()
    assert main([str(program), "-o", str(written), "--no-prove"]) == 0
    assert "pmax" in written.read_text()


def test_a_program_of_very_many_operations_is_not_looked_at() -> None:
    assert default.too_many(default.LIMIT // default.FOUND) is None
    said = default.too_many(default.LIMIT // default.FOUND + 1)
    assert said is not None
    assert said.startswith("not proved: its work is that of 4,194,400 elements or more, and up to 4,194,304 ")


def _layers(count: int) -> tuple[Graph, Graph]:
    """Both programs of so many equal layers, written out."""
    lines = "".join(
        f"    x = x + tanh(x @ w{n} @ v{n}) * mean(x, axis=-1, keepdims=True)\n" for n in range(count)
    )
    arguments = ", ".join(f"w{n}: f32[16, 64@m], v{n}: f32[64@m, 16]" for n in range(count))
    text = f"mesh pod[d=2, m=2]\ndef f(x: f32[8@d, 16], {arguments}):\n{lines}    return x\n"
    module = read(text, "test.shard", {}, None)
    whole = snapshot(module.clone()).graph
    run_to(make_context(), module, "local")
    return whole, snapshot(module).graph


def test_the_work_of_equal_layers_counts_once() -> None:
    """What is enough for 12 layers is nearly enough for 24, but for the layers that are not equal."""
    few, many = _layers(12), _layers(24)
    most = sum(map(effort, few))
    assert sum(map(effort, many)) > 1.9 * most
    assert brief(default.proof_of(*many, "--no-prove", most)).startswith("proved")
    assert brief(default.proof_of(*many, "--no-prove", most // 4)).startswith(
        "not proved: its work is that of"
    )


def test_shapes_are_not_reduced_where_operations_alone_are_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, local = _layers(12)
    shapes = reduced(whole, local)
    for full, short in ((whole, shapes.whole), (local, shapes.local)):
        assert 0 < least(full) <= effort(short)
    monkeypatch.setattr("shardc.proof.attempt.reduced", lambda *_, **__: pytest.fail("reduced"))
    said = brief(default.proof_of(whole, local, "--no-prove", 100_000))
    assert said.startswith("not proved: its work is that of") and "elements or more" in said


def test_blocks_that_a_collective_adds_are_work() -> None:
    """Axes of two devices are not shortened: 16,384 blocks are added one by one."""
    axes = [f"a{n}" for n in range(14)]
    mesh = ", ".join(f"{axis}=2" for axis in axes)
    text = f"mesh pod[{mesh}]\ndef f(x: f32[16384@({', '.join(axes)})]):\n    return sum(x)\n"
    module = read(text, "test.shard", {}, None)
    whole = snapshot(module.clone()).graph
    run_to(make_context(), module, "local")
    local = snapshot(module).graph
    said = brief(default.proof_of(whole, local, "--no-prove", default.by_command(operations(whole, local))))
    assert said.startswith("not proved: its work is that of")


TURNS = """mesh m[x=2]
def f(x: f32[4@x, 4]) -> f32[4@x, 4]:
    for i in range(3) carrying x:
        x = tanh(x) + 1.0
    return x
"""


@pytest.mark.parametrize(
    ("most", "said"),
    [
        (0, ["not", "proved", "False", "False"]),
        (63_300, ["not", "proved", "True", "False"]),
        (1 << 18, ["proved", "True", "True"]),
    ],
)
def test_what_reduces_and_what_evaluates_is_imported_where_it_runs(most: int, said: list[str]) -> None:
    text = (
        "import sys, shardc\n"
        "from shardc.proof import default\n"
        "default.LEAST, default.EACH = int(sys.argv[1]), 0\n"
        "said = shardc.compile(sys.stdin.read(), prove=None).proof.partition(':')[0]\n"
        "print(said, *(f'shardc.proof.{name}' in sys.modules for name in ('reduced', 'evaluate')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", text, str(most)],
        input=TURNS,
        env={**os.environ, "SHARDC_PROVE": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == said


def test_what_looks_for_the_reason_of_a_difference_is_imported_where_there_is_one() -> None:
    text = (
        "import sys, shardc\n"
        "print(shardc.compile(sys.stdin.read(), prove=None).proof.partition(':')[0])\n"
        "names = ('failure', 'logarithms', 'refuted')\n"
        "print([name for name in names if f'shardc.proof.{name}' in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", text],
        input="mesh m[d=2]\ndef main(x: f32[8@d, 4]) -> f32[4]:\n    return sum(x, axis=0)\n",
        env={**os.environ, "SHARDC_PROVE": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["proved", "[]"]


def test_bodies_of_loops_count_in_every_turn_before_shapes_are_reduced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = snapshot(read(TURNS, "test.shard", {}, None)).graph
    longer = snapshot(read(TURNS.replace("range(3)", "range(300)"), "test.shard", {}, None)).graph
    assert 90 * least(whole) < least(longer) < 100 * least(whole)
    assert least(whole) <= effort(reduced(whole, whole).whole)
    monkeypatch.setattr("shardc.proof.attempt.reduced", lambda *_, **__: pytest.fail("reduced"))
    assert "elements or more" in brief(default.proof_of(longer, longer, "--no-prove", 1 << 20))


def test_the_work_of_all_draws_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault by which a loop does not end is no reason to go on for long."""
    module = read(TURNS, "test.shard", {}, None)
    whole = snapshot(module.clone()).graph
    run_to(make_context(), module, "local")
    local = snapshot(module).graph
    loop = next(node for node in walk(local.main.body) if node.name == hlo.while_.name)
    condition = loop.regions[0].nodes
    place = next(n for n, node in enumerate(condition) if node.name == hlo.compare.name)
    condition[place] = replace(
        condition[place],
        attrs={**condition[place].attrs, "comparison_direction": "GE"},
        operands=condition[place].operands[:1] * 2,
    )
    proof = prove(whole, local, most=10_000_000)
    assert proof.verdict is Verdict.NOT_PROVED and "turns of the loop" in proof.reason
    monkeypatch.setattr(drawn, "SHORT_TIMES", 1)
    proof = prove(whole, local, most=3_000_000)
    assert proof.verdict is Verdict.NOT_PROVED
    assert proof.reason == "draws of more than 3,000,000 elements in all are beyond the proof"
