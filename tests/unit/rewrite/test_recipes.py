"""Operations that are made as one was made before are those that a form makes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardc import cache
from shardc.compilation import lower
from shardc.diagnostics import Location
from shardc.dialects.context import make_context
from shardc.dialects.text import print_module
from shardc.forms.localize import Localizer
from shardc.frontend.read import read
from shardc.options import Options
from shardc.passes import localize
from shardc.passes.fold_layers import FoldLayers
from shardc.passes.localize import VALUES, Localize
from shardc.passes.pipeline import PASSES, STAGES
from shardc.rewrite import recipes
from shardc.rewrite.folding.places import FOLDED
from tests.unit.rewrite.folding.programs import forward

LAYERS = """mesh pod[data=2, model=4]

def main(x: f32[8@data, 16], w: f32[3, 16, 16@model], v: f32[3, 16@model, 16]) -> f32[8@data, 16]:
    h = tanh(x @ w[0]) @ v[0]
    h = tanh(h @ w[1]) @ v[1] + sum(h, axis=0) + max(h, axis=0)
    h = tanh(h @ w[2]) @ v[2] + sum(h, axis=0) + max(h, axis=0)
    return sort(softmax(h), axis=0)
"""
SUMS = """module {
  sdy.mesh @pod = <["data"=2]>
  func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}, {}]>}) -> tensor<8xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %a = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %y = stablehlo.exponential %x : tensor<8x4xf32>
    %b = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %z = stablehlo.negate %y : tensor<8x4xf32>
    %c = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %d = stablehlo.multiply %a, %b : tensor<8xf32>
    %e = stablehlo.divide %d, %c : tensor<8xf32>
    return %e : tensor<8xf32>
  }
}
"""  # noqa: E501
EXAMPLES = ("megatron_mlp", "transformer_layer", "layers", "vocabulary", "weight_gathering")


def programs() -> Iterator[str]:
    yield LAYERS
    yield SUMS
    for example in EXAMPLES:
        for path in sorted((Path(__file__).parents[3] / "examples" / example).glob("*.shard")):
            yield path.read_text(encoding="utf-8")


def localized(text: str, numbered: bool) -> str:
    """The program of one device, without the numbers of its values."""
    language = "mlir" if text.startswith("module") else "shard"
    module: ModuleOp = read(text, Options(file=f"prog.{language}", language=language))
    lower(module, Options(), "collectives")
    Localize(number_values=numbered).apply(make_context(), module)
    for op in module.walk():
        op.attributes.pop(VALUES, None)
    return print_module(module)


@pytest.mark.parametrize("text", list(programs()))
def test_operations_are_the_same(text: str):
    assert localized(text, numbered=False) == localized(text, numbered=True)


def test_like_operations_are_made_by_a_recipe(monkeypatch: pytest.MonkeyPatch):
    made = list[type]()
    original = recipes._Recipe.make

    def told(recipe: recipes._Recipe, operands: Sequence[SSAValue], place: Location, layer: object):
        made.append(recipe.kind)
        return original(recipe, operands, place, layer)

    monkeypatch.setattr(recipes._Recipe, "make", told)
    localized(SUMS, numbered=False)
    assert [kind.name for kind in made].count("stablehlo.reduce") == 2  # of three, with their bodies
    made.clear()
    localized(LAYERS, numbered=False)
    names = [kind.name for kind in made]
    assert names.count("stablehlo.tanh") == 2  # of three
    assert "stablehlo.sort" not in names


REDUCED = "    x = x + gelu(x @ {0}.up) @ {0}.down * max(x * {0}.gain, axis=1, keepdims=True)\n"


def test_layers_of_a_folded_program_are_made_by_recipes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operation says of which layer it is, those in bodies too."""
    monkeypatch.setenv(cache.VARIABLE, "off")
    made = list[str]()
    original = recipes._Recipe.make

    def told(recipe: recipes._Recipe, operands: Sequence[SSAValue], place: Location, layer: object):
        made.append(recipe.kind.name) if layer is not None else None
        return original(recipe, operands, place, layer)

    monkeypatch.setattr(recipes._Recipe, "make", told)
    program = forward(12, REDUCED)
    by_recipes = per_device(program)
    assert made.count("stablehlo.reduce") > 2
    monkeypatch.setattr(localize, "RememberingLocalizer", Localizer)
    assert per_device(program) == by_recipes


def per_device(text: str) -> str:
    """A program as localize leaves it, of which layers are left out."""
    module: ModuleOp = read(text, Options(file="prog.shard", language="shard"))
    FoldLayers(worth=8).apply(make_context(), module)
    assert FOLDED in module.attributes
    for stage in ("sharded", "collectives"):
        for name in STAGES[stage]:
            if name != "fold-layers":
                PASSES[name]()().apply(make_context(), module)
    localize.Localize().apply(make_context(), module)
    return print_module(module)
