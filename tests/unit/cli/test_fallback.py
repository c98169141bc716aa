"""Operations that shardc has no rule for, and operations with effects."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardc.cli.shardc import main
from shardc.ops import register_call
from shardc.ops.elementwise.rules import opaque

PROGRAM = """module {{
  sdy.mesh @m = <["x"=2, "y"=4]>
  func.func @main(%a: tensor<8x16xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{"y"}}]>}}) -> {type} {{
    {line}
    return %0{index} : {type}
  }}
}}
"""


def compiled(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    line: str,
    *options: str,
    index: str = "",
    type: str = "",
) -> tuple[int, str, str]:
    path = tmp_path / "prog.mlir"
    path.write_text(PROGRAM.format(line=line, index=index, type=type or "tensor<8x16xf32>"))
    code = main([str(path), *options])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


UNKNOWN = "%0 = stablehlo.custom_call @mine(%a) : (tensor<8x16xf32>) -> tensor<8x16xf32>"


def test_an_operation_without_a_rule_is_an_error_that_says_how_to_bring_one(tmp_path, capsys) -> None:
    code, _, err = compiled(tmp_path, capsys, UNKNOWN)
    assert code == 1
    assert "prog.mlir:4:5: error: custom_call @mine has no rule" in err
    assert "shardc.ops.register_call" in err and "--fallback replicate" in err


def test_the_fallback_gathers_and_says_what_that_costs(tmp_path, capsys) -> None:
    code, out, err = compiled(tmp_path, capsys, UNKNOWN, "--fallback", "replicate")
    assert code == 0
    assert "prog.mlir:4:5: warning: custom_call @mine has no rule" in err
    assert "448 bytes per device" in err  # 7/8 of 512
    assert out.count("lax.all_gather") == 2
    assert 'jax.ffi.ffi_call("mine", jax.ShapeDtypeStruct((8, 16), jnp.float32))' in out


def test_a_registered_rule_keeps_it_split(tmp_path, capsys) -> None:
    register_call("mine", opaque)
    with pytest.raises(ValueError, match="has a rule already"):
        register_call("mine", opaque)
    code, out, err = compiled(tmp_path, capsys, UNKNOWN)
    assert (code, err) == (0, "")
    assert "all_gather" not in out
    called = 'jax.ffi.ffi_call("mine", jax.ShapeDtypeStruct((4, 4), jnp.float32))(a)'
    words = " ".join(out.split())
    assert f'lax.pcast( {called}, ("x", "y"), to="varying", )' in words


def test_what_is_whole_everywhere_needs_no_rule(tmp_path, capsys) -> None:
    line = "%0 = stablehlo.constant dense<0.0> : tensor<8x16xf32>\n" + UNKNOWN.replace("%0", "%1").replace(
        "%a", "%0"
    )
    code, _, err = compiled(tmp_path, capsys, line, "--emit", "collectives")
    assert (code, err) == (0, "")


@pytest.mark.parametrize("fallback", ["error", "replicate"])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (UNKNOWN.replace("@mine", "@xla_ffi_python_cpu_callback"), "a host callback"),
        (UNKNOWN.replace("(%a) :", "(%a) {has_side_effect = true} :"), "an effect outside the program"),
    ],
)
def test_effects_are_errors(tmp_path, capsys, line: str, message: str, fallback: str) -> None:
    code, _, err = compiled(tmp_path, capsys, line, "--fallback", fallback)
    assert code == 1
    assert "prog.mlir:4:5: error: " in err and message in err


def test_random_bits_are_made_whole_with_a_warning(tmp_path, capsys) -> None:
    line = """%s = stablehlo.constant dense<1> : tensor<2xui64>
    %0, %b = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> BITS
    %c = stablehlo.convert %b : (tensor<8x16xui32>) -> tensor<8x16xf32>
    %d = stablehlo.add %c, %a : tensor<8x16xf32>"""
    code, _, err = compiled(
        tmp_path,
        capsys,
        line.replace("BITS", "(tensor<2xui64>, tensor<8x16xui32>)")
        .replace("%d", "%00")
        .replace("%0,", "%r,")
        .replace("%00", "%0"),
    )
    assert code == 0
    assert "warning: random bits are the same on any mesh: every device makes all 512 bytes" in err


def test_an_unknown_fallback(tmp_path, capsys) -> None:
    with pytest.raises(SystemExit):
        compiled(tmp_path, capsys, UNKNOWN, "--fallback", "hope")


def test_what_a_registered_rule_finds_is_not_kept(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("SHARDC_CACHE", str(tmp_path / "kept"))
    register_call("mine", opaque)
    assert compiled(tmp_path, capsys, UNKNOWN)[0] == 0
    assert not (tmp_path / "kept").exists()
