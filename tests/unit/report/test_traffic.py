"""What the report counts is what the written program says and does."""

from __future__ import annotations

import re

import pytest

from shardc.backend.jax import emit
from shardc.backend.traffic import readable
from shardc.report.cost import cost_of

NAMES = ("megatron_mlp", "transformer_layer", "layers", "digits", "vocabulary", "matmul_reduce_scatter")


@pytest.mark.parametrize("name", NAMES)
def test_bytes_are_those_of_the_comments(example, name: str) -> None:
    graph = example(name)
    text = re.sub(r"\n +# ", " ", emit(graph))
    written = re.findall(r"([a-z-]+) over [\w, ]+?, ([\d.]+ \w+) sent per device", text)
    found = [(c.op, readable(c.bytes)) for c in cost_of(graph).collectives]
    assert sorted(set(found)) == sorted(set(written)) != []


def test_a_loop_counts_its_rounds(example) -> None:
    (reduction,) = cost_of(example("layers")).collectives
    assert (reduction.bytes, reduction.times, reduction.total) == (1536, 6, 9216)
    assert not reduction.at_least


def test_a_loop_that_data_end_counts_once(local_graph) -> None:
    text = "def f(x: f32[8@model]) -> f32[]:\n    return sum(x)\n"
    cost = cost_of(local_graph(text))
    assert [(c.op, c.bytes, c.times) for c in cost.collectives] == [("all-reduce", 6, 1)]
    assert not cost.at_least


def test_equal_collectives_are_one_entry(local_graph) -> None:
    text = (
        "def half(x: f32[8, 16], w: f32[16, 16]) -> f32[8, 16]:\n    return tanh(x @ w)\n"
        "def f(x: f32[8, 16@model], w: f32[16@model, 16]) -> f32[8, 16]:\n"
        "    return half(half(x, w), w)\n"
    )
    cost = cost_of(local_graph(text))
    assert sum(c.times for c in cost.collectives) >= 2
    assert cost.bytes == sum(c.bytes * c.times for c in cost.collectives)


def test_what_the_program_calls_itself(example) -> None:
    (own,) = cost_of(example("matmul_basic")).collectives
    assert own.from_source and own.reason == "the program calls it"


def test_matmul_operations(local_graph) -> None:
    text = "def f(x: f32[32@data, 64], w: f32[64, 128@model]):\n    return relu(x @ w)\n"
    work = cost_of(local_graph(text)).work
    assert work.matmul == 2 * 16 * 64 * 32
    assert work.all == work.matmul + 16 * 32
    assert work.matmul_by_dtype == (("f32", work.matmul),)


def test_operations_of_a_loop(example) -> None:
    assert cost_of(example("layers")).work.matmul == 6 * 2 * (2 * 8 * 32 * 16)
