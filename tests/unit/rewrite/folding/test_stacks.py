"""Layers go out of several stacks: those before and after one that differs, or of two kinds."""

from __future__ import annotations

import pytest

from shardc.backend.jax import emit
from shardc.dialects.context import make_context
from shardc.dialects.shared_graph import SharedGraph
from shardc.frontend.text import read
from shardc.graph.repeats import Repeat
from shardc.interpret.run import run
from shardc.passes.fold_layers import FoldLayers
from shardc.passes.pipeline import run_to
from shardc.rewrite.folding import apart, cut
from shardc.rewrite.folding.notes import Folded, folded
from shardc.rewrite.folding.places import Slot
from shardc.rewrite.folding.stretches import Stretches
from shardc.rewrite.folding.turns import Pairs
from tests.tolerance import assert_right
from tests.unit.rewrite.folding.programs import LAYER, SPLIT, forward, step, there_and_back
from tests.unit.rewrite.folding.test_folding import CLIPPED, NORM, SCALED, arguments, counted, stages

COUNT = 19
WORTH = 8
OTHER = LAYER.replace("gelu", "tanh")
LONG = OTHER + "    x = sin(cos(x)) * exp(-abs(x))\n"
ANNOTATED = LAYER.replace("x = x", "x: f32[8@data, 16@model] = x")


