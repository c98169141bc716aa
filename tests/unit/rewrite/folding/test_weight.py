"""How much work a program is at least is known from few of its equal layers, with a cache and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardc import cache
from shardc.compilation import lower
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.options import Options
from shardc.passes.pipeline import run_to
from shardc.planning.program.remembered import known
from shardc.proof import prove
from shardc.proof.short import least_of
from shardc.rewrite import kept_program
from shardc.rewrite.folding.weight import WORK, Weigh, Weight, work_of
from tests.unit.rewrite.folding.test_folding import scaled
from tests.unit.rewrite.folding.test_kept import EQUAL, LAYERS, OTHER, folder

__all__ = ["folder"]


def equal(layers: int) -> str:
    return scaled(*[0.25] * layers, layer=LAYERS)


def weighed(program: str, weigh: Weigh | None = least_of) -> int | None:
    """What is noted of a program of few operations, too."""
    module = read(program, "layers.shard")
    sought = kept_program.sought(module)
    options = {"fold-layers": {"worth": 20}}
    skeleton = sought and sought.skeleton
    run_to(make_context(), module, "local", options=options, skeleton=skeleton, weigh=weigh)
    return work_of(module)


def without_cache(program: str) -> int | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache.VARIABLE, "off")
        patch.setattr(known, "_RECENT", {})
        return weighed(program)


def whole(program: str) -> tuple[Graph, Graph]:
    """A program before it is compiled and after it, without folding."""
    module = read(program, "layers.shard")
    before = snapshot(module).graph
    run_to(make_context(), module, "local")
    return before, snapshot(module).graph


def no_weighing(first: Graph, second: Graph) -> int:
    raise AssertionError("a program was weighed")


def test_the_work_of_few_layers_is_about_that_of_all_with_equal_ones_once() -> None:
    few = without_cache(equal(24))
    assert few is not None and few == without_cache(equal(40))
    assert few < least_of(*whole(equal(24))) < 2 * few


@pytest.mark.usefixtures("folder")
def test_it_is_found_with_what_passes_made_of_the_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_program, "WORTH", 0)
    assert weighed(EQUAL, None) is None
    first = weighed(EQUAL)
    assert first == without_cache(EQUAL) == without_cache(OTHER)
    for program in (EQUAL, OTHER):
        assert weighed(program, no_weighing) == first


def test_the_note_does_not_stay(folder: Path) -> None:
    module = read(equal(24), "layers.shard")
    run_to(make_context(), module, "local", options={"fold-layers": {"worth": 20}}, weigh=least_of)
    assert WORK in module.attributes and work_of(module) is not None
    assert WORK not in module.attributes
    assert any(folder.iterdir())


def test_no_layers_are_looked_for_where_few_are_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = whole(equal(6))
    monkeypatch.setattr(prove, "layers", lambda *_: pytest.fail("layers"))
    found = prove.prove(*programs, most=1 << 20, few=1 << 24)
    assert found.undrawn and "about" in str(found.reason)


@pytest.mark.usefixtures("folder")
def test_what_was_kept_of_a_program_that_was_not_weighed_does_not_count() -> None:
    program, weights = equal(120), (Weight(least_of), Weight(no_weighing))
    lower(read(program, "layers.shard"), Options())
    for weight in weights:
        lower(read(program, "layers.shard"), Options(), weight=weight)
    assert weights[0].found == weights[1].found is not None
