"""Values have the names that the lines of the user's Python assign."""

from __future__ import annotations

import pytest

import shardc
from shardc.dialects.locations import location_of
from shardc.frontend import mlir
from shardc.frontend.mlir import read

PYTHON = """\
def attend(x, w):
    q, k = x @ w, w @ x
    return q + k

def main(x, w):
    state["h"] = jnp.tanh(x @ w)
    for _ in range(2):
        x = x @ w
    x += w
    out = attend(x, w)
    keep = lambda y: y * y
    _ = x * w
    z = keep(x)
"""
BINARY = "%{} = stablehlo.{} %{}, %{} : tensor<4x4xf32> loc({})"
DOT = "stablehlo.dot_general %{}, %{}, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>)"


def module(file: str, lines: list[str]) -> str:
    body = "\n".join(lines).replace("FILE", file)
    return (
        "func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {\n"
        f"{body}\n return %end : tensor<4x4xf32>\n}}\n"
    )


def at(line: int, column: int, name: str = "jit(main)/op") -> str:
    return f'"{name}"("FILE":{line}:{column})'


def dot(result: str, lhs: str, rhs: str, loc: str) -> str:
    return f"%{result} = {DOT.format(lhs, rhs)} -> tensor<4x4xf32> loc({loc})"


@pytest.fixture
def names(tmp_path):
    def found(lines: list[str], python: str = PYTHON) -> list[str | None]:
        file = tmp_path / "model.py"
        file.write_text(python, "utf-8")
        text = module(str(file), [*lines, BINARY.format("end", "add", "last", "last", at(99, 0))])
        ops = list(read(text, "a.mlir").walk())[2:-2]
        named = (location_of(op.location).name for op in ops)
        return [None if name is None or "/" in name else name for name in named]

    return found


def test_the_last_value_of_a_line_has_its_name(names):
    lines = [dot("0", "x", "w", at(6, 26)), BINARY.format("last", "multiply", "0", "0", at(6, 17))]
    assert names(lines) == [None, "state_h"]


def test_each_target_of_a_tuple_has_its_value(names):
    lines = [dot("0", "x", "w", at(2, 11)), dot("1", "w", "x", at(2, 18))]
    lines.append(BINARY.format("last", "add", "0", "1", at(99, 0)))
    assert names(lines) == ["q", "k", None]


def test_turns_of_an_unrolled_loop(names):
    lines = [dot("0", "x", "w", at(8, 12)), dot("last", "0", "w", at(8, 12))]
    assert names(lines) == [None, "x"]
    more = [
        BINARY.format("2", "multiply", "x", "w", at(6, 26)),
        BINARY.format("3", "add", "2", "2", at(6, 17)),
    ]
    more += [line.replace("%2", "%4").replace("%3", "%last").replace("%x", "%3") for line in more]
    assert names(more) == [None, "state_h", None, "state_h"]


def test_what_a_function_returns_has_the_name_that_its_caller_assigns(names):
    loc = f"callsite({at(3, 11)} at {at(10, 10)})"
    assert names([BINARY.format("last", "add", "x", "w", loc)]) == ["out"]
    loc = f"callsite({at(11, 21)} at {at(13, 8)})"
    assert names([BINARY.format("last", "multiply", "x", "x", loc)]) == ["z"]


def test_what_a_line_gives_to_a_function_has_not_its_name(names):
    """out = attend(tanh(x @ w), w): the product and its tanh are inside, the sum is out's."""
    inside = f"callsite({at(2, 11)} at {at(10, 10)})"
    lines = [dot("0", "x", "w", at(10, 10)), dot("1", "0", "w", inside)]
    lines.append(BINARY.format("last", "add", "1", "0", f"callsite({at(3, 11)} at {at(10, 10)})"))
    assert names(lines) == [None, None, "out"]


def test_what_has_no_name(names):
    for place in (at(12, 8), at(11, 21), at(50, 0), at(6, 99), at(6, 17, "jit(f)/transpose(jvp())/mul")):
        assert names([BINARY.format("last", "multiply", "x", "w", place)]) == [None]


def test_assigning_with_an_operator(names):
    assert names([BINARY.format("last", "add", "x", "w", at(9, 4))]) == ["x"]


def test_a_file_that_does_not_parse(names):
    assert names([BINARY.format("last", "add", "x", "w", at(9, 4))], "def (") == [None]


def test_a_file_that_is_not_there():
    text = module("/nowhere/model.py", [BINARY.format("end", "add", "x", "w", at(9, 4))])
    assert shardc.compile(text).source


def test_results_have_their_own_names_and_types():
    text = """mesh pod[data=2]
def main(x: f32[8@data, 4]):
    vals, ids = top_k(x, 2)
    return vals + 1, ids * 2
"""
    source = shardc.compile(text).source
    assert "vals, ids = lax.top_k(x, 2)" in source
    assert "f32[4, 2] of f32[8@data, 2], i32[4, 2] of i32[8@data, 2]" in source


def test_no_operation_is_asked_for_its_line_where_no_python_file_is_named(monkeypatch: pytest.MonkeyPatch):
    asked: list[object] = []
    monkeypatch.setattr(mlir, "name_values", lambda *given: asked.append(given) or {})
    lines = [dot("end", "x", "w", at(2, 12))]
    read(module("model.jl", lines))
    assert not asked
    read(module("model.py", lines))
    assert len(asked) == 1
