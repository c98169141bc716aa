"""Records in emitted programs: classes, what main takes and gives, and the names of arrays in files."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

import shardc
from shardc.backend.python.records import leaf_places, table_key
from shardc.cli.shardc import main as command
from shardc.compilation import emit
from shardc.dialects.snapshot import snapshot
from shardc.dialects.trees import INTERFACE
from shardc.frontend.read import read
from shardc.graph.trees import Branch
from shardc.launch.program import arguments_of, inputs_of, load_program, placed
from shardc.options import Options
from shardc.runtime.trees import leaves
from tests.tolerance import assert_near

NESTED = (Path(__file__).parents[2] / "e2e/programs/nested_records.shard").read_text()
DICTS = (Path(__file__).parents[2] / "e2e/programs/dict_trees.mlir").read_text()
PLAIN = """
record Layer:
    up: f32[4, 8]
    max: f32[8]
    _x: f32[]

def main(x: f32[2, 4], layer: Layer) -> Layer:
    return Layer(layer.up * 2, sum(x @ layer.up, axis=0), layer._x)
"""
SPLIT = "mesh m[i=2]\n" + PLAIN.replace("f32[2, 4]", "f32[2@i, 4]")


def tensors(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("text", [PLAIN, SPLIT], ids=["one device", "two devices"])
@pytest.mark.parametrize("target", ["jax", "numpy"])
def test_main_takes_records_and_tuples_and_lists(text: str, target: str):
    program = shardc.compile(text, target=target)
    x, up, down, scale = tensors((2, 4), (4, 8), (8,), ())
    layer: Any = program.module.Layer
    for given in ((up, down, scale), [up, down, scale], layer(up, down, scale)):
        made = program.main(x, given)
        assert isinstance(made, layer) and made._fields == ("up", "max", "x")
        assert_near(made.up, up * 2)
        assert_near(made.max, (x @ up).sum(axis=0))
    with pytest.raises(TypeError):
        program.main(x, (up, down))
    with pytest.raises(TypeError):
        program.main(x, (up, down, scale, scale))
    with pytest.raises(TypeError):
        program.main(x, up, down, scale)


def test_a_pass_that_drops_the_attribute_leaves_tensors():
    module = read(NESTED, Options(file="nested.shard"))
    (main,) = [op for op in module.body.block.ops if INTERFACE in op.attributes]
    whole = snapshot(module).graph.main.interface
    assert whole is not None and [name for name, _ in whole.parameters] == ["x", "model", "two"]
    del main.attributes[INTERFACE]
    graph = snapshot(module).graph
    assert graph.main.interface is None
    from shardc.compilation import lower

    text = emit(lower(module, Options(target="numpy")), "numpy")
    assert "NamedTuple" not in text and "model_layers_up" in text


def test_it_travels_through_the_text_of_the_ir(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "a.shard").write_text(NESTED)
    assert command([str(tmp_path / "a.shard"), "--emit", "ir", "-o", str(tmp_path / "a.mlir")]) == 0
    texts: list[str] = []
    for name in ("a.shard", "a.mlir"):
        out = tmp_path / f"{name}.py"
        assert command([str(tmp_path / name), "--target", "numpy", "-o", str(out)]) == 0
        texts.append(out.read_text().split("class Layer", 1)[1].split("if __name__")[0])
    assert "class Model(NamedTuple):" in texts[0]
    assert [line for line in texts[0].splitlines() if "line" not in line] == [
        line for line in texts[1].splitlines() if "line" not in line
    ]


@pytest.mark.parametrize("dot", [".", "_"])
def test_names_in_files(dot: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    x, up, down, scale = tensors((2, 4), (4, 8), (8,), ())
    held: dict[str, Any] = {"x": x, f"layer{dot}up": up, f"layer{dot}max": down, f"layer{dot}_x": scale}
    np.savez(tmp_path / "in.npz", **held)
    (tmp_path / "a.shard").write_text(SPLIT)
    assert command([str(tmp_path / "a.shard"), "--run", "--inputs", str(tmp_path / "in.npz")]) == 0
    held |= {"layer.up": up, "layer_up": up}
    np.savez(tmp_path / "in.npz", **held)
    assert command([str(tmp_path / "a.shard"), "--run", "--inputs", str(tmp_path / "in.npz")]) == 1
    assert "the program has no parameter layer_up" in capsys.readouterr().err


@pytest.mark.parametrize("dot", [".", "_"])
def test_a_process_loads_what_main_local_takes(dot: str, tmp_path: Path):
    text = shardc.compile(NESTED, target="mpi").source
    (tmp_path / "program.py").write_text(text)
    pytest.importorskip("mpi4py")
    module = load_program(str(tmp_path / "program.py"))
    from shardc.runtime import Mesh

    layouts = placed(module.PARAMS, Mesh(module.AXES, module.DEVICES))
    assert "model.pair.1.down" in layouts
    held: dict[str, Any] = {
        name.replace(".", dot): np.ones(one.type.shape, np.float32) for name, one in layouts.items()
    }
    np.savez(tmp_path / "in.npz", **held)
    blocks = inputs_of(str(tmp_path / "in.npz"), layouts, [0])
    x, model, two = arguments_of({name: block[0] for name, block in blocks.items()})
    assert x.shape == (4, 16) and len(two) == 2
    (first_up, _), (scale, (_, down)), (layers_up, _) = model
    assert [one.shape for one in (first_up, scale, down, layers_up)] == [(16, 8), (16,), (8, 16), (3, 16, 8)]
    assert len(leaves((x, model, two))) == len(layouts)


@pytest.mark.parametrize("names", [["p.b", "p.layers.0.w", "x"], ["p_b", "p_layers_0_w", "x"], None])
@pytest.mark.parametrize("target", ["mpi", "jax"])
def test_dicts_are_what_a_process_loads(target: str, names: list[str] | None, tmp_path: Path):
    pytest.importorskip("mpi4py" if target == "mpi" else "jax")
    text = shardc.compile(DICTS, language="mlir", target=target, process_data=target == "jax").source
    assert "def main_local(p, x):" in text
    (tmp_path / "program.py").write_text(text)
    module = load_program(str(tmp_path / "program.py"))
    assert list(module.PARAMS) == ['p["b"]', 'p["layers"].0["w"]', "x"]
    layouts = placed(module.PARAMS, None)
    shapes = (8,), (4, 8), (8, 4)
    held: dict[str, Any] = dict(zip(names or module.PARAMS, tensors(*shapes), strict=True))
    np.savez(tmp_path / "in.npz", **held)
    blocks = inputs_of(str(tmp_path / "in.npz"), layouts, [0])
    p, x = arguments_of({name: block[0] for name, block in blocks.items()})
    assert p.keys() == {"b", "layers"} and p["b"].shape == (8,) and x.shape == (8, 4)
    assert [layer["w"].shape for layer in p["layers"]] == [(4, 8)]


@drawn(st.lists(st.text(max_size=6), min_size=1, max_size=4, unique=True))
def test_any_key_of_a_dict_is_in_the_names_of_tables(keys: list[str]):
    places = leaf_places(Branch((None,) * len(keys), "", tuple(keys)), "p")
    table = ast.literal_eval(f"{{{', '.join(f'{table_key(place)}: {i}' for i, place in enumerate(places))}}}")
    assert arguments_of(table) == [{key: i for i, key in enumerate(keys)}]


def test_the_type_of_a_deep_tree_is_told_as_far_as_it_fits():
    jax = pytest.importorskip("jax")

    class Moments(NamedTuple):
        mu: dict[str, Any]
        nu: dict[str, Any]

    layer = {"attention": {"query": {"kernel": tensors((4,))[0]}, "scale": tensors((4,))[0]}}
    deep = {"blocks": (layer, layer), "out": tensors((4,))[0]}
    given = Moments(deep, {"w": tensors((4,))[0]})
    program = shardc.from_jax(lambda state: jax.tree.map(lambda x: x * 2, state), given)
    fields = [line for line in program.source.splitlines() if line.startswith(("    mu: ", "    nu: "))]
    assert fields == [
        "    mu: dict[str, tuple[dict[str, dict], dict[str, dict]] | jax.Array]",
        "    nu: dict[str, jax.Array]",
    ]
