"""Programs compiled with few of their equal layers compute what the whole ones do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shardc import cache
from shardc.compilation import emit
from shardc.dialects.context import make_context
from shardc.dialects.convert import dense
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import snapshot
from shardc.dialects.types import type_of
from shardc.frontend.text import read
from shardc.graph import Dense, walk
from shardc.interpret.run import run
from shardc.ops import Trait, has
from shardc.passes import pipeline
from shardc.passes.fold_layers import FoldLayers
from shardc.passes.pipeline import PASSES, run_to
from shardc.passes.unfold_layers import UnfoldLayers
from shardc.planning.program.remembered import known
from shardc.rewrite.folding import apart, cut
from shardc.rewrite.folding.notes import Unlike, folded
from shardc.rewrite.folding.numbers import is_number
from tests.tolerance import assert_right
from tests.unit.rewrite.folding.programs import LAYER, forward, step

TWICE = """    s = x
    x = tanh((x * {0}.gain) @ {0}.up) @ {0}.down
    x = x + relu(x @ {0}.up) @ {0}.down + s
"""
SPLIT = "    x: f32[8@data, 16@model] = x + cos(tanh((x * {0}.gain) @ {0}.up)) @ {0}.down * sin(x)\n"
SORTED = "    x = x + sort(relu(exp(x * {0}.gain) @ {0}.up)) @ {0}.down / 8.0\n"
FILLED = "    x = x + where(x > 0.0, full((8, 16), 2.0), sin(cos(x * {0}.gain) @ {0}.up) @ {0}.down)\n"
SCALED = "    x = x + gelu((x * {0}.gain) @ {0}.up) @ {0}.down * 0.25\n"
EDITED = SCALED.format("p5")
CLIPPED, NORM = "{0} - 0.1 * {1} * scale", "    scale = 1.0 / maximum(sqrt({}), 1.0)\n"
NAMES = sorted(range(12), key=str)
IN_ORDER = NORM.format(
    " + ".join(f"sum(g[{NAMES.index(i)}].{part} ** 2)" for i in range(12) for part in ("up", "down", "gain"))
)
WEIGHTS = "    weights = 99.0 + " + " + ".join(f"sum(p{i}.up * p{i}.up)" for i in range(12)) + "\n"


def scaled(*numbers: float, layer: str = SCALED) -> str:
    """Layers that scale by a number each, and differ in nothing else."""
    texts = [layer.format(f"p{i}") for i in range(len(numbers))]
    own = [text.replace("0.25", str(number)) for text, number in zip(texts, numbers, strict=True)]
    return forward(len(numbers), layer).replace("".join(texts), "".join(own))


PROGRAMS = {
    "forward": forward(11),
    "twice": forward(9, TWICE),
    "split": forward(12, SPLIT),
    "sorted": forward(10, SORTED),
    "filled": forward(10, FILLED),
    "of another number": scaled(*[0.25] * 5, 0.5, *[0.25] * 6),
    "of a number each": scaled(*(i / 64 for i in range(2, 14))),
    "steps of another number": step(12, layer=SCALED).replace(EDITED, EDITED.replace("0.25", "0.75")),
    "updates by another number": step(12).replace("p5.up - 0.1", "p5.up - 0.3"),
    "step": step(12),
    "step by name": step(23, by_name=True),
    "decay by name": step(12, "{0} * 0.99 - 0.1 * tanh({1}) * exp({0})", by_name=True),
    "step of two": step(10, layer=TWICE),
    "step of filled": step(12, layer=FILLED),
    "decay": step(11, "{0} * 0.99 - 0.1 * tanh({1}) * exp({0})"),
    "clipped": step(10, CLIPPED, NORM),
    "clipped by name": step(12, CLIPPED, NORM, by_name=True),
    "clipped in order, by name": step(12, CLIPPED, IN_ORDER, by_name=True),
    "decay of all weights": step(12, "{0} - 0.1 * {1} - {0} / weights", WEIGHTS),
}


def stages(text: str, worth: int, **options: Mapping[str, Any]):
    """The program as it is read, compiled with layers taken out where that saves so many operations, and the
    layers that were."""
    removed: list[int] = []

    class Noted(FoldLayers):
        def rewrite(self, shared: SharedGraph) -> bool:
            done = super().rewrite(shared)
            removed.append(sum(stack.removed for stack in folded(shared.module)))
            return done

    module = read(text, "layers.shard")
    whole = snapshot(module.clone()).graph
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shardc.passes.fold_layers.FoldLayers", Noted)
        run_to(make_context(), module, "local", options={**options, "fold-layers": {"worth": worth}})
    return whole, snapshot(module).graph, removed


def arguments(graph, seed=0):
    draw = np.random.default_rng(seed)
    return [
        (draw.standard_normal(type.shape) / 4).astype(type.numpy)
        for type in graph.types(graph.main.body.args)
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_computed_is_the_same(name):
    whole, local, removed = stages(PROGRAMS[name], 20)
    assert removed[0] > 0
    arrays = arguments(whole)
    assert_right(whole, local, arrays, run(local, arrays), PROGRAMS[name])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_with_fewer_layers_on_either_side_it_is_too(name: str, monkeypatch: pytest.MonkeyPatch):
    """So many stay of long layers."""
    monkeypatch.setattr(cut, "LONG", 1)
    whole, local, removed = stages(PROGRAMS[name], 20)
    assert removed[0] > 0
    arrays = arguments(whole)
    assert_right(whole, local, arrays, run(local, arrays), PROGRAMS[name])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["step", "steps of another number"])
@pytest.mark.parametrize("option", ["combine-collectives", "overlap", "regather"])
def test_passes_that_look_across_layers_see_all(name, option):
    """They run on the whole program, whose layers were taken out until then."""
    whole, local, removed = stages(PROGRAMS[name], 20, **{option: {}})
    _, plain, none = stages(PROGRAMS[name], 10**9, **{option: {}})
    assert removed[0] > 0 == none[0]
    assert counted(local) == counted(plain)
    arrays = arguments(whole)
    assert_right(whole, local, arrays, run(local, arrays), PROGRAMS[name])


@pytest.mark.parametrize(("option", "few"), [("stack-exchanges", True), ("combine-collectives", False)])
def test_a_pass_by_option_sees_few_layers_if_it_looks_no_further(
    option, few, monkeypatch: pytest.MonkeyPatch
):
    chosen, seen = PASSES[option](), list[int]()

    def rewrite(self: object, shared: SharedGraph) -> bool:
        seen.append(len(folded(shared.module)))
        return False

    monkeypatch.setattr(chosen, "rewrite", rewrite)
    stages(PROGRAMS["split"], 20, **{option: {}})
    assert [stacks > 0 for stacks in seen] == [few]


def counted(graph) -> Counter[str]:
    """How often the program runs each collective, in its functions too."""
    found: Counter[str] = Counter()
    waiting = [graph.main]
    while waiting:
        function = waiting.pop()
        for node in walk(function.body):
            if has(node.name, Trait.COLLECTIVE):
                found[node.name] += 1
            elif "callee" in node.attrs:
                waiting.append(graph.functions[node.attrs["callee"]])
    return found


@pytest.mark.parametrize("name", ["step", "step of two", "split"])
def test_signatures_are_whole(name):
    """Arguments and results have the names, types and shardings that they have without folding."""
    local, plain = (stages(PROGRAMS[name], worth)[1] for worth in (20, 10**9))
    for one, two in zip(local.main.body.args, plain.main.body.args, strict=True):
        a, b = local.values[one], plain.values[two]
        assert (a.type, a.loc, a.sharding) == (b.type, b.loc, b.sharding)
    assert local.main.result_shardings == plain.main.result_shardings
    assert local.main.interface == plain.main.interface


@pytest.mark.parametrize(("old", "new"), [("gelu", "tanh"), ("x = x", "x: f32[8@data, 16@model] = x")])
def test_layers_that_differ_stay(old: str, new: str, monkeypatch: pytest.MonkeyPatch):
    """One layer has more of its own than a part may have, or is annotated otherwise."""
    monkeypatch.setattr(apart, "MOST", 0 if old == "gelu" else apart.MOST)
    layer = LAYER.format("p5")
    assert layer in PROGRAMS["forward"]
    assert stages(PROGRAMS["forward"].replace(layer, layer.replace(old, new)), 20)[2] == [0]


@pytest.mark.parametrize(("number", "folds"), [(0.5, True), (1.0, False), (0.0, False)])
def test_layers_that_differ_in_a_number(number: float, folds: bool):
    """Any number is like another, but for those that mean something."""
    assert (stages(scaled(*[0.25] * 5, number, *[0.25] * 6), 20)[2] != [0]) == folds


def test_another_number_has_the_same_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """After an edit of the constant of a layer that goes the plan is found, and the text is as without it."""

    def text(*numbers: float) -> str:
        layer = "    x = x + gelu(sin(x) @ {0}.up) @ {0}.down * 0.125\n" + SCALED
        _, local, removed = stages(scaled(*numbers, layer=layer), 20)
        assert removed[0] > 0
        return emit(local, "jax")

    def fail(problem: object) -> None:
        raise AssertionError("the plan was looked for")

    monkeypatch.setattr(known, "WORTH", 0)
    edited = *[0.25] * 5, 0.5, *[0.25] * 6
    monkeypatch.setenv(cache.VARIABLE, "off")
    anew = text(*edited)
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    before = text(*[0.25] * 12)
    monkeypatch.setattr(known, "improve", fail)
    assert text(*edited) == anew != before
    assert anew.count("\ndef layer") == 1
    assert anew.count("total * 0.125") == before.count("total * 0.125") == 1
    assert anew.count("jnp.float32(0.25)") == 11 and anew.count("jnp.float32(0.5)") == 1


def test_a_number_that_becomes_another_is_compiled_whole(monkeypatch):
    """A pass that puts another constant in the place of a layer's own says nothing of the other layers'."""

    class Halving(PASSES["share-collectives"]()):
        def rewrite(self, shared: SharedGraph) -> bool:
            done = super().rewrite(shared)
            if not folded(shared.module):
                return done
            for op in shared.module.walk():
                if is_number(op):
                    op.properties["value"] = dense(
                        Dense(np.array(0.125, np.float32), type_of(op.results[0].type).shape)
                    )
            return True

    text = PROGRAMS["of another number"]
    assert text != scaled(*[0.25] * 12)
    monkeypatch.setattr("shardc.passes.share_collectives.ShareCollectives", Halving)
    whole, local, removed = stages(text, 20)
    assert removed[0] > 0
    arrays = arguments(whole)
    assert_right(whole, local, arrays, run(local, arrays), "whole")


def test_what_others_read_stays():
    """The sum of what all layers give is read in one place."""
    text = forward(11, LAYER + "    {0}x = x\n").replace(
        "return x", "return x + stack([" + ", ".join(f"p{i}x" for i in range(11)) + "])[4]"
    )
    assert stages(text, 20)[2] == [0]


def test_layers_that_become_unlike_are_compiled_whole(monkeypatch):
    class Never(UnfoldLayers):
        def rewrite(self, shared: SharedGraph) -> bool:
            if folded(shared.module):
                raise Unlike("of a test")
            return False

    monkeypatch.setattr("shardc.passes.unfold_layers.UnfoldLayers", Never)
    whole, local, removed = stages(PROGRAMS["step"], 20)
    assert removed[0] > 0
    arrays = arguments(whole)
    assert_right(whole, local, arrays, run(local, arrays), "whole")


def test_the_plan_counts_all_layers():
    """Bytes and collectives of the plan are those of the whole program."""
    plans = {}
    for worth in (20, 10**9):
        module, told = read(PROGRAMS["step"], "layers.shard"), []
        options = {"fold-layers": {"worth": worth}, "insert-reshards": {"told": told.append}}
        run_to(make_context(), module, "local", options=options)
        plans[worth] = told[-1].bytes, told[-1].collectives
    assert plans[20] == plans[10**9]


def test_only_the_way_to_a_device_folds():
    """Other stages show all layers."""
    module = read(PROGRAMS["step"], "layers.shard")
    run_to(make_context(), module, "collectives", options={"fold-layers": {"worth": 20}})
    assert folded(module) == []
    assert str(module).count("stablehlo.dot_general") > 12 * 5
    assert set(pipeline.FOLDING) <= pipeline.PASSES.keys()
