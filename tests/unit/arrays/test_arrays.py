"""Blocks of arrays on disk: what is read, what is written, and what happens when something is wrong."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from shardc.arrays import ALONE, Placed, load, open_checkpoint, reshard, save
from shardc.arrays.entry import Entry
from shardc.diagnostics import ShardcError, collecting
from shardc.graph.types import TensorType
from shardc.layout import Dim, Mesh, Sharding
from shardc.runtime import P, sharding_of
from shardc.semantics.blocks import cut

MESH = Mesh("pod", (("data", 2), ("model", 4)))


def placed(array: np.ndarray, *spec, mesh: Mesh = MESH) -> Placed:
    short = {"float32": "f32", "int32": "i32", "bfloat16": "bf16", "float64": "f64"}[str(array.dtype)]
    return Placed(TensorType(array.shape, short), sharding_of(mesh, P(*spec), array.ndim))


def blocks_of(array: np.ndarray, layout: Placed) -> dict[int, np.ndarray]:
    assert layout.sharding is not None
    return dict(enumerate(cut(array, layout.sharding)))


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def check(found: dict[int, np.ndarray], array: np.ndarray, layout: Placed) -> None:
    for device, block in blocks_of(array, layout).items():
        np.testing.assert_array_equal(found[device], block)


WRITERS = {
    "model.safetensors": lambda path, arrays: save_file(arrays, path),
    "model.npz": lambda path, arrays: np.savez(path, **arrays),
}
SPECS = [(), ("data",), (None, "model"), ("model", "data"), (("data", "model"),), (None, ("model", "data"))]


@pytest.mark.parametrize("file", WRITERS)
@pytest.mark.parametrize("spec", SPECS)
def test_load_reads_what_others_write(tmp_path: Path, file: str, spec):
    array = numbers(13, 24)
    WRITERS[file](tmp_path / file, {"w": array, "b": numbers(3)})
    layout = placed(array, *spec)
    check(load(str(tmp_path / file), {"w": layout})["w"], array, layout)


def test_load_column_major_npy_and_scalars(tmp_path: Path):
    array = numbers(16, 24)
    np.save(tmp_path / "w.npy", np.asfortranarray(array))
    np.save(tmp_path / "s.npy", np.float32(3))
    layout = placed(array, "data", "model")
    found = load(str(tmp_path), {"w": layout, "s": placed(np.asarray(np.float32(3)))})
    check(found["w"], array, layout)
    assert found["s"][5] == 3


def test_load_from_several_files_by_their_index(tmp_path: Path):
    w, b = numbers(8, 8, dtype=ml_dtypes.bfloat16), numbers(8)
    save_file({"w": w}, tmp_path / "model-1.safetensors")
    save_file({"b": b}, tmp_path / "model-2.safetensors")
    weights = {"w": "model-1.safetensors", "b": "model-2.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weights}))
    layouts = {"w": placed(w, None, "model"), "b": placed(b, "data")}
    found = load(str(tmp_path), layouts)
    check(found["w"], w, layouts["w"])
    check(found["b"], b, layouts["b"])


def test_compressed_archives_are_read_with_a_warning(tmp_path: Path):
    np.savez_compressed(tmp_path / "w.npz", w=numbers(8, 8))
    with collecting() as warnings:
        check(
            load(str(tmp_path / "w.npz"), {"w": placed(numbers(8, 8), "model")})["w"],
            numbers(8, 8),
            placed(numbers(8, 8), "model"),
        )
    assert "compressed" in warnings[0].message


@pytest.mark.parametrize(
    ("spec", "most"), [(("model",), 1.0), ((None, "model"), 2.0), (("data", "model"), 2.0)]
)
def test_only_the_bytes_of_blocks_are_read(tmp_path: Path, monkeypatch, spec, most: float):
    array = numbers(64, 96)
    save_file({"w": array, "other": numbers(999)}, tmp_path / "w.safetensors")
    counted: list[int] = []
    preadv = os.preadv
    monkeypatch.setattr(os, "preadv", lambda *given: counted.append(preadv(*given)) or counted[-1])
    layout = placed(array, *spec)
    block = load(str(tmp_path / "w.safetensors"), {"w": layout}, devices=[5])["w"][5]
    np.testing.assert_array_equal(block, blocks_of(array, layout)[5])
    assert block.nbytes <= sum(counted) <= most * block.nbytes


@pytest.mark.parametrize("spec", [("model",), (None, "model"), ("data", None)])
def test_memory_of_loading_is_that_of_the_blocks(tmp_path: Path, spec):
    array = np.zeros((4096, 4096), np.float32)
    save_file({"w": array}, tmp_path / "w.safetensors")
    layout = placed(array, *spec)
    tracemalloc.start()
    try:
        block = load(str(tmp_path / "w.safetensors"), {"w": layout}, devices=[5])["w"][5]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= block.nbytes + (16 << 20)


@given(st.data())
def test_any_part_of_any_array(tmp_path_factory, data):
    shape = data.draw(st.lists(st.integers(1, 7), max_size=4))
    array = np.arange(int(np.prod(shape, dtype=int)), dtype=np.int32).reshape(shape)
    column_major = data.draw(st.booleans())
    path = tmp_path_factory.mktemp("part") / "w"
    path.write_bytes(b"abc" + array.tobytes("F" if column_major else "C"))
    bounds = tuple(tuple(sorted((data.draw(st.integers(0, n)), data.draw(st.integers(0, n))))) for n in shape)
    entry = Entry(str(path), "w", array.dtype, tuple(shape), 3, column_major)
    expected = array[tuple(slice(*b) for b in bounds)]
    out = np.zeros(expected.shape, np.int32)
    count = entry.read(bounds, out)
    np.testing.assert_array_equal(out, expected)
    assert expected.nbytes <= count <= 2 * expected.nbytes


# saving


@pytest.mark.parametrize("target", ["out.safetensors", "folder"])
@pytest.mark.parametrize("spec", SPECS)
def test_what_is_saved_is_loaded(tmp_path: Path, target: str, spec):
    array = numbers(13, 24)
    layout = placed(array, *spec)
    path = str(tmp_path / target)
    save(path, {"w": blocks_of(array, layout)}, {"w": layout})
    for other in SPECS:
        layout = placed(array, *other)
        check(load(path, {"w": layout})["w"], array, layout)


def test_others_read_what_is_saved(tmp_path: Path):
    arrays = {"w": numbers(16, 8), "b": numbers(8, dtype=ml_dtypes.bfloat16), "n": np.asarray(np.int32(7))}
    layouts = {"w": placed(arrays["w"], "data", "model"), "b": placed(arrays["b"]), "n": placed(arrays["n"])}
    path = tmp_path / "out.safetensors"
    save(str(path), {name: blocks_of(arrays[name], layouts[name]) for name in arrays}, layouts)
    for name, array in load_file(path).items():
        np.testing.assert_array_equal(array, arrays[name])
    folder = tmp_path / "folder"
    save(str(folder), {"w": blocks_of(arrays["w"], layouts["w"])}, {"w": layouts["w"]})
    with safe_open(next(folder.glob("blocks-*.safetensors")), "np") as opened:
        np.testing.assert_array_equal(opened.get_tensor("w[0:8, 2:4]"), arrays["w"][:8, 2:4])


def test_every_block_is_written_once(tmp_path: Path, monkeypatch):
    array = numbers(16, 24)
    layout = placed(array, "data")
    written: list[int] = []
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda *given: written.append(pwrite(*given)) or written[-1])
    save(str(tmp_path / "w.safetensors"), {"w": blocks_of(array, layout)}, {"w": layout})
    assert sum(written) == (tmp_path / "w.safetensors").stat().st_size


def test_a_partial_result_is_not_saved(tmp_path: Path):
    sharding = Sharding(MESH, (Dim(),), unreduced=(MESH.axis("model"),))
    layout = Placed(TensorType((8,), "f32"), sharding)
    with pytest.raises(ShardcError, match=r"w is partial.*\n.*psum"):
        save(str(tmp_path / "w"), {"w": dict.fromkeys(range(8), numbers(8))}, {"w": layout})


@pytest.mark.parametrize("target", ["out.safetensors", "folder"])
@pytest.mark.parametrize("call", ["pwrite", "fsync", "posix_fallocate", "replace"])
def test_a_save_that_fails_leaves_the_old_one(tmp_path: Path, monkeypatch, target: str, call: str):
    array = numbers(16, 24)
    layout = {"w": placed(array, "data")}
    path = tmp_path / target
    save(str(path), {"w": blocks_of(array, layout["w"])}, layout)
    before = sorted(path.parent.rglob("*"))

    def fail(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(ShardcError, match=r"cannot write .*no space left on device"):
        save(str(path), {"w": blocks_of(array + 1, layout["w"])}, layout)
    monkeypatch.undo()
    check(load(str(path), layout)["w"], array, layout["w"])
    assert sorted(path.parent.rglob("*")) == before


@pytest.mark.parametrize("target", ["out.safetensors", "folder"])
def test_saving_again_leaves_no_old_files(tmp_path: Path, target: str):
    array = numbers(16, 24)
    layout = {"w": placed(array, "data")}
    for add in range(3):
        save(str(tmp_path / target), {"w": blocks_of(array + add, layout["w"])}, layout)
    check(load(str(tmp_path / target), layout)["w"], array + 2, layout["w"])
    assert len([path for path in tmp_path.rglob("*") if path.suffix == ".safetensors"]) == 1


# what is wrong names the array


def saved(tmp_path: Path, *spec) -> tuple[Path, Placed]:
    array = numbers(64, 64)
    layout = placed(array, *spec)
    path = tmp_path / "w.safetensors"
    save(str(path), {"w": blocks_of(array, layout)}, {"w": layout}, ALONE)
    return path, layout


@pytest.mark.parametrize("spec", [("data",), (None, "model"), ("data", "model"), ()])
def test_an_altered_byte_is_found_by_who_reads_it(tmp_path: Path, spec):
    path, _ = saved(tmp_path, "data", "model")
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    layout = placed(numbers(64, 64), *spec)
    with pytest.raises(ShardcError, match=r"was altered: w\[.*64\] has another checksum"):
        load(str(path), {"w": layout}, devices=[7])


def test_a_file_that_goes_on(tmp_path: Path):
    path, layout = saved(tmp_path, "data")
    path.write_bytes(path.read_bytes() + b"ab")
    with pytest.raises(ShardcError, match="was altered: it has 2 bytes behind w, which is its end"):
        load(str(path), {"w": layout})


def test_a_truncated_file(tmp_path: Path):
    path, layout = saved(tmp_path, "data")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ShardcError, match="is truncated: w takes bytes"):
        load(str(path), {"w": layout})


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("w", numbers(64, 32), r"w is f32\[64, 64\], and f32\[64, 32\] is expected"),
        ("w", numbers(64, 64, dtype=np.float64), r"w is f32\[64, 64\], and f64\[64, 64\] is expected"),
        ("ww", numbers(64, 64), r"has no array ww\n    note: did you mean w\?"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, name: str, array: np.ndarray, message: str):
    path, _ = saved(tmp_path, "data")
    with pytest.raises(ShardcError, match=message):
        load(str(path), {name: placed(array)})


@pytest.mark.parametrize(
    "content", [b"", b"short", b"\xff" * 64, b"\x02" + b"\0" * 7 + b"[]", b"\x04" + b"\0" * 7 + b'{"a"']
)
def test_files_that_are_none(tmp_path: Path, content: bytes):
    path = tmp_path / "w.safetensors"
    path.write_bytes(content)
    with pytest.raises(ShardcError, match="no safetensors file"):
        open_checkpoint(str(path))


# resharding


@pytest.mark.parametrize("sizes", [(3,), (2, 4), (5, 1)])
@pytest.mark.parametrize("spec", [("a",), (None, "a"), ("a", "b")])
def test_reshard_between_any_meshes(tmp_path: Path, sizes, spec):
    array = numbers(13, 24)
    save(
        str(tmp_path / "from"),
        {"w": blocks_of(array, placed(array, "model", "data"))},
        {"w": placed(array, "model", "data")},
    )
    mesh = Mesh("other", tuple(zip("ab", (*sizes, 1)[:2], strict=True)))
    layout = {"w": placed(array, *spec, mesh=mesh)}
    reshard(open_checkpoint(str(tmp_path / "from")), layout, str(tmp_path / "to"))
    check(load(str(tmp_path / "to"), layout)["w"], array, layout["w"])
    back = {"w": placed(array, "data")}
    reshard(open_checkpoint(str(tmp_path / "to")), back, str(tmp_path / "back"))
    check(load(str(tmp_path / "back"), back)["w"], array, back["w"])


def test_a_reshard_that_was_stopped_goes_on(tmp_path: Path):
    path, _ = saved(tmp_path, "data")
    layout = {"w": placed(numbers(64, 64), "model", "data")}
    said: list[str] = []

    def stop(text: str) -> None:
        said.append(text)
        if len(said) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reshard(open_checkpoint(str(path)), layout, str(tmp_path / "to"), stop)
    done = reshard(open_checkpoint(str(path)), layout, str(tmp_path / "to"))
    assert (done.kept, done.written) == (3, 5)
    assert done.moved == 5 * 16 * 32 * 4 <= done.read <= 2 * done.moved
    check(load(str(tmp_path / "to"), layout)["w"], numbers(64, 64), layout["w"])
