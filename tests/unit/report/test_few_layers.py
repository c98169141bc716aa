"""What programs take of which layers are taken out: against the same programs with all layers."""

from __future__ import annotations

import pytest

from shardc.compilation import by_pass, machine_of
from shardc.diagnostics import collecting
from shardc.frontend.read import read
from shardc.options import Options
from shardc.passes.pipeline import saying
from shardc.report import trials
from shardc.report.combined import PLACED, plans
from tests.unit.rewrite.folding.programs import forward, step, there_and_back

LOOP = """    for t in range(3) carrying x:
        x = x + gelu((x * {0}.gain) @ {0}.up) @ {0}.down
"""
HEADS = """    a: f32[8, 32@data] = gelu((x * {0}.gain) @ {0}.up)
    b: f32[8, 32@data] = sin((x * {0}.gain) @ {0}.up)
    x = x + (a * b) @ {0}.down
"""
PROGRAMS = {
    "forward": forward(12),
    "loops": forward(12, LOOP),
    "exchanges": forward(12, HEADS),
    "step": step(12),
    "decay": step(11, "{0} * 0.99 - 0.1 * tanh({1}) * exp({0})"),
    "there and back": there_and_back(12),
}
WHOLE = 10**9
"""So many operations no program has, so no layers are taken out that make as many."""


@pytest.mark.parametrize("machine", ["h100-infiniband", "tpu-v5e"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_few_layers_take_what_all_do(name: str, machine: str) -> None:
    """Those that nobody looks for are priced alike, and the same becomes one; the quickest takes as long."""
    options = Options(language="shard", machine=machine)
    few, whole = (tried(PROGRAMS[name], options, worth) for worth in (20, WHOLE))
    assert [name for name, _, _ in few] == [name for name, _, _ in whole]
    for (how, took, found), (_, expected, known) in zip(few, whole, strict=True):
        if how in PLACED:  # others are looked for
            assert abs(took - expected) <= expected / 200
            assert found == known
    least = min(took for _, took, _ in whole)
    assert abs(min(took for _, took, _ in few) - least) <= least / 200


@pytest.mark.parametrize("limit", [1 << 8, 1 << 11])
def test_limits_are_of_all_layers(limit: int) -> None:
    """More is not one than the limit on bytes allows, of the layers that are missing either."""
    options = Options(language="shard", machine="h100-infiniband", combine=limit)
    few, whole = (tried(PROGRAMS["step"], options, worth)[0] for worth in (20, WHOLE))
    assert abs(few[1] - whole[1]) <= whole[1] / 20
    assert [found[:4] for found in few[2]] == [found[:4] for found in whole[2]]


def test_layers_are_put_back_where_other_passes_look_across_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which copies are gathered again depends on all layers."""
    monkeypatch.setattr(trials, "_tried_with_few", lambda *_: pytest.fail("few are looked at"))
    options = Options(language="shard", machine="h100-infiniband", regather=True)
    assert tried(PROGRAMS["forward"], options, 20)


def tried(text: str, options: Options, worth: int):
    """Each plan's name and nanoseconds, and what becomes one in it, where so many operations are worth it."""
    module, machine = read(text, options), machine_of(options)
    assert machine is not None
    with collecting():
        found = list(plans(module, machine, saying(by_pass(options), "fold-layers", worth=worth)))
    return [
        (name, plan.took, sorted((*each[:3], each.phase, round(each.after, 3)) for each in plan.found))
        for name, plan in found
    ]
