"""What is said to remove a collective does: written into the program's text, the collective is gone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shardc
from shardc.report.cost import Cost
from shardc.report.traffic import Collective, Removal

ROOT = Path(__file__).parents[3]
MESH = "mesh pod[data=2, model=4]\n"

PROGRAMS = {
    "a partial result": "def f(x: f32[16, 32@model], w: f32[32@model, 8]) -> f32[16, 8]:\n    return x @ w\n",
    "a dimension that moves": "def f(x: f32[16@data, 32]) -> f32[16, 32@data]:\n    return tanh(x)\n",
    "an argument": "def f(x: f32[16@model, 32], y: f32[16, 32]) -> f32[16, 32] replicated:\n"
    "    return x + y\n",
    "two operands": "def f(x: f32[16@data, 32], y: f32[16, 32@data]) -> f32[16@data, 32]:\n"
    "    return x * y\n",
    "a maximum": "def f(x: f32[16, 32@model]) -> f32[16]:\n    return max(x, axis=1)\n",
}
EXAMPLES = ("megatron_mlp", "layers", "expand_repeat", "matmul_reduce_scatter")


def texts() -> Iterator[tuple[str, str]]:
    for name, text in PROGRAMS.items():
        yield name, MESH + text
    for name in EXAMPLES:
        yield name, (ROOT / "examples" / name / f"{name}.shard").read_text("utf-8")


def rewritten(text: str, removal: Removal) -> str:
    """The text with the annotation of a parameter or of the result replaced, in the last function."""
    kind, _, name = removal.what.partition(" ")
    start = text.rindex("def ")
    head, body = text[:start], text[start:]
    if kind == "argument":
        changed, count = re.subn(rf"\b{name}: \w+\[[^\]]*\]", f"{name}: {removal.annotation}", body, count=1)
    else:
        changed, count = re.subn(r"-> .*:\n", f"-> {removal.annotation}:\n", body, count=1)
    assert count == 1, removal
    return head + changed


def is_gone(collective: Collective, cost: Cost) -> bool:
    return not any(
        (c.op, c.where) == (collective.op, collective.where) and set(c.axes) & set(collective.axes)
        for c in cost.collectives
    )


@pytest.mark.parametrize(("name", "text"), list(texts()), ids=[name for name, _ in texts()])
def test_removals_are_true(name: str, text: str) -> None:
    cost = shardc.cost(text, tries=16)
    for collective in cost.collectives:
        for removal in collective.removals or ():
            then = shardc.cost(rewritten(text, removal), tries=0)
            assert is_gone(collective, then), (collective, removal)
            assert (then.bytes, then.work.matmul, then.memory.arguments) == (
                removal.bytes,
                removal.matmul_flops,
                removal.argument_bytes,
            )
            assert then.bytes < cost.bytes


@pytest.mark.parametrize("name", [*PROGRAMS, "megatron_mlp"])
def test_something_is_found(name: str) -> None:
    cost = shardc.cost(dict(texts())[name], tries=40)
    assert cost.collectives and all(collective.removals for collective in cost.collectives)


def test_the_megatron_mlp() -> None:
    (reduction,) = shardc.cost(dict(texts())["megatron_mlp"], tries=20).collectives
    assert reduction.removals is not None
    found = [(removal.what, removal.annotation, removal.bytes) for removal in reduction.removals]
    assert found[0] == ("result 0", "f32[32@data, 64] partial(sum: model)", 0)
    assert ("result 0", "f32[32@data, 64@model]", 3072) in found


def test_no_single_annotation_helps() -> None:
    """Both results need the sum over model whole, and both arguments split it."""
    text = (
        "def f(x: f32[16, 32@model], y: f32[16, 32@model]) -> (f32[16], f32[16]):\n"
        "    s = sum(x, axis=1) * sum(y, axis=1)\n    return s, s + 1.0\n"
    )
    cost = shardc.cost(MESH + text, tries=200)
    assert all(collective.removals is not None for collective in cost.collectives)


def test_without_tries_nothing_is_said() -> None:
    cost = shardc.cost(dict(texts())["megatron_mlp"], tries=0)
    assert [collective.removals for collective in cost.collectives] == [None]


def test_what_the_program_calls_has_no_removal() -> None:
    text = (ROOT / "examples/matmul_basic/matmul_basic.shard").read_text("utf-8")
    (own,) = shardc.cost(text).collectives
    assert own.from_source and own.removals is None
