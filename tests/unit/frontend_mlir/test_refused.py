"""MLIR texts that are refused with a place, where a traceback, a hang or another meaning would be worse."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from shardc.cli.shardc import main
from shardc.compilation import emit, lower
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
        (
            "%0 = stablehlo.broadcast_in_dim %a, dims = [0] : "
            "(tensor<8xf32>) -> tensor<8x99999999999999999999999xf32>",
            "has more than 2^63 elements",
        ),
        (
            "%c = stablehlo.constant dense<0.0> : tensor<f32> "
            "%0 = stablehlo.pad %a, %c, low = [9223372036854775807], high = [-9223372036854775807], "
            "interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>",
            "reaches over dimension 0 of f32[8] by more than 2^31 elements",
        ),
        (
            "%c = stablehlo.constant dense<0.0> : tensor<f32> "
            '%0 = "stablehlo.reduce_window"(%a, %c) ({ ^bb0(%p: tensor<f32>, %q: tensor<f32>): '
            "%s = stablehlo.add %p, %q : tensor<f32> stablehlo.return %s : tensor<f32> }) "
            "{window_dimensions = array<i64: 1000000000000>, padding = dense<[[999999999999, 0]]> : "
            "tensor<1x2xi64>} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>",
            "reaches over dimension 0 of [8] by more than 2^31 elements",
        ),
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


def chain_of_calls(length: int) -> str:
    """@main calls the first of a chain of functions; the last returns its argument's tanh."""
    type = "tensor<8xf32>"
    link = f"func.func private @f{{}}(%a: {type}) -> {type} {{{{\n  {{}}\n  return %0 : {type}\n}}}}\n"
    call = "%0 = call @f{}(%a) : (tensor<8xf32>) -> tensor<8xf32>"
    chain = "".join(link.format(i, call.format(i + 1)) for i in range(length - 1))
    last = link.format(length - 1, "%0 = stablehlo.tanh %a : tensor<8xf32>")
    return MESH + chain + last + BODY.replace("LINE", call.format(0)).replace("return %a", "return %0")


def test_a_long_chain_of_calls() -> None:
    options = Options(file="prog.mlir", language="mlir")
    text = emit(lower(read(chain_of_calls(600), options), options), "jax")
    assert text.count("jnp.tanh(") == 1


def test_what_calls_too_deeply_is_compiled_but_not_proved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A call is a call in Python where a program is evaluated."""
    path = tmp_path / "prog.mlir"
    path.write_text(chain_of_calls(600))
    assert main([str(path), "--no-cache"]) == 0
    assert "jnp.tanh(" in capsys.readouterr().out
    main([str(path), "--prove"])
    assert "not proved: its calls are nested too deeply to be evaluated" in capsys.readouterr().out


def test_calls_are_verified_without_a_look_at_all_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """xDSL looks through all functions for each call, so that 5000 of them took minutes."""
    looked: list[Operation] = []
    look_up = SymbolTable.lookup_symbol

    def counting(op: Operation, name: str | StringAttr | SymbolRefAttr) -> Operation | None:
        looked.append(op)
        return look_up(op, name)

    monkeypatch.setattr(SymbolTable, "lookup_symbol", staticmethod(counting))
    options = Options(file="prog.mlir", language="mlir")
    read(chain_of_calls(10), options)
    assert looked == []
    wrong = chain_of_calls(10).replace(
        "call @f3(%a) : (tensor<8xf32>)", "call @f3(%a, %a) : (tensor<8xf32>, tensor<8xf32>)"
    )
    message, line = refused(wrong)
    assert (message, line) == ("incorrect number of operands for callee", 11)


def test_a_chain_of_calls_that_is_too_long() -> None:
    assert "calls are nested more than 1000 deep" in refused(chain_of_calls(1100))[0]


def test_a_program_that_is_too_long_is_refused_before_it_is_read() -> None:
    lines = "\n".join(f"%{i} = stablehlo.no_such_operation %a : tensor<8xf32>" for i in range(100_001))
    message, number = refused(MESH + BODY.replace("LINE", lines))
    assert message == "a function has more than 100000 operations"
    assert number == 100_003


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


def test_a_module_without_a_body() -> None:
    assert refused('"builtin.module"() ({\n}) : () -> ()\n')[0] == "the module has no function"
