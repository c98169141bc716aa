"""The options of a compilation: one record for the command and the API."""

from __future__ import annotations

import pytest

import shardc
from shardc.api import Trace
from shardc.compilation import by_pass
from shardc.diagnostics import ShardcError
from shardc.frontend.read import language_of
from shardc.options import CompileOptions, CostOptions, JaxOptions, Options, SourceOptions
from shardc.passes.pipeline import PASSES

PROGRAM = """mesh pod[data=2, model=4]
def main(x: f32[8@data, 16], w: f32[16, 32@model]) -> f32[8, 32]:
    return tanh(x @ w)
"""


def test_keywords_are_the_fields_of_the_record() -> None:
    assert CompileOptions.__optional_keys__ == {*Options.__struct_fields__}
    assert CompileOptions.__optional_keys__ - CostOptions.__optional_keys__ == {
        "target",
        "process_data",
        "comments",
    }
    assert JaxOptions.__optional_keys__ == CompileOptions.__optional_keys__ - SourceOptions.__optional_keys__


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"target": "numpi"}, "numpi is no target; they are jax, numpy, mpi\n    note: did you mean numpy?"),
        ({"language": "foo"}, "foo is no language; they are mlir, shard"),
        ({"fallback": "hope"}, "fallback can be error, replicate, not hope"),
        ({"overlap": "atuo"}, "overlap can be off, on, auto, not atuo\n    note: did you mean auto?"),
        ({"memory_limit": -5}, "the memory limit is a whole number of bytes from 1, not -5"),
        ({"combine": -1}, "combined is a whole number of bytes from 0, not -1"),
        ({"combine": True}, "combined is a whole number of bytes from 0, not True"),
        ({"links": {"model": "NVLink"}}, "links are those of a machine, and none is named"),
    ],
)
def test_values_without_meaning(named: dict, message: str) -> None:
    with pytest.raises(ShardcError) as caught:
        Options(**named)
    assert message in str(caught.value)


def test_every_function_refuses_the_same() -> None:
    for function in (shardc.compile, shardc.cost, shardc.explain, shardc.trace):
        with pytest.raises(ShardcError, match="foo is no language"):
            function(PROGRAM, language="foo")
    with pytest.raises(TypeError, match=r"explain\(\) got an unexpected keyword argument 'overlap'"):
        shardc.explain(PROGRAM, overlap="on")  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match=r"from_jax\(\) got an unexpected keyword argument 'entry'"):
        shardc.from_jax(lambda x: x, 1.0, entry="f")  # pyright: ignore[reportCallIssue]


def test_options_reach_passes() -> None:
    options = Options(fallback="replicate", memory_limit=7, regather=True, combine=9, overlap="on")
    told = by_pass(options)
    assert set(told) <= set(PASSES)
    assert told["require-rules"] == {"fallback": "replicate"}
    assert told["reshards-to-collectives"] == {"memory_limit": 7}
    assert told["combine-collectives"] == {"bytes": 9} and told["regather"] == {}
    assert told["overlap"] == {"when": "on"}
    assert "times" in by_pass(Options(overlap="auto", machine="laptop"))["overlap"]


def test_a_record_and_keywords() -> None:
    base = Options(target="numpy", file="a.shard")
    assert (
        shardc.compile(PROGRAM, base).source == shardc.compile(PROGRAM, target="numpy", file="a.shard").source
    )
    assert shardc.compile(PROGRAM, base, target="jax").target == "jax"


def test_a_trace() -> None:
    found = shardc.trace(PROGRAM, devices=(1,))
    assert isinstance(found, Trace) and found.right
    assert "    device 1: " in "\n".join(found.lines)
    with pytest.raises(ShardcError, match="the mapping has no array x"):
        shardc.trace(PROGRAM, {})


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("# func.func\ndef f(x: f32[4]):\n    return x\n", "shard"),
        ("size module = 4\ndef f(x: f32[module]):\n    return x\n", "shard"),
        ("module {\n}\n", "mlir"),
        ("// a comment\nmodule @jit_f attributes {} {\n}", "mlir"),
        ('"builtin.module"() ({\n}) : () -> ()', "mlir"),
        ('sdy.mesh @m = <["x"=2]>\n  func.func @main() { return }', "mlir"),
        ("#loc = loc(unknown)\nmodule attributes {a = 1} {\n}", "mlir"),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert language_of(text) == language
