"""The way from a wrong result to the operation that is wrong: through loops, functions and branches."""

from __future__ import annotations

import pytest

from shardc.compilation import lower
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.options import Options
from shardc.proof.prove import Verdict, prove
from shardc.proof.report import lines

PROGRAM = """mesh m[y=4]
def g(x: f32[16, 16], w: f32[16, 16@y]) -> f32[16, 16]:
    h = x @ w
    return tanh(h) * 0.5

def s(x: f32[16, 16]) -> f32[16, 16]:
    return sin(x) + x

def f(x: f32[16, 16], ws: f32[5, 16, 16@y], t: i32[]) -> f32[16, 16]:
    x = exp(x)
    for w in ws carrying x:
        k = cos(x @ w)
        x = x * 0.9 + tanh(k + x)
    x = cond(t > 3, s, tanh, g(x, ws[0]))
    return x * 2.0
"""


def _compiled(text: str) -> tuple[Graph, Graph]:
    module = read(text, "way.shard", {}, "f")
    return snapshot(module.clone()).graph, lower(module, Options(machine="bytes"))


@pytest.mark.parametrize(
    ("right", "wrong", "line", "names"),
    [
        ("k + x", "k - x", 13, ("stablehlo.subtract", "stablehlo.add")),
        ("cos(x @ w)", "sin(x @ w)", 12, ("stablehlo.sine", "stablehlo.cosine")),
        ("tanh(h)", "exp(h)", 4, ("stablehlo.exponential", "stablehlo.tanh")),
        ("sin(x) + x", "sin(x) - x", 7, ("stablehlo.subtract", "stablehlo.add")),
        ("exp(x)", "cos(x)", 10, ("stablehlo.cosine", "stablehlo.exponential")),
    ],
)
def test_the_first_wrong_operation_of_both_programs(
    right: str, wrong: str, line: int, names: tuple[str, str]
) -> None:
    whole, local = _compiled(PROGRAM)[0], _compiled(PROGRAM.replace(right, wrong))[1]
    proof = prove(whole, local)
    assert proof.verdict is Verdict.DIFFERS and proof.difference is not None
    last, there = proof.difference.path[-1], proof.difference.there
    assert (last.loc.line, last.name) == (line, names[0]), lines(proof)
    assert there is not None and (there.loc, there.name) == (last.loc, names[1])
    assert lines(proof)[-1].strip() == f"there the global program has {names[1]}"


def test_of_a_long_way_both_ends_are_shown() -> None:
    body = "".join("    x = tanh(x)\n    x = exp(x)\n" for _ in range(8))
    text = f"mesh m[y=4]\ndef f(x: f32[16@y]) -> f32[16@y]:\n    x = cos(x)\n{body}    return x\n"
    proof = prove(_compiled(text)[0], _compiled(text.replace("cos", "sin"))[1])
    assert proof.difference is not None
    found = [step.loc.line for step in proof.difference.path]
    assert len(found) == 12 and found[0] == 19 and found[-1] == 3
