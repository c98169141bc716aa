"""shardc prog.shard proves a program whose work is small, and says so on standard error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shardc import compilation
from shardc.cli import actions
from shardc.cli.shardc import main
from shardc.graph import Graph, Node, Region
from shardc.ops import spmd
from shardc.proof import default

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
    """A planted fault: the all-reduce of the compiled program takes the maximum."""
    lower = compilation.lower

    def faulty(*arguments: object) -> Graph:
        graph = lower(*arguments)  # pyright: ignore[reportArgumentType]
        for function in graph.functions.values():
            _mutate(function.body)
        return graph

    monkeypatch.setattr(actions, "lower", faulty)
    written = program.with_suffix(".py")
    assert main([str(program), "-o", str(written)]) == 1
    said = capsys.readouterr().err
    assert "prog.shard:3:12: error: the compiled program DIFFERS" in said and "--no-prove" in said
    assert not written.exists()
    assert main([str(program), "-o", str(written), "--no-prove"]) == 0
    assert "pmax" in written.read_text()


def _mutate(region: Region) -> None:
    for place, node in enumerate(region.nodes):
        for inner in node.regions:
            _mutate(inner)
        region.nodes[place] = _by_maximum(node)


def _by_maximum(node: Node) -> Node:
    return replace(node, attrs={**node.attrs, "kind": "max"}) if node.name == spmd.all_reduce.name else node


def test_a_program_of_very_many_operations_is_not_looked_at() -> None:
    assert default.too_many(default.LIMIT // default.OPERATION) is None
    said = default.too_many(default.LIMIT // default.OPERATION + 1)
    assert said is not None
    assert said.startswith("not proved: its work is that of 4,195,000 elements or more, and up to 4,194,304 ")
