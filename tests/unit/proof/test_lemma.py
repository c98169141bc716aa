"""Reducing sizes hides no fault: what is found at full size is found at reduced sizes (docs/proof.md)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.passes.pipeline import run_to
from shardc.proof import attempt
from shardc.proof.prove import Proof, Verdict, prove
from shardc.proof.reduced import Reduced
from tests.unit.proof.planted import LONG, MESHES, faults, program


def _compiled(text: str) -> tuple[Graph, Graph]:
    with collecting():
        module = read(text, "test.shard", {}, None)
        whole = snapshot(module.clone()).graph
        run_to(make_context(), module, "local")
        return whole, snapshot(module).graph


def at_full_size(whole: Graph, local: Graph) -> Proof:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempt, "reduced", lambda whole, local: Reduced(whole, local, (), ()))
        return prove(whole, local)


def _check(seed: int, meshes: Sequence[str] = MESHES) -> tuple[int, int, int]:
    """Faults found at full size; those of programs that were reduced, on long meshes in their axes; faults
    that change nothing.
    """
    random = Random(seed)
    text = program(random, meshes)
    whole, local = _compiled(text)
    right = prove(whole, local)
    assert right.verdict is Verdict.PROVED, (right.reason, text)
    assert right.shapes is not None
    found = equal = 0
    planted = faults(local)
    for fault in random.sample(planted, min(3, len(planted))):
        with fault.planted():
            full, reduced = at_full_size(whole, local), prove(whole, local)
        if full.verdict is Verdict.DIFFERS:
            assert reduced.verdict is not Verdict.PROVED, (str(fault), text)
            found += 1
        elif full.verdict is Verdict.PROVED:
            assert reduced.verdict is not Verdict.DIFFERS, (str(fault), text)
            equal += 1
    reduced_to = right.shapes.units if meshes is MESHES else right.shapes.axes
    return found, found if reduced_to else 0, equal


def test_faults_are_found_at_reduced_sizes() -> None:
    counts = [_check(seed) for seed in range(12)]
    found, reduced, equal = map(sum, zip(*counts, strict=True))
    assert found > 12 and reduced > 6 and equal > 0


def test_faults_are_found_on_shorter_axes() -> None:
    counts = [_check(seed, LONG) for seed in range(8)]
    found, reduced, _ = map(sum, zip(*counts, strict=True))
    assert found > 8 and reduced > 4


@pytest.mark.slow
@pytest.mark.parametrize("start", range(2000, 2500, 50))
def test_faults_of_five_hundred_programs_are_found_on_shorter_axes(start: int) -> None:
    for seed in range(start, start + 50):
        _check(seed, LONG)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 2000, 50))
def test_faults_of_a_thousand_programs_are_found_at_reduced_sizes(start: int) -> None:
    for seed in range(start, start + 50):
        _check(seed)
