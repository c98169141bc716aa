"""Layers that differ in a function of elements alone are folded, and each has its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shardc.backend.jax import emit
from shardc.cli.opt import main as opt
from shardc.compilation import seek
from shardc.frontend.text import read
from shardc.interpret.run import run
from shardc.ops import definitions, find, rule_of
from shardc.ops.elementwise.kinds import kind
from shardc.options import Options
from shardc.passes.outline_repeats import OutlineRepeats
from tests.tolerance import assert_right
from tests.unit.rewrite.folding.programs import forward
from tests.unit.rewrite.folding.test_folding import arguments, stages
from tests.unit.rewrite.folding.test_kept import folder, text, without_cache, without_passes
from tests.unit.rewrite.folding.test_stacks import edited, stacks

__all__ = ["folder"]

LIT = Path(__file__).parents[3] / "lit/passes/fold-layers-functions.mlir"
COUNT = 16
LAYER = (
    "    x = x + gelu(sin(cos(x * {0}.gain)) @ {0}.up) @ {0}.down\n"
    "    x = x + tanh(x @ {0}.up) @ {0}.down\n"
    "    x = x * exp(-abs(x) - sqrt(abs(x) + 2.0))\n"
)
SINE = LAYER.replace("cos", "sin")
RISES = LAYER.replace("tanh", "sigmoid")
BOTH = SINE.replace("tanh", "sigmoid")
TWO_MAXIMA = (
    "    h = (x * {0}.gain) @ {0}.up\n"
    "    s = max(sin(h), axis=1, keepdims=True)\n"
    "    x = x + h @ {0}.down * s + abs(max(sin(h), axis=1, keepdims=True))\n"
    "    x = x + tanh(x)\n"
)
BEFORE = forward(COUNT, LAYER)


def other(*layers: tuple[int, str]) -> str:
    """The program in which these layers are others."""
    return edited(BEFORE, *layers, layer=LAYER)


PROGRAMS = {
    "one": (other((7, SINE)), 1),
    "two of one layer": (other((7, BOTH)), 2),
    "one of two layers": (other((6, SINE), (9, SINE)), 2),
    "others of two layers": (other((6, SINE), (9, RISES)), 2),
    "a number too": (other((7, SINE.replace("2.0", "3.0"))), 1),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_computed_is_the_same(name: str) -> None:
    program, count = PROGRAMS[name]
    whole, local, removed = stages(program, 20)
    assert len(removed) == 1 and removed[0] > 0
    arrays = arguments(whole)
    assert_right(whole, local, arrays, run(local, arrays), program)
    (stack,) = stacks(program)
    assert len(stack.functions) == count


@pytest.mark.parametrize(
    "layers",
    [
        [(7, LAYER.replace("cos", "abs"))],
        [(7, LAYER.replace("cos(x * {0}.gain)", "cos(abs(x * {0}.gain))"))],
        [(7, LAYER.replace("cos", "tanh"))],  # which partial maxima flow through
        [(1, SINE)],  # which stays
        [(number, SINE) for number in (4, 6, 7, 9, 10)],
        [(number, SINE) for number in range(0, COUNT, 2)],
    ],
)
def test_what_differs_in_more_is_another_layer(layers: list[tuple[int, str]]) -> None:
    assert not any(stack.functions for stack in stacks(other(*layers)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["one", "two of one layer", "others of two layers", "a number too"])
@pytest.mark.usefixtures("folder")
def test_it_is_found_after_an_edit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also that without the function that layers had for themselves."""
    after, _ = PROGRAMS[name]
    programs = {program: without_cache(program) for program in (BEFORE, after)}
    for first in programs:
        text(first)
        break
    without_passes(monkeypatch)
    assert [text(program) for program in programs] == [*programs.values()]


@pytest.mark.parametrize(("name", "found"), [("others of two layers", True), ("a number too", False)])
@pytest.mark.usefixtures("folder")
def test_functions_of_layers_are_found_after_an_edit_of_no_number(
    name: str, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    after, _ = PROGRAMS[name]
    anew, runs, rewrite = without_cache(after), list[object](), OutlineRepeats.rewrite
    text(BEFORE)
    monkeypatch.setattr(
        OutlineRepeats, "rewrite", lambda self, shared: runs.append(self) or rewrite(self, shared)
    )
    assert text(after) == anew
    assert bool(runs) != found


@pytest.mark.usefixtures("folder")
def test_calls_are_of_the_others_alone() -> None:
    found = text(other((7, SINE)))
    assert found.count("\ndef layer") == text(BEFORE).count("\ndef layer") == 1
    assert found.count("layer(") == text(BEFORE).count("layer(") - 1
    assert found.count("jnp.sin(jnp.sin(") == 1


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.usefixtures("folder")
def test_equal_functions_that_one_layer_tells_apart(place: int) -> None:
    """A maximum is found once where two functions are equal in all layers, twice where a layer has others."""
    before, layer = forward(12, TWO_MAXIMA), TWO_MAXIMA.format("p5")
    parts = layer.split("sin(")
    parts[place : place + 2] = [f"{parts[place]}cos({parts[place + 1]}"]
    after = before.replace(layer, "sin(".join(parts))
    assert before.count("sin(") == 24 and text(before).count("lax.pmax(") < 24
    whole, local, _ = stages(after, 20)
    arrays = arguments(whole)
    assert_right(whole, local, arrays, run(local, arrays), "told apart")
    assert emit(local) == without_cache(after)
    assert text(before) == without_cache(before)


@pytest.mark.parametrize(
    ("said", "folded"),
    [("", True), ('{shardc.group = "gelu#0/1"}', False), ('{shardc.call = "layer#0"}', False)],
)
def test_a_function_of_another_composite_or_call_is_no_such(
    said: str, folded: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "layers.mlir"
    path.write_text(re.sub(r"(stablehlo\.sine %\d+) :", rf"\1 {said} :", LIT.read_text()))
    assert opt([str(path), "-p", "fold-layers{worth=8}"]) == 0
    assert ("shardc.folded" in capsys.readouterr().out) == folded


def test_the_program_as_a_whole_is_another() -> None:
    """Its function is part of what it is known by."""
    keys = [seek(read(program, "layers.shard"), Options()) for program in (BEFORE, other((7, SINE)))]
    assert keys[0] is None or keys[1] is None or keys[0].key != keys[1].key


def test_functions_of_a_kind_are_sharded_alike() -> None:
    """They have one rule, and results of the same types."""
    kinds: dict[object, list[str]] = {}
    for definition in definitions():
        if (of := kind(definition.name)) is not None:
            kinds.setdefault(of, []).append(definition.name)
    assert ["stablehlo.exponential", "stablehlo.exponential_minus_one", "stablehlo.logistic"] == next(
        names[:3] for names in kinds.values() if "stablehlo.tanh" in names
    )
    assert kind("stablehlo.abs") is kind("stablehlo.dot_general") is kind("stablehlo.constant") is None
    for names in kinds.values():
        examples = [found.example for name in names if (found := find(name)) is not None]
        assert len({repr(rule_of(example)) for example in examples if example is not None}) == 1
