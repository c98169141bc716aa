"""Names and texts with odd characters, wherever a module may have some: nothing gets out of its quotes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from shardc.cli.opt import main as opt
from shardc.cli.shardc import main

TEXT = """sdy.mesh @"MESH" = <["AXIS"=2, "b"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@"MESH", [{"AXIS"}, {}]>,
    jax.arg_info = "ARGUMENT"} loc("PLACE"), %y: tensor<8x8xf32>)
    -> (tensor<8x8xf32> {jax.result_info = "RESULT"}) attributes {note = "NOTE"} {
  %0 = call @"FUNCTION"(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> loc("PLACE"("FILE":1:2))
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0]
      {mhlo.frontend_attributes = {a = "ATTRIBUTE"}, my.note = "OTHER"}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("LINE")
  %2 = sdy.named_computation<"COMPUTATION">(%1) (%a: tensor<8x8xf32>) {
    %9 = stablehlo.tanh %a : tensor<8x8xf32> loc("INNER")
    sdy.return %9 : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
func.func private @"FUNCTION"(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.exponential %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""
PLACES = (
    *("MESH", "AXIS", "ARGUMENT", "PLACE", "RESULT", "NOTE", "FUNCTION", "FILE"),
    *("ATTRIBUTE", "OTHER", "LINE", "COMPUTATION", "INNER"),
)
ODD = {
    "line end": "a\\0Aimport os",
    "return": "a\\0Dimport os",
    "quote": "a\\22b",
    "three quotes": "a\\22\\22\\22b",
    "backslash": "b\\5C",
    "nothing": "a\\00b",
    "escape": "a\\1B[31mb",
    "space": "a b",
    "beyond ASCII": "é",
    "line separator": "\\E2\\80\\A8x",
    "comment": "#x",
    "brace": "a{b}",
    "keyword": "class",
}


def with_odd(place: str, odd: str) -> str:
    """All names are their own in small letters, but one."""
    text = TEXT
    for name in PLACES:
        text = text.replace(f'"{name}"', f'"{odd if name == place else name.lower()}"')
    return text


def emitted(path: Path, stage: str, capsys: pytest.CaptureFixture[str]) -> str | None:
    """What is printed; None if the module is refused."""
    code = main([str(path), "--emit", stage, "--no-cache"])
    said = capsys.readouterr()
    assert not [c for c in said.out + said.err if ord(c) < 32 and c not in "\n\t"]
    assert code in (0, 1)
    assert code == 0 or ": error: " in said.err
    return said.out if code == 0 else None


def imports(text: str) -> set[str]:
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import)]
    return {alias.name for node in nodes for alias in node.names}


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(p, marks=[] if p in ("AXIS", "PLACE", "COMPUTATION") else pytest.mark.slow)
        for p in PLACES
    ],
)
@pytest.mark.parametrize("odd", ODD)
def test_nothing_gets_out(place: str, odd: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Python has the imports that it has else; IR and programs of the language are read again."""
    path = tmp_path / "in.mlir"
    path.write_text(with_odd(place, ODD[odd]))
    for stage in ("jax", "numpy", "mpi"):
        text = emitted(path, stage, capsys)
        assert text is None or not {"os"} & imports(text)
    for stage in ("ir", "sharded", "collectives", "local", "shard"):
        text = emitted(path, stage, capsys)
        if text is None:
            continue
        again = tmp_path / ("again.shard" if stage == "shard" else "again.mlir")
        with again.open("w", newline="") as stream:
            stream.write(text)
        read = main([str(again), "--check"]) if stage == "shard" else opt([str(again), "-p", ""])
        assert (read, capsys.readouterr().err) == (0, "")


def test_an_axis_cannot_be_a_keyword_of_the_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(with_odd("AXIS", "class"))
    assert main([str(path), "--emit", "shard", "--no-cache"]) == 1
    assert "axis class of mesh mesh has no name in the .shard language" in capsys.readouterr().err
