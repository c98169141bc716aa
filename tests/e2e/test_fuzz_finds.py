"""What the fuzzer found, and its kind: errors with a place, or results, where there were tracebacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardc.cli import layout, opt
from shardc.cli.shardc import main as compile_
from shardc.planning.machines import reader

MESH = 'sdy.mesh @m = <["x"=4]>\n'


def function(body: str, type: str = "8xf32") -> str:
    """A function of `%0`, which returns `%1`."""
    head = f"func.func @main(%0: tensor<{type}>) -> tensor<{type}>"
    return f"{head} {{\n  {body}\n  return %1 : tensor<{type}>\n}}\n"


def per_device(body: str) -> str:
    """The same, of blocks of four devices."""
    sides = " ".join(f'{side}_shardings=[<@m, [{{"x"}}]>]' for side in ("in", "out"))
    return MESH + function(
        f"""%1 = sdy.manual_computation(%0) {sides} manual_axes={{"x"}} (%2: tensor<2xf32>) {{
    {body}
    sdy.return %3 : tensor<2xf32>
  }} : (tensor<8xf32>) -> tensor<8xf32>"""
    )


def permute(pairs: str) -> str:
    return per_device(
        f'%3 = "stablehlo.collective_permute"(%2) <{{source_target_pairs = {pairs}}}>'
        " : (tensor<2xf32>) -> tensor<2xf32>"
    )


def summed(attributes: str) -> str:
    return per_device(f"""%3 = "stablehlo.all_reduce"(%2) <{{{attributes}}}> ({{
    ^bb0(%4: tensor<f32>, %5: tensor<f32>):
      %6 = stablehlo.add %4, %5 : tensor<f32>
      stablehlo.return %6 : tensor<f32>
    }}) : (tensor<2xf32>) -> tensor<2xf32>""")


NARROW = MESH + function("%1 = stablehlo.add %0, %0 : tensor<8xf4E2M1FN>", "8xf4E2M1FN").replace(
    "f4E2M1FN>)", 'f4E2M1FN> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})', 1
)
RAGGED = per_device(
    "%4 = stablehlo.constant dense<1> : tensor<4xi32>\n"
    "%3 = stablehlo.custom_call @ragged_all_to_all(%2, %2, %4, %4, %4, %4) {api_version = 4 : i32,"
    " backend_config = {OPTIONS}} : (tensor<2xf32>, tensor<2xf32>, tensor<4xi32>,"
    " tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)"
    " -> tensor<2xf32>"
)
NOWHERE = """func.func @nowhere() {
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"a"} () {
    sdy.return
  } : () -> ()
  return
}
"""
WIDE = "stablehlo.broadcast_in_dim %0, dims = [9223372036854775808] : (tensor<8xf32>) -> tensor<8xf32>"
MODULES = (
    (NARROW, "insert-reshards", "a value is of type f4E2M1FN, of which per-device code has none"),
    (
        RAGGED.replace("OPTIONS", "channel_id = 1 : i64"),
        "name-axes",
        "names no devices in its replica_groups",
    ),
    (
        RAGGED.replace("OPTIONS", 'replica_groups = "a"'),
        "name-axes",
        "names no devices in its replica_groups",
    ),
    (
        permute("dense<[[0, 1, 2]]> : tensor<1x3xi64>"),
        "name-axes",
        "has source_target_pairs that are not pairs",
    ),
    (permute("dense<0> : tensor<3xi64>"), "name-axes", "source_target_pairs"),
    (
        summed("replica_groups = dense<0> : tensor<1x99999999999999999999xi64>"),
        "",
        "a table in an attribute has",
    ),
    (summed("replica_groups = dense<0> : tensor<99999x99999xi64>"), "", "has 9999800001 elements"),
    (MESH + function(f"%1 = {WIDE}"), "", "is an error"),
    (NOWHERE, "name-axes", "no mesh here has the axes of this per-device code: a"),
    (MESH + NOWHERE, "combine-collectives", "no mesh here has the axes of this per-device code: a"),
    ('sdy.constant @m = <["x"=2]>', "", "expected the values of a tensor"),
)


@pytest.mark.parametrize(("text", "passes", "message"), MODULES)
def test_modules(
    text: str, passes: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(text)
    assert opt.main([str(path), "-p", passes]) == 1
    said = capsys.readouterr().err
    assert f"{path}:" in said and ": error: " in said
    assert message in said or message == "is an error"


def test_a_channel_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "in.mlir"
    channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
    path.write_text(summed(f"{channel}, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"))
    assert opt.main([str(path), "-p", "propagate,sdy-convert-global-to-local"]) == 0
    assert channel in capsys.readouterr().out


@pytest.mark.parametrize("size", ["9" * 30, "-" + "9" * 30])
def test_numbers_of_programs(size: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "in.shard"
    path.write_text(f"def main(x: f32[4]) -> f32[4]:\n    return pad(x, (({size}, 1),))[:4]\n")
    assert compile_([str(path), "--check"]) == 1
    assert f"{path}:2:" in capsys.readouterr().err


@pytest.mark.parametrize("devices", ["1" + "0" * 30, str(reader.MOST + 1)])
def test_numbers_of_machines(devices: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    laptop = Path(reader.__file__).with_name("h100-infiniband.toml").read_text()
    path = tmp_path / "in.toml"
    path.write_text(laptop.replace("devices = 8", f"devices = {devices}"))
    program = tmp_path / "in.shard"
    program.write_text("mesh m[a=2]\ndef main(x: f32[4@a]) -> f32[]:\n    return sum(x)\n")
    assert compile_([str(program), "--cost", "--machine", str(path)]) == 1
    assert "links.devices is at most 2^31, not" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--tensor-map", "b//,a"], ["--alias", "a//,b"], ["--tensor-map", "a + b"]]
)
def test_lists_of_layouts(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    given = {"--device-matrix": "2,2", "--alias": "a,b", "--tensor-map": "b,a", words[0]: words[1]}
    options = [word for pair in given.items() for word in pair]
    with pytest.raises(SystemExit):
        layout.main(["mindspore", *options, "--shape", "4,4"])
    assert f"argument {words[0]}: '{words[1]}'" in capsys.readouterr().err


def test_layouts_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A large dimension of a tensor without elements took all memory."""
    spec = "{devices=[2,1,4]<=[2,4]T(1,0) last_tile_dim_replicate}"
    assert layout.main(["hlo", "--spec", spec, "--shape", "0,2147483648"]) == 0
    assert "2147483648" in capsys.readouterr().out


def test_long_blocks_without_values(capsys: pytest.CaptureFixture[str]) -> None:
    """The second half of one column has 357 rows of nothing."""
    spec = '<@mesh, [{"x"}, {"y":(1)2}]>'
    assert layout.main(["sdy", "--mesh", "x=2,y=4", "--spec", spec, "--shape", "715,1"]) == 0
    assert "no values" in capsys.readouterr().out


def test_a_shard_of_a_long_axis(capsys: pytest.CaptureFixture[str]) -> None:
    """Its elements were listed, which took all memory."""
    spec = "{device: [0, 0, 1], sharded_dim: [{axis: 0, num_shards: 3}]}"
    assert layout.main(["onnx", "--spec", spec, "--shape", "735,2147483648"]) == 0
    assert "0:2147483648" in capsys.readouterr().out
