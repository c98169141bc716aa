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


FILES = (
    "a\nimport os",
    "a\rb",
    'a"""b',
    "b\\",
    "a\x1b[31mb",
    "\u2028x",
    "\x85x",
    "\u202eb",
    "\udcff",
    "é",
    "a b",
)


def is_shown(text: str) -> bool:
    """Whether a terminal prints it as it is."""
    return all(c.isprintable() or c in "\n\t" for c in text)


@pytest.mark.parametrize("name", FILES, ids=ascii)
def test_file_names(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They stand in programs, reports and errors, on one line and with escapes."""
    monkeypatch.chdir(tmp_path)
    file = Path(f"{name}.shard")
    file.write_text("mesh m[a=2]\ndef main(x: f32[4@a]) -> f32[4]:\n    return tanh(x)\n")
    for arguments in (["--emit", "jax"], ["--cost"], ["--explain"], ["--run"]):
        assert main([str(file), *arguments, "--no-cache"]) == 0
        said = capsys.readouterr()
        assert is_shown(said.out + said.err)
        assert arguments[-1] != "jax" or not {"os"} & imports(said.out)
    file.write_text("mesh m[a=2]\ndef main(x: f32[4@a]) -> f32[5]:\n    return x\n")
    assert main([str(file), "--check"]) == 1
    said = capsys.readouterr().err
    assert is_shown(said)
    assert ".shard:3:12: error: the result of main" in said.partition("\n")[0]


ONNX_PLACES = ("x", "w", "t", "y", "graph", "node", "doc")
ONNX_ODD = (
    "a\nimport os",
    'a"""b',
    "b\\",
    "a\0b",
    "a\x1b[31mb",
    "\u2028x",
    "\u202eb",
    "class",
    "{0}",
    "</script>",
)


@pytest.mark.slow
@pytest.mark.parametrize("place", ONNX_PLACES)
@pytest.mark.parametrize("odd", ONNX_ODD, ids=ascii)
def test_names_in_onnx(place: str, odd: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As for modules: Python imports what it does else, IR is read again, reports are on their lines."""
    onnx = pytest.importorskip("onnx")
    names = {name: odd if name == place else name for name in ONNX_PLACES}
    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    x, y = (make.make_tensor_value_info(names[name], kind, [8, 8]) for name in "xy")
    w = make.make_tensor(names["w"], kind, [8, 8], [1.0] * 64)
    product = make.make_node("MatMul", [names["x"], names["w"]], [names["t"]], name=names["node"])
    relu = make.make_node("Relu", [names["t"]], [names["y"]], doc_string=names["doc"])
    graph = make.make_graph([product, relu], names["graph"], [x], [y], [w])
    path = tmp_path / "in.onnx"
    path.write_bytes(make.make_model(graph, opset_imports=[make.make_opsetid("", 18)]).SerializeToString())
    for stage in (["--emit", "jax"], ["--emit", "sharded"], ["--cost"], ["--explain"]):
        assert main([str(path), *stage, "--mesh", "m[a=2]", "--no-cache"]) == 0
        said = capsys.readouterr()
        assert is_shown(said.out + said.err)
        assert stage[-1] != "jax" or not {"os"} & imports(said.out)
        if stage[-1] == "sharded":
            again = tmp_path / "again.mlir"
            again.write_text(said.out)
            assert opt([str(again), "-p", ""]) == 0
            capsys.readouterr()
