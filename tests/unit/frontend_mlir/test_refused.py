"""MLIR texts that are refused with a place, where a traceback, a hang or another meaning would be worse."""

from __future__ import annotations

import pytest

from shardc.compilation import lower
from shardc.diagnostics import ShardcError
from shardc.frontend.mlir import StrictLexer
from shardc.frontend.read import read
from shardc.options import Options

MESH = 'sdy.mesh @m = <["x"=2, "y"=2]>\n'
BODY = """func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<8xf32> {
  LINE
  return %a : tensor<8xf32>
}
"""


def refused(text: str) -> tuple[str, int]:
    options = Options(file="prog.mlir", language="mlir")
    with pytest.raises(ShardcError) as error:
        lower(read(text, options), options)
    return error.value.diagnostic.message, error.value.diagnostic.loc.line


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('%0 = stablehlo.tanh %a {n = "' + "x" * 60, "this string does not end in its line"),
        ('%0 = stablehlo.tanh %a {n = "\\q"} : tensor<8xf32>', "has an escape that there is not"),
        ("%0 = stablehlo.add %a, %0 : tensor<8xf32>", "%0 is used before its definition"),
        ('sdy.mesh @n = <["x"=2]>', "mesh n stands in a function"),
        ("%0 = stablehlo.constant dense<0.0> : f32", "a constant is a tensor"),
        ("%0 = stablehlo.constant dense<1.0> : complex<f32>", "a constant is a tensor"),
        ("%0 = stablehlo.tanh %a {n = 0 : i9999999999999} : tensor<8xf32>", "at most 16777215 bits"),
        ("%0 = sdy.data_flow_edge %a : tensor<8xf32>", "only while shardings propagate"),
    ],
)
def test_a_wrong_line(line: str, said: str) -> None:
    message, number = refused(MESH + BODY.replace("LINE", line))
    assert said in message
    assert number == 3


def test_a_use_in_a_region_before_the_definition() -> None:
    lines = """%i = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %z : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  %z = stablehlo.tanh %a : tensor<8xf32>"""
    assert refused(MESH + BODY.replace("LINE", lines)) == ("%z is used before its definition here", 7)


def test_a_long_chain_of_calls() -> None:
    link = (
        "func.func private @fI(%a: tensor<8xf32>) -> tensor<8xf32> {{\n"
        "  %0 = call @fJ(%a) : (tensor<8xf32>) -> tensor<8xf32>\n  return %0 : tensor<8xf32>\n}}\n"
    ).format()
    chain = "".join(link.replace("fI", f"f{i}").replace("fJ", f"f{i + 1}") for i in range(600))
    last = "func.func private @f600(%a: tensor<8xf32>) -> tensor<8xf32> {\n  return %a : tensor<8xf32>\n}\n"
    call = "%0 = call @f0(%a) : (tensor<8xf32>) -> tensor<8xf32>"
    message, _ = refused(MESH + chain + last + BODY.replace("LINE", call))
    assert "calls are nested more than 200 deep" in message


@pytest.mark.parametrize("name", ["a\\0Ab", "a\\22", "a\\5C", "a b", "", "ä", "a]", '"'])
def test_names_that_would_escape(name: str) -> None:
    axis = f'sdy.mesh @m = <["{name}"=2]>\n' if name != '"' else 'sdy.mesh @m = <["\\""=2]>\n'
    message, line = refused(
        axis + "func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n  return %a : tensor<8xf32>\n}"
    )
    assert (line, "no name for an axis" in message) == (1, True)


def test_a_mesh_name_that_would_escape() -> None:
    text = MESH.replace("@m", '@"m\\0A"') + BODY.replace("@m,", '@"m\\0A",').replace("LINE", "")
    assert "no name for a mesh" in refused(text)[0]


def test_the_lexer_that_is_replaced() -> None:
    """xDSL's reader still takes its lexer from the state that the parser sets."""
    from shardc.frontend.mlir import ModuleParser

    assert isinstance(ModuleParser("module {}", "prog.mlir").lexer, StrictLexer)
