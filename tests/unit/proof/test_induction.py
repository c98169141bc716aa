"""Loops that are proved by induction, those that are run in full, and faults in both."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from shardc.compilation import lower
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.text import read
from shardc.graph import Graph, Region
from shardc.options import Options
from shardc.proof import evaluate
from shardc.proof.certificate import LOCAL, certificate, text_of
from shardc.proof.check import Refused, check
from shardc.proof.degrees import Degree, Degrees
from shardc.proof.prove import Proof, Verdict, prove
from shardc.proof.report import lines
from tests.unit.proof.faults import take_maximum

LAYERS = """
mesh m[x=2, y=2]
def f(x: f32[64@x, 128], up: f32[40, 128, 256@y], down: f32[40, 256@y, 128]) -> f32[64@x, 128]:
    for u, d in up, down carrying x:
        x = x + tanh(x @ u) @ d
    return x
"""
PARTIAL = """
mesh m[x=4]
def f(x: f32[24, 64@x, 128], w: f32[128, 256]) -> f32[128, 256]:
    g = zeros((128, 256), dtype=f32)
    for a in x carrying g:
        g = g + a.T @ (a @ w)
    return w - 0.1 * g
"""
COUNTED = """
mesh m[x=4]
def f(x: f32[64@x, 128]) -> f32[64@x, 128]:
    for i in range(20) carrying x:
        x = tanh(where(i == {}, x + 1, x)) + flip(x, 1)
    return x
"""
NESTED = """
mesh m[x=4]
def f(x: f32[64@x, 128], ws: f32[10, 12, 128, 128]) -> f32[64@x, 128]:
    for w in ws carrying x:
        for v in w carrying x:
            x = tanh(x @ v)
        x = x * 2
    return x
"""
ENTRY = """
mesh m[x=4]
def f(x: f32[64@x, 128], ws: f32[20, 128, 128@x]) -> (f32[64@x, 128], f32[64@x, 128]):
    h = x{}
    for w in ws carrying x, h:
        h = tanh(x @ w) + h
        x = x + h
    return x, h
"""
GREATEST = """
mesh m[x=4]
def f(x: f32[20, 64@x, 128]) -> f32[64@x, 128]:
    m = full((64, 128), -inf, dtype=f32)
    for a in x carrying m:
        m = maximum(m, a)
    return m
"""
UNTIL = """
mesh m[x=4]
def large(x: f32[64@x]) -> bool[]:
    return max(abs(x)) > 0.001
def halved(x: f32[64@x]) -> f32[64@x]:
    return x * 0.5
def f(x: f32[64@x]) -> f32[64@x]:
    return while_loop(large, halved, x)
