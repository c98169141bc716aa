"""Weights stay in the model: the functions of an emitted file that load them."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import numpy as np
import onnx
import pytest
from jax.sharding import PartitionSpec as P
from ml_dtypes import int4
from onnx import helper, numpy_helper

import shardc
from tests.onnx_small import MESH, RNG, SHARDINGS, W1, W2, mlp, model
from tests.tolerance import assert_product, assert_sums

jax.config.update("jax_num_cpu_devices", 8)


def _assert_mlp(got: Any, x: np.ndarray) -> None:
    """Sums of sums: the roundings of both are independent."""
    first, second = W1.astype(np.float64), W2.astype(np.float64)
    magnitude = np.abs(x) @ np.abs(W1) @ np.abs(W2)
    assert_sums(np.asarray(got), np.maximum(x @ first, 0) @ second, sum(W1.shape), magnitude, "f32")


def test_weights_are_arguments_and_loaded_by_name(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(mlp(), path)
    program = shardc.from_onnx(str(path), dims={"batch": 8}, mesh=MESH, shardings=SHARDINGS, target="numpy")
    weights = program.module.load_weights(str(path))
    assert list(weights) == ["W1", "W2"]
    x = RNG.standard_normal((8, 16)).astype(np.float32)
    _assert_mlp(program.main(x, *weights.values()), x)


def test_external_data_is_mapped(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(mlp(), path, save_as_external_data=True, location="w.bin", size_threshold=0)
    program = shardc.from_onnx(str(path), dims={"batch": 2}, target="numpy")
    weights = program.module.load_weights(str(path))
    np.testing.assert_array_equal(weights["W2"], W2)


@pytest.mark.parametrize("target", ["jax", "numpy"])
@pytest.mark.parametrize("external", [False, True])
def test_weights_of_four_bits(tmp_path: Path, target: str, external: bool) -> None:
    """Two are in a byte of the file, and the last of 15 is alone; scales and zero points are per block."""
    path = tmp_path / "m.onnx"
    q, zero = RNG.integers(-8, 8, (15, 3)).astype(int4), RNG.integers(-8, 8, (5, 3)).astype(int4)
    scale = RNG.standard_normal((5, 3)).astype(np.float32)
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["w"], axis=0, block_size=3),
        helper.make_node("MatMul", ["x", "w"], ["y"]),
    ]
    proto = model(nodes, {"x": [4, 15]}, ["y"], q=q, scale=scale, zero=zero)
    proto.opset_import[0].version = 21
    onnx.save(proto, path, save_as_external_data=external, location="w.bin", size_threshold=20)
    wishes = {"x": "P('data')", "q": "P(None, 'model')"}
    program = shardc.from_onnx(str(path), mesh="pod[data=2, model=3]", shardings=wishes, target=target)
    weights = program.module.load_weights(str(path))
    np.testing.assert_array_equal(weights["q"], q)
    blocks = program.module.load_blocks(str(path))
    x = RNG.standard_normal((4, 15)).astype(np.float32)
    w = (q.astype(np.float64) - np.repeat(zero.astype(np.float64), 3, 0)) * np.repeat(scale, 3, 0)
    assert_product(np.asarray(program.main(x, *blocks.values())), x, w.astype(np.float32))


@pytest.mark.parametrize("external", [False, True])
def test_each_process_loads_its_blocks(tmp_path: Path, external: bool) -> None:
    """Every block is one of a device, none is the whole, and main takes them as they lie."""
    path = tmp_path / "m.onnx"
    onnx.save(mlp(), path, save_as_external_data=external, location="w.bin", size_threshold=0)
    program = shardc.from_onnx(str(path), dims={"batch": 8}, mesh=MESH, shardings=SHARDINGS)
    blocks = program.module.load_blocks(str(path))
    assert [(name, block.sharding.spec) for name, block in blocks.items()] == [
        ("W1", P(None, "model")),
        ("W2", P("model", None)),
    ]
    assert {shard.data.shape for shard in blocks["W1"].addressable_shards} == {(16, 32)}
    np.testing.assert_array_equal(blocks["W1"], W1)
    np.testing.assert_array_equal(blocks["W2"], W2)
    x = RNG.standard_normal((8, 16)).astype(np.float32)
    _assert_mlp(program.main(x, *blocks.values()), x)


def test_a_weight_that_main_pads_is_loaded_whole(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    weight = RNG.standard_normal((16, 5)).astype(np.float32)
    proto = model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": [4, 16]}, ["y"], w=weight)
    onnx.save(proto, path)
    program = shardc.from_onnx(str(path), mesh=MESH, shardings={"w": "P(None, 'model')"})
    blocks = program.module.load_blocks(str(path))
    assert blocks["w"].sharding.spec == P()
    x = RNG.standard_normal((4, 16)).astype(np.float32)
    assert_product(program.main(x, blocks["w"]), x, weight)


def test_a_constant_of_a_function_is_found(tmp_path: Path) -> None:
    """A function's names are its own: this constant is called as a stored tensor of the graph is."""
    inside = [
        helper.make_node("Constant", [], ["W1"], value=numpy_helper.from_array(W2.T)),
        helper.make_node("MatMul", ["a", "W1"], ["b"]),
    ]
    function = helper.make_function("own", "Product", ["a"], ["b"], inside, [helper.make_opsetid("", 18)])
    nodes = [
        helper.make_node("MatMul", ["x", "W1"], ["h"]),
        helper.make_node("Product", ["x"], ["g"], domain="own"),
        helper.make_node("Add", ["h", "g"], ["y"]),
    ]
    proto = model(nodes, {"x": [4, 16]}, ["y"], W1=W1)
    proto.opset_import.append(helper.make_opsetid("own", 1))
    proto.functions.append(function)
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    program = shardc.from_onnx(str(path), target="numpy")
    weights = program.module.load_weights(str(path))
    x = RNG.standard_normal((4, 16)).astype(np.float32)
    exact, magnitude = x @ (W1.astype(np.float64) + W2.T), np.abs(x) @ (np.abs(W1) + np.abs(W2.T))
    assert_sums(program.main(x, *weights.values()), exact, 2 * len(W1), magnitude, "f32")


