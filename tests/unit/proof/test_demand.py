"""shardc.compile(…, prove=True)."""

from __future__ import annotations

from dataclasses import replace

import pytest

import shardc
from shardc import compilation
from shardc.diagnostics import ShardcError
from shardc.graph import Graph, Node, Region
from shardc.ops import spmd

PROGRAM = """mesh pod[data=2, model=4]
def main(x: f32[8@data, 16@model], w: f32[16@model, 32]) -> f32[8@data, 32]:
    h = x @ w
    return tanh(h)
"""


def test_a_right_program_compiles_as_without() -> None:
    proved = shardc.compile(PROGRAM, prove=True)
    assert proved == shardc.compile(PROGRAM) and not proved.warnings


def test_a_wrong_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: the all-reduce of the compiled program takes the maximum."""
    lower = compilation.lower

    def faulty(*arguments: object) -> Graph:
        graph = lower(*arguments)  # pyright: ignore[reportArgumentType]
        for function in graph.functions.values():
            _mutate(function.body)
        return graph

    monkeypatch.setattr(compilation, "lower", faulty)
    with pytest.raises(ShardcError) as caught:
        shardc.compile(PROGRAM, prove=True)
    text = str(caught.value)
    assert "<text>:4:" in text and "return tanh(h)" in text
    assert "DIFFERS" in text and "result 0, element [0, 0]" in text
    assert "wrong: stablehlo.tanh at <text>:4:" in text and "from: spmd.all_reduce at <text>:3:" in text


def _mutate(region: Region) -> None:
    region.nodes[:] = [_by_maximum(node) for node in region.nodes]


def _by_maximum(node: Node) -> Node:
    for inner in node.regions:
        _mutate(inner)
    return replace(node, attrs={**node.attrs, "kind": "max"}) if node.name == spmd.all_reduce.name else node


def test_what_is_not_proved_is_a_warning() -> None:
    program = shardc.compile(
        "mesh m[x=2]\n@shard_map\ndef f(a: f32[4@x]) -> f32[4@x]:\n    return tanh(a)\n", prove=True
    )
    (warning,) = program.warnings
    assert "not proved: the program is per-device code" in warning.message