"""


def _compiled(text: str) -> tuple[Graph, Graph, tuple[str, str]]:
    module = read(text, "loop.shard", {}, "f")
    first, whole = print_module(module), snapshot(module.clone()).graph
    local = lower(module, Options(machine="bytes"))  # it sums after the loops
    return whole, local, (first, print_module(module))


def _proof(text: str, other: str | None = None) -> Proof:
    return prove(_compiled(text)[0], _compiled(other or text)[1])


def _loops(proof: Proof) -> list[tuple[int, int]]:
    """Of every run of a loop in the first draw: iterations, and those that were proved."""
    return [(note.count, len(note.chosen) + 1) for note in proof.loops[0]]


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        (LAYERS, [(40, 3)]),
        (PARTIAL, [(24, 3)]),
        (COUNTED.format(-1), [(20, 3)]),
        (ENTRY.format(""), [(20, 3)]),
    ],
)
def test_a_few_iterations_prove_a_loop(text: str, loops: list[tuple[int, int]]) -> None:
    proof = _proof(text)
    assert proof.verdict is Verdict.PROVED, lines(proof)
    assert _loops(proof) == loops
    assert proof.chance < 1e-12
    assert f"by induction the loop in line {proof.loops[0][0].line} (3 of " in lines(proof)[0]


def test_the_chance_of_a_miss_does_not_grow_with_the_layers() -> None:
    assert _proof(LAYERS).chance == _proof(LAYERS.replace("40", "4000")).chance


def test_iterations_that_a_comparison_tells_apart_are_proved_each() -> None:
    proof = _proof(COUNTED.format(7))
    assert proof.verdict is Verdict.PROVED, lines(proof)
    assert all({7, 19} < set(note.chosen) for note in proof.loops[0])


@pytest.mark.parametrize(("wanted", "have"), [(7, -1), (-1, 7), (7, 8), (19, 18), (0, 1)])
def test_a_fault_of_one_iteration_is_found(wanted: int, have: int) -> None:
    assert _proof(COUNTED.format(wanted), COUNTED.format(have)).verdict is Verdict.DIFFERS


def test_loops_in_loops() -> None:
    proof = _proof(NESTED)
    assert proof.verdict is Verdict.PROVED, lines(proof)
    assert (10, 3) in _loops(proof) and (12, 3) in _loops(proof)


def test_degrees_of_loops_in_loops_are_found_turn_by_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    looked, plainly = [0], Degrees._region  # pyright: ignore[reportPrivateUsage]

    def region(self: Degrees, region: Region, arguments: Sequence[Degree]) -> list[Degree]:
        looked[0] += 1
        return plainly(self, region, arguments)

    monkeypatch.setattr(Degrees, "_region", region)
    loops = [f"{'    ' * depth}for i{depth} in range(2) carrying x:\n" for depth in range(1, 7)]
    body = f"{'    ' * 7}x = tanh(x) + x\n"
    proof = _proof(f"mesh m[x=4]\ndef f(x: f32[64@x]):\n{''.join(loops)}{body}    return x\n")
    assert proof.verdict is Verdict.PROVED and not any(proof.loops), lines(proof)
    assert looked[0] < 100  # turns of all loops multiplied are two million


@pytest.mark.parametrize("text", [GREATEST, UNTIL])
def test_what_induction_does_not_cover_is_run_in_full(text: str) -> None:
    proof = _proof(text)
    assert not any(proof.loops)
    assert proof.verdict is not Verdict.DIFFERS


def test_a_loop_that_does_not_end_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "MOST_TURNS", 64)
    proof = _proof(UNTIL.replace("> 0.001", ">= 0.0").replace("x * 0.5", "1.0 - x"))
    assert lines(proof) == ["not proved: more than 64 turns of the loop in line 8 are beyond the proof"]


def test_another_start_is_found() -> None:
    assert _proof(ENTRY.format(""), ENTRY.format(" * 2")).verdict is Verdict.DIFFERS


def test_another_number_of_iterations_is_found() -> None:
    more = PARTIAL.replace("for a in x carrying g", "for i in range(23) carrying g").replace(
        "        g =", "        a = x[i]\n        g ="
    )
    assert _proof(PARTIAL, more).verdict is Verdict.DIFFERS


@pytest.mark.parametrize("text", [LAYERS, PARTIAL])
def test_a_faulty_collective_is_found(text: str) -> None:
    whole, local, _ = _compiled(text)
    take_maximum(local)
    proof = prove(whole, local)
    assert proof.verdict is Verdict.DIFFERS
    assert "loop.shard:" in "\n".join(lines(proof))


def test_an_index_that_is_one_off_is_found() -> None:
    """Of the next iteration's weights, in reverse order, or right in half of the iterations."""
    text = """
mesh m[x=4]
def f(x: f32[64@x, 128], ws: f32[20, 128, 128]) -> f32[64@x, 128]:
    for i in range(20) carrying x:
        x = tanh(x @ ws[{}])
    return x
"""
    assert _proof(text.format("i")).verdict is Verdict.PROVED
    for other in ("minimum(i + 1, 19)", "19 - i", "where(i > 9, i, 0)"):
        assert _proof(text.format("i"), text.format(other)).verdict is Verdict.DIFFERS


@pytest.mark.parametrize("text", [LAYERS, GREATEST, NESTED])
def test_certificates_of_loops_hold(text: str) -> None:
    whole, local, texts = _compiled(text)
    made = certificate((prove(whole, local), texts, LOCAL))
    check(*texts, made)


@pytest.mark.parametrize(
    "loops",
    [
        {"in_full": [0], "also": []},
        {"in_full": [], "also": [[0, [5]]]},
        {"in_full": [], "also": [[0, ["5"]]]},
        {"in_full": [], "also": 3},
        None,
    ],
)
def test_certificates_with_other_loops_do_not(loops: object) -> None:
    whole, local, texts = _compiled(LAYERS)
    document = json.loads(certificate((prove(whole, local), texts, LOCAL)))
    altered = text_of([{**document["proofs"][0], "loops": loops}], None)
    with pytest.raises(Refused):
        check(*texts, altered)