def test_another_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(mlp(), path)
    program = shardc.from_onnx(str(path), dims={"batch": 8}, target="numpy")
    onnx.save(model([helper.make_node("Relu", ["x"], ["y"])], {"x": [4]}, ["y"]), path)
    with pytest.raises(ValueError, match="the model has no tensor W1"):
        program.module.load_weights(str(path))


def test_emulated_devices_load_their_blocks(tmp_path: Path) -> None:
    """Blocks are views of the mapped file, and main takes them."""
    path = tmp_path / "m.onnx"
    onnx.save(mlp(), path, save_as_external_data=True, location="w.bin", size_threshold=0)
    program = shardc.from_onnx(str(path), dims={"batch": 8}, mesh=MESH, shardings=SHARDINGS, target="numpy")
    blocks = program.module.load_blocks(str(path))
    assert {shard.data.shape for shard in blocks["W1"].shards} == {(16, 32)}
    assert isinstance(blocks["W1"].shards[0].data.base, np.memmap)
    np.testing.assert_array_equal(blocks["W1"].shards[3].data, W1[:, 32:])
    np.testing.assert_array_equal(blocks["W2"], W2)
    x = RNG.standard_normal((8, 16)).astype(np.float32)
    _assert_mlp(program.main(x, *blocks.values()), x)


def test_an_uneven_weight_is_whole_on_emulated_devices(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    weight = RNG.standard_normal((16, 5)).astype(np.float32)
    proto = model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": [4, 16]}, ["y"], w=weight)
    onnx.save(proto, path)
    program = shardc.from_onnx(str(path), mesh=MESH, shardings={"w": "P(None, 'model')"}, target="numpy")
    blocks = program.module.load_blocks(str(path))
    assert {shard.data.shape for shard in blocks["w"].shards} == {(16, 5)}
    x = RNG.standard_normal((4, 16)).astype(np.float32)
    assert_product(program.main(x, blocks["w"]), x, weight)


def test_without_a_mesh_there_are_no_blocks(tmp_path: Path) -> None:
    for target in ("jax", "numpy", "mpi"):
        program = shardc.from_onnx(mlp(), dims={"batch": 8}, target=target)
        assert "def load_weights(model)" in program.source
        assert "load_blocks" not in program.source


MPI_SCRIPT = """
import sys
import numpy as np
import program
blocks = program.load_blocks(sys.argv[1])
comm = program.communicator()
x = np.load(sys.argv[2])
found = program.main_local(program.cut(comm, x, program.PARAMS["x"][2]), *blocks.values())
np.savez(sys.argv[3] + str(comm.world.rank), found=found, **blocks)
"""


@pytest.mark.skipif(find_spec("mpi4py") is None, reason="needs mpi4py")
def test_each_mpi_process_loads_its_block(tmp_path: Path) -> None:
    """Of 5 columns the last process has 2 and a column of zeros."""
    path = tmp_path / "m.onnx"
    weight = RNG.standard_normal((16, 5)).astype(np.float32)
    proto = model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": [4, 16]}, ["y"], w=weight)
    onnx.save(proto, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    program = shardc.from_onnx(
        str(path), mesh="pod[model=2]", shardings={"w": "P(None, 'model')", "y": "P()"}, target="mpi"
    )
    (tmp_path / "program.py").write_text(program.source)
    (tmp_path / "run.py").write_text(MPI_SCRIPT)
    x = RNG.standard_normal((4, 16)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    files = [str(path), str(tmp_path / "x.npy"), str(tmp_path / "out")]
    starter = [str(Path(sys.executable).with_name("mpiexec")), "-n", "2"]
    subprocess.run([*starter, sys.executable, str(tmp_path / "run.py"), *files], check=True, timeout=120)
    outs = [np.load(tmp_path / f"out{rank}.npz") for rank in range(2)]
    np.testing.assert_array_equal(outs[0]["w"], weight[:, :3])
    np.testing.assert_array_equal(outs[1]["w"], np.pad(weight[:, 3:], ((0, 0), (0, 1))))
    for out in outs:
        assert_product(out["found"], x, weight)
