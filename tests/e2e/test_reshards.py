"""Changes of layout that other partitioners get wrong: axes that trade places, parts of axes, threes."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardc.cli.shardc import main

PROGRAM = """module {{
  sdy.mesh @m = <["x"={x}, "y"={y}, "z"={z}]>
  func.func @main(%a: tensor<12x24xf32> {{sdy.sharding = #sdy.sharding<@m, [{source}]>}})
      -> (tensor<{type}xf32> {{sdy.sharding = #sdy.sharding<@m, [{target}]>}}) {{
    {body}
    return %1 : tensor<{type}xf32>
  }}
}}
"""
SAME = "%1 = stablehlo.tanh %a : tensor<12x24xf32>"
TRANSPOSED = "%1 = stablehlo.transpose %a, dims = [1, 0] : (tensor<12x24xf32>) -> tensor<24x12xf32>"

CHANGES = [
    ('{"x"}, {"y"}', '{"y"}, {"x"}'),
    ('{"x", "z"}, {"y"}', '{"y", "x"}, {"z"}'),
    ('{"x", "y"}, {}', '{"y", "x"}, {}'),
    ('{"x", "y"}, {"z"}', '{"z"}, {"x", "y"}'),
    ('{"z", "x"}, {}', '{}, {"x", "z"}'),
    ('{"x":(1)2}, {"z"}', '{"z"}, {"x":(1)2}'),
    ('{"x":(1)2, "y"}, {"z"}', '{"y"}, {"z", "x":(1)2}'),
]


@pytest.mark.parametrize("body", [SAME, TRANSPOSED], ids=["same", "transposed"])
@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 3, 2), (4, 2, 3)], ids=str)
@pytest.mark.parametrize(("source", "target"), CHANGES)
def test_the_result_is_what_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, target: str, sizes: tuple, body: str
) -> None:
    x, y, z = sizes
    if x == 2:
        source, target = source.replace('"x":(1)2', '"x"'), target.replace('"x":(1)2', '"x"')
    type = "24x12" if body == TRANSPOSED else "12x24"
    path = tmp_path / "prog.mlir"
    path.write_text(PROGRAM.format(x=x, y=y, z=z, source=source, target=target, body=body, type=type))
    assert main([str(path), "--run"]) == 0
    assert "equal" in capsys.readouterr().out


QUICK = [
    ('{}, {"y"}', '{"y", "x"}, {}'),
    ('{"y"}, {}', '{"x"}, {"y"}'),
    ('{"z"}, {"y"}', '{"y", "x"}, {"z"}'),
    ('{"x"}, {"z", "y"}', '{"y"}, {}'),
]


@pytest.mark.parametrize("machine", ["tpu-v5e", "h100-infiniband"])
@pytest.mark.parametrize(("source", "target"), [*CHANGES[:5], *QUICK])
def test_in_the_least_time_it_is_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, target: str, machine: str
) -> None:
    """Ways of several copies, each of which is one collective."""
    path = tmp_path / "prog.mlir"
    said = PROGRAM.format(x=2, y=2, z=2, source=source, target=target, body=SAME, type="12x24")
    path.write_text(said.replace("12x24", "64x64"))
    assert main([str(path), "--run", "--machine", machine]) == 0
    assert "equal" in capsys.readouterr().out