@pytest.fixture(autouse=True)
def _of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer that differs is one of another kind, in whatever it is as others (test_parts.py)."""
    monkeypatch.setattr(apart, "MOST", 0)


def edited(text: str, *edits: tuple[int, str], layer: str = LAYER) -> str:
    """A program in which layers, by number, are others."""
    for number, other in edits:
        old = layer.format(f"p{number}")
        assert text.count(old) == 1
        text = text.replace(old, other.format(f"p{number}"))
    return text


PROGRAMS = {
    "another function": (edited(forward(COUNT), (9, OTHER)), 2),
    "near the end": (edited(forward(COUNT), (16, OTHER)), 1),
    "few layers before": (edited(forward(COUNT), (5, OTHER)), 1),
    "a step with few layers after": (edited(step(23), (16, OTHER)), 1),
    "two that differ": (edited(forward(28), (9, OTHER), (18, ANNOTATED)), 3),
    "two kinds": (
        edited(forward(20), *((i, LONG) for i in range(10, 20))),
        2,
    ),
    "a step": (edited(step(23), (11, OTHER)), 2),
    "an annotated step": (edited(step(23), (11, ANNOTATED)), 2),
    "read again": (there_and_back(24, 10), 2),
    "half-way, read again": (there_and_back(24, 12), 2),
    "half-way of an odd count, read again": (there_and_back(25, 12), 2),
    "an annotated argument": (
        forward(COUNT).replace("p9: Layer", "p9: Split").replace("record", f"{SPLIT}\nrecord", 1),
        1,
    ),
    "numbers": (
        edited(
            forward(COUNT, SCALED),
            *((i, SCALED.replace("0.25", f"{i / 64}")) for i in (2, 4, 12, 14)),
            (9, OTHER),
            layer=SCALED,
        ),
        2,
    ),
}


@pytest.mark.parametrize("by_name", [False, True])
def test_updates_may_come_in_another_order(by_name: bool):
    """Of names, 1, 10, 11 and 2: the layers that go are as many."""
    (stack,) = stacks(step(23, by_name=by_name))
    assert stack.removed == 15


def stacks(text: str) -> list[Folded]:
    """What the program says of the layers that were taken out of it."""
    found: list[Folded] = []

    class Noted(FoldLayers):
        def rewrite(self, shared: SharedGraph) -> bool:
            done = super().rewrite(shared)
            found.extend(folded(shared.module))
            return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shardc.passes.fold_layers.FoldLayers", Noted)
        options = {"fold-layers": {"worth": WORTH}}
        run_to(make_context(), read(text, "layers.shard"), "local", options=options)
    return found


def test_a_sum_is_ordered_for_one_stack() -> None:
    """The other one stays whole if not all of its layers follow each other there."""
    text = edited(step(24, CLIPPED, NORM, by_name=True), *((i, LONG) for i in range(12, 24)))
    assert len(stacks(text)) == 1
    whole, local, _ = stages(text, WORTH)
    arrays = arguments(whole)
    assert_right(whole, local, arrays, run(local, arrays), text)


def test_layers_beside_a_sum_that_was_ordered_are_found_again() -> None:
    """What follows from the end of the sum is of no layer, though that stands in the last one."""
    module = read(step(12, CLIPPED, NORM, by_name=True), "layers.shard")
    run_to(make_context(), module, "sharded", without=("propagate", "unmerge-dimensions", "check"))
    found: list[list[int]] = []
    for _ in range(2):
        whole = list(module.body.block.ops)
        FoldLayers(WORTH).rewrite(SharedGraph(module))
        found.append([stack.removed for stack in folded(module)])
        for op in list(module.body.block.ops):
            op.detach()
        module.body.block.add_ops(whole)
    assert found[0] == found[1] != []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_computed_is_the_same(name: str) -> None:
    text, _ = PROGRAMS[name]
    whole, local, removed = stages(text, WORTH)
    assert removed[0] > 0
    arrays = arguments(whole)
    assert_right(whole, local, arrays, run(local, arrays), text)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_stacks(name: str) -> None:
    text, count = PROGRAMS[name]
    assert [stack.stack for stack in stacks(text)] == [*range(count)]


@pytest.mark.parametrize(
    ("place", "removed"),
    [(9, [2, 2]), (8, [3, 1]), (7, [4]), (5, [6]), (13, [6]), (4, [7]), (14, [7]), (3, [8])],
)
def test_layers_go_before_and_after_one_that_differs(place: int, removed: list[int]) -> None:
    """If more are there than stay."""
    assert [stack.removed for stack in stacks(edited(forward(COUNT), (place, OTHER)))] == removed


@pytest.mark.parametrize(
    ("place", "removed"),
    [
        (9, [4, 4]),
        (8, [5, 3]),
        (5, [8]),
        (4, [9]),
        (14, [9]),
        (3, [10]),
        (15, [10]),
        (2, [11]),
    ],
)
def test_of_long_layers_one_less_stays(
    place: int, removed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cut, "LONG", 1)
    assert [stack.removed for stack in stacks(edited(forward(COUNT), (place, OTHER)))] == removed


@pytest.mark.parametrize(("operations", "removed"), [(cut.LONG - 1, 12), (cut.LONG, 14)])
def test_which_layers_are_long(operations: int, removed: int) -> None:
    functions = [("sin", "cos", "tanh")[i * i // 3 % 3] for i in range(operations - 14)]  # which LAYER has
    layer = LAYER + "".join(f"    x = {function}(x)\n" for function in functions)
    stack, *_ = stacks(forward(COUNT, layer))
    assert stack.removed == removed


@pytest.mark.parametrize(("name", "removed"), [("another function", [2, 2]), ("an annotated argument", [1])])
def test_near_a_layer_that_is_annotated_otherwise_one_more_stays(name: str, removed: list[int]) -> None:
    assert [stack.removed for stack in stacks(PROGRAMS[name][0])] == removed


def test_signatures_and_collectives_are_those_of_all_layers() -> None:
    text, _ = PROGRAMS["a step"]
    local, plain = (stages(text, worth)[1] for worth in (WORTH, 10**9))
    for one, two in zip(local.main.body.args, plain.main.body.args, strict=True):
        a, b = local.values[one], plain.values[two]
        assert (a.type, a.loc, a.sharding) == (b.type, b.loc, b.sharding)
    assert local.main.result_shardings == plain.main.result_shardings
    assert local.main.interface == plain.main.interface
    assert counted(local) == counted(plain)


@pytest.mark.parametrize("place", [9, 14])
def test_equal_layers_are_one_function(place: int) -> None:
    """Those before and after the one that differs too."""
    layer = "    x = x + gelu(sin(cos(x * {0}.gain)) @ {0}.up) @ {0}.down\n"
    layer += "    x = x + tanh(x @ {0}.up) @ {0}.down\n"
    layer += "    x = x * sigmoid(exp(-abs(x)) + sqrt(abs(x) + 2.0))\n"
    text = edited(forward(COUNT, layer), (place, layer.replace("cos", "sin")), layer=layer)
    emitted = emit(stages(text, WORTH)[1])
    assert emitted.count("\ndef layer") == 1
    assert emitted.count("layer(") == 1 + COUNT - 1


def test_stretches_that_read_as_before_are_not_compared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that go through the layers by name go one after the other."""
    compared, pairs = list[Repeat](), Stretches._pairs

    def seen(self: Stretches, number: int) -> list[tuple[Slot, Pairs]]:
        compared.append(self.repeats[number])
        return pairs(self, number)

    monkeypatch.setattr(Stretches, "_pairs", seen)
    module = read(step(23, "{0} * 0.99 - 0.1 * tanh({1}) * exp({0})", by_name=True), "p.shard")
    FoldLayers(worth=WORTH).apply(make_context(), module)
    assert folded(module)
    assert len(compared) == len(set(compared)) == 3
