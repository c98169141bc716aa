"""Axes along which devices send to their neighbours are shorter in a proof, and no fault hides there."""

from __future__ import annotations

import json
from random import Random

import pytest

from shardc.proof.certificate import LOCAL, certificate
from shardc.proof.check import Refused, check
from shardc.proof.prove import Verdict, prove
from shardc.proof.report import lines
from shardc.proof.shorter import near, runs
from tests.unit.proof.planted import faults
from tests.unit.proof.stencils import stencil
from tests.unit.proof.test_axes import compiled
from tests.unit.proof.test_lemma import at_full_size

GRID = """
mesh m[x=128, y=128]
def f(x: f32[1024@x, 2048@y]) -> f32[1024@x, 2048@y]:
    u = roll(x, 1, 0) + roll(x, -1, 0)
    return u + roll(x, 1, 1) + roll(x, -1, 1) - 4.0 * x
"""
BORDERS = """
mesh m[x=512]
def f(x: f32[4096@x, 64]) -> f32[4096@x, 64]:
    y = pad(x, ((1, 1), (0, 0)))
    return y[2:] + y[:4096] - 2.0 * x
"""
CUT = """
mesh m[x=512]
def f(x: f32[4096@x, 64]):
    return tanh(x[1:] - x[:4095])
"""
STEPS = """
mesh m[x=1024]
def f(x: f32[16384@x, 64]) -> f32[16384@x, 64]:
    for i in range(10) carrying x:
        x = 0.5 * x + 0.25 * (roll(x, 1, 0) + roll(x, -1, 0))
    return x
"""
LOSS = """
mesh m[x=1024]
def f(x: f32[4096@x, 64]) -> (f32[], f32[64]):
    return mean(square(roll(x, 1, 0) - x)), max(roll(x, 2, 0) + x, 0)
"""
SHORTER = {"a grid": GRID, "borders": BORDERS, "one row less": CUT, "steps": STEPS, "a loss": LOSS}

KEPT = {
    "pairs of a half": "concatenate([x[32:], x[:32]], 0)",
    "a reversal, which has no order that stays": "flip(x, 0) + x",
    "as many turns as devices": "sum(cumsum(x, 0) * roll(x, 1, 0), 0)",
    "sums of all rows but one": "sum(x[1:] * x[:63], 0)",
}


@pytest.mark.parametrize("name", SHORTER)
def test_a_long_axis_of_neighbours_is_shorter(name: str) -> None:
    proof = prove(*compiled(SHORTER[name])[:2])
    assert proof.verdict is Verdict.PROVED, proof.reason
    assert proof.shapes is not None and proof.shapes.short
    assert all(now <= 16 for _, _, now in proof.shapes.short)
    assert all(f"axis {axis} {old} -> {now}" in lines(proof)[0] for axis, old, now in proof.shapes.short)


@pytest.mark.parametrize("name", KEPT)
def test_what_has_no_such_form_keeps_the_axis(name: str) -> None:
    proof = prove(*compiled(f"mesh m[x=32]\ndef f(x: f32[64@x, 8]):\n    return {KEPT[name]}\n")[:2])
    assert proof.shapes is not None and not proof.shapes.short
    assert "axis x kept for" in lines(proof)[0]


@pytest.mark.slow
def test_a_fault_on_many_devices_differs() -> None:
    """At full length these are 16,384 devices."""
    whole, local, _ = compiled(GRID)
    sends = [fault for fault in faults(local) if fault.node.name == "spmd.collective_permute"]
    for fault in Random(1).sample(sends, 2):
        with fault.planted():
            assert prove(whole, local).verdict is Verdict.DIFFERS, str(fault)


def _check(seed: int) -> tuple[int, int]:
    """Faults that are found at full length, and of these those of programs with shorter axes."""
    random = Random(seed)
    text = stencil(random)
    whole, local, _ = compiled(text)
    right, found = prove(whole, local), 0
    assert right.verdict is not Verdict.DIFFERS, text
    assert right.verdict is at_full_size(whole, local).verdict, (right.reason, text)
    planted = faults(local)
    for fault in random.sample(planted, min(4, len(planted))):
        with fault.planted():
            full, short = at_full_size(whole, local), prove(whole, local)
        if full.verdict is Verdict.DIFFERS:
            assert short.verdict is not Verdict.PROVED, (str(fault), text)
            found += 1
        elif full.verdict is Verdict.PROVED:
            assert short.verdict is not Verdict.DIFFERS, (str(fault), text)
    return found, found if right.shapes is not None and right.shapes.short else 0


def test_faults_are_found_on_shorter_axes() -> None:
    found, shorter = map(sum, zip(*(_check(seed) for seed in range(6)), strict=True))
    assert found > 12 and shorter > 4


@pytest.mark.slow
@pytest.mark.parametrize("start", range(3000, 3500, 50))
def test_faults_of_five_hundred_stencils_are_found(start: int) -> None:
    for seed in range(start, start + 50):
        _check(seed)


def test_a_certificate_with_a_shorter_axis_is_replayed() -> None:
    whole, local, texts = compiled(BORDERS)
    claimed = certificate((prove(whole, local), texts, LOCAL))
    assert check(texts[0], texts[1], claimed).chance < 1e-12
    document = json.loads(claimed)
    assert document["proofs"][0]["shorter"] == [["x", 512, 8]]
    for wrong in ([], [["x", 512, 16]]):
        document["proofs"][0]["shorter"] = wrong
        with pytest.raises(Refused):
            check(texts[0], texts[1], json.dumps(document, indent=1) + "\n")


def test_runs_of_pairs() -> None:
    assert runs([(i, (i + 1) % 16) for i in range(16)]) == [(0, 15, 1), (15, 16, 0)]
    assert runs([(i + 2, i) for i in range(14)]) == [(2, 16, 0)]
    assert runs([(0, 15)]) == [(0, 1, 15)]
    assert len(runs([(i, i ^ 1) for i in range(16)])) == 16


def test_numbers_near_multiples() -> None:
    assert [near(number, 4096, 64) for number in (0, 1, 4095, 4097, 8190)] == [0, 1, 63, 65, 126]
