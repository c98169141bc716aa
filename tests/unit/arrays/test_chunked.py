"""zarr and orbax: what their own packages write is read, and what is saved is read by them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from shardc.arrays import Group, Placed, load, open_checkpoint, reshard, save
from shardc.diagnostics import ShardcError, collecting
from shardc.graph.types import DTYPES, TensorType
from shardc.layout import Mesh as Grid
from shardc.runtime import Mesh, P, sharding_of
from shardc.semantics.blocks import cut

ts = pytest.importorskip("tensorstore")

ARRAYS = {
    "w": np.arange(13 * 7, dtype=np.float32).reshape(13, 7),
    "b": np.arange(5).astype(ml_dtypes.bfloat16),
    "s": np.array(3.5, np.float32),
    "e": np.zeros((0, 3), np.int32),
    "t": np.array([True, False, True]),
    "n": np.arange(24, dtype=np.int64).reshape(2, 3, 4),
}
SHORT = {dtype: name for name, (_, dtype) in DTYPES.items()}


def layouts_of(arrays: dict[str, np.ndarray], mesh: Grid, *spec: str | None) -> dict[str, Placed]:
    """Each as far as the spec goes."""
    return {
        name: Placed(TensorType(a.shape, SHORT[a.dtype]), sharding_of(mesh, P(*spec[: a.ndim]), a.ndim))
        for name, a in arrays.items()
    }


def blocks_of(arrays: dict[str, np.ndarray], layouts: dict[str, Placed]) -> dict[str, dict[int, np.ndarray]]:
    shardings = {name: layout.sharding for name, layout in layouts.items()}
    return {
        name: dict(enumerate(cut(array, sharding)))
        for name, array in arrays.items()
        if (sharding := shardings[name]) is not None
    }


def check(path: str, arrays: dict[str, np.ndarray], layouts: dict[str, Placed]) -> None:
    found, wanted = load(path, layouts), blocks_of(arrays, layouts)
    for name in arrays:
        for device, block in wanted[name].items():
            got = found[name][device]
            assert (got.dtype, got.shape, got.tobytes()) == (block.dtype, block.shape, block.tobytes())


FIRST, SECOND = Mesh({"a": 4, "b": 2}), Mesh({"x": 3})


@pytest.mark.parametrize("target", ["out.zarr", "out.orbax"])
def test_saved_by_two_processes_and_loaded_on_another_mesh(tmp_path: Path, target: str) -> None:
    layouts = layouts_of(ARRAYS, FIRST, "a", "b")
    whole = blocks_of(ARRAYS, layouts)
    barrier, sent, failed = threading.Barrier(2), [b"", b""], []

    def run(process: int) -> None:
        def allgather(said: bytes) -> list[bytes]:
            sent[process] = said
            barrier.wait()
            answers = list(sent)
            barrier.wait()
            return answers

        own = {name: {d: b for d, b in held.items() if d // 4 == process} for name, held in whole.items()}
        try:
            save(str(tmp_path / target), own, layouts, Group(process, 2, allgather))
        except ShardcError as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(process,)) for process in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert [file.name for file in tmp_path.iterdir()] == [target]
    check(str(tmp_path / target), ARRAYS, layouts)
    other = layouts_of(ARRAYS, SECOND, None, "x")
    check(str(tmp_path / target), ARRAYS, other)
    reshard(open_checkpoint(str(tmp_path / target)), other, str(tmp_path / "resharded"))
    check(str(tmp_path / "resharded"), ARRAYS, other)


def saved(path: Path) -> dict[str, Placed]:
    layouts = layouts_of(ARRAYS, FIRST, "a", "b")
    save(str(path), blocks_of(ARRAYS, layouts), layouts)
    return layouts


@pytest.mark.parametrize("target", ["out.zarr", "out.orbax"])
def test_damage_names_the_array(tmp_path: Path, target: str) -> None:
    layouts = saved(tmp_path / target)
    chunk = tmp_path / target / "w" / "c" / "0" / "0"
    right = chunk.read_bytes()
    chunk.write_bytes(bytes([right[0] ^ 1]) + right[1:])
    with pytest.raises(ShardcError, match=r"w: w cannot be read: DATA_LOSS.*Digest mismatch"):
        load(str(tmp_path / target), layouts)
    assert load(str(tmp_path / target), {"w": layouts["w"]}, devices=[7])  # another chunk
    chunk.write_bytes(right[:-1])
    with pytest.raises(ShardcError, match="w cannot be read"):
        load(str(tmp_path / target), layouts)
    chunk.unlink()
    with pytest.raises(ShardcError, match=r"w cannot be read: NOT_FOUND.*is missing"):
        load(str(tmp_path / target), layouts)


def test_a_changed_description_is_an_error(tmp_path: Path) -> None:
    saved(tmp_path / "out.zarr")
    said = tmp_path / "out.zarr" / "w" / "zarr.json"
    said.write_text(said.read_text().replace('"float32"', '"int32"'))
    with pytest.raises(ShardcError, match="was altered: an array is not as it was saved"):
        open_checkpoint(str(tmp_path / "out.zarr"))


@pytest.mark.parametrize("target", ["out.zarr", "out.orbax"])
def test_nothing_is_replaced_and_nothing_is_left(tmp_path: Path, target: str) -> None:
    layouts = saved(tmp_path / target)
    with pytest.raises(ShardcError, match="is there already"):
        saved(tmp_path / target)
    check(str(tmp_path / target), ARRAYS, layouts)
    bad = {"../w": layouts["s"]}
    with pytest.raises(ShardcError, match=r"\.\./w is no name in"):
        save(str(tmp_path / f"bad{Path(target).suffix}"), {"../w": {0: ARRAYS["s"]}}, bad)
    assert [file.name for file in tmp_path.iterdir()] == [target]


@pytest.mark.parametrize("target", ["out.zarr", "out.orbax"])
def test_an_array_may_be_called_as_chunks_are(tmp_path: Path, target: str) -> None:
    arrays = {"c": ARRAYS["w"], "n" if target == "out.orbax" else "n/c": ARRAYS["n"]}
    layouts = layouts_of(arrays, FIRST, "a")
    save(str(tmp_path / target), blocks_of(arrays, layouts), layouts)
    check(str(tmp_path / target), arrays, layouts)


def test_an_array_holds_no_other(tmp_path: Path) -> None:
    arrays = {"n": ARRAYS["n"], "n/a/w": ARRAYS["w"]}
    layouts = layouts_of(arrays, FIRST, "a")
    with pytest.raises(ShardcError, match="no place for n/a/w inside of n, which is an array"):
        save(str(tmp_path / "out.zarr"), blocks_of(arrays, layouts), layouts)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("version", [2, 3])
def test_what_zarr_writes(tmp_path: Path, version: int) -> None:
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "g"), mode="w", zarr_format=version)
    array = np.arange(60, dtype=np.float32).reshape(10, 6)
    group.create_array("x/y", shape=(10, 6), chunks=(4, 4), dtype="f4")[:] = array
    group.create_array("z", shape=(7,), chunks=(3,), dtype="i2")[:] = np.arange(7)
    group.create_array("empty", shape=(4,), chunks=(2,), dtype="f8", fill_value=1.5)
    stored = open_checkpoint(str(tmp_path / "g")).arrays
    assert {name: (str(s.dtype), s.shape) for name, s in stored.items()} == {
        "x/y": ("float32", (10, 6)),
        "z": ("int16", (7,)),
        "empty": ("float64", (4,)),
    }
    part = np.empty((3, 2), np.float32)
    assert stored["x/y"].read(((3, 6), (1, 3)), part) == 8 * 4 * 4  # the two chunks that it touches
    np.testing.assert_array_equal(part, array[3:6, 1:3])
    filled = np.empty(4)
    stored["empty"].read(((0, 4),), filled)
    assert filled.tolist() == [1.5] * 4  # no chunk is stored, as zarr has it


def test_what_zarr_reads(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    saved(tmp_path / "out.zarr")
    group = zarr.open_group(str(tmp_path / "out.zarr"), mode="r")
    for name in set(ARRAYS) - {"b"}:  # zarr's package has no bfloat16
        np.testing.assert_array_equal(np.asarray(group[name][...]), ARRAYS[name])


TREE = {
    "w": ARRAYS["w"],
    "layer": {"b": ARRAYS["b"], "n": ARRAYS["n"]},
    "pair": [np.ones(2), np.zeros(3)],
    "step": np.int32(7),
}
FLAT = {
    "w": TREE["w"],
    "layer.b": ARRAYS["b"],
    "layer.n": ARRAYS["n"],
    "pair.0": np.ones(2),
    "pair.1": np.zeros(3),
    "step": np.array(7, np.int32),
}


@pytest.mark.parametrize("zarr3", [False, True])
@pytest.mark.parametrize("database", [False, True])
def test_what_orbax_writes(tmp_path: Path, zarr3: bool, database: bool) -> None:
    ocp = pytest.importorskip("orbax.checkpoint")
    path = tmp_path / "c"
    ocp.PyTreeCheckpointer(use_ocdbt=database, use_zarr3=zarr3).save(path, {**TREE, "name": "a text"})
    with collecting() as warnings:
        stored = open_checkpoint(str(path)).arrays
    assert [w.message for w in warnings] == [f"{path}: name is no array (string), and is left out"]
    assert stored.keys() == FLAT.keys()
    layouts = layouts_of(FLAT, SECOND, None, "x")
    check(str(path), FLAT, layouts)
    manager = ocp.CheckpointManager(tmp_path / "steps")
    manager.save(3, args=ocp.args.StandardSave(TREE))
    manager.wait_until_finished()
    check(str(tmp_path / "steps" / "3"), FLAT, layouts)
    with pytest.raises(ShardcError, match=r"has the steps of a training\n    note: name one of them: .*/3"):
        open_checkpoint(str(tmp_path / "steps"))


def test_trees_of_a_step(tmp_path: Path) -> None:
    """Folders of a step hold what orbax's users call them; which one, is said where there are several."""
    layouts = layouts_of(ARRAYS, SECOND, None, "x")
    step = tmp_path / "steps" / "5"
    (step / "metrics").mkdir(parents=True)
    save(str(tmp_path / "c.orbax"), blocks_of(ARRAYS, layouts), layouts)
    (tmp_path / "c.orbax").rename(step / "state")
    check(str(step), ARRAYS, layouts)
    with pytest.raises(ShardcError, match=r"has the steps of a training\n    note: name one of them: .*/5$"):
        open_checkpoint(str(tmp_path / "steps"))
    shutil.copytree(step / "state", step / "params")
    with pytest.raises(ShardcError, match=r"/5 has 2 trees of arrays\n    note: .*/5/params, .*/5/state$"):
        open_checkpoint(str(step))


def test_what_orbax_reads(tmp_path: Path) -> None:
    ocp = pytest.importorskip("orbax.checkpoint")
    saved(tmp_path / "out.orbax")
    other = layouts_of(ARRAYS, SECOND, None, "x")
    reshard(open_checkpoint(str(tmp_path / "out.orbax")), other, str(tmp_path / "again.orbax"))
    for path, checkpointer in (
        ("out.orbax", ocp.StandardCheckpointer()),
        ("out.orbax", ocp.PyTreeCheckpointer()),
        ("again.orbax", ocp.StandardCheckpointer()),
    ):
        found = checkpointer.restore(tmp_path / path)
        assert found.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            assert np.asarray(found[name]).dtype == array.dtype
            np.testing.assert_array_equal(np.asarray(found[name]), array)


MEMORY = """
import re, sys
from pathlib import Path
import tensorstore
from shardc.arrays import Placed, load
from shardc.graph.types import TensorType
from shardc.runtime import Mesh, P, sharding_of
def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) << 10
spec = P(*[name or None for name in sys.argv[2].split(",")])
layout = Placed(TensorType((8192, 8192), "f32"), sharding_of(Mesh({"x": 4}), spec, 2))
before = peak()
load(sys.argv[1], {"w": layout}, devices=[2])
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("spec", ["x", ",x"])
def test_memory_of_a_process_that_loads(tmp_path: Path, spec: str) -> None:
    """The block of 64 MiB, and 64 MiB more at most."""
    layout = {"w": Placed(TensorType((8192, 8192), "f32"), sharding_of(Mesh({"x": 16}), P("x"), 2))}
    block = np.ones((512, 8192), np.float32)
    save(str(tmp_path / "w.zarr"), {"w": dict.fromkeys(range(16), block)}, layout)
    words = [sys.executable, "-c", MEMORY, str(tmp_path / "w.zarr"), spec]
    peak = int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert 64 << 20 <= peak <= (64 + 64) << 20


def test_without_tensorstore_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path / "out.zarr")
    monkeypatch.setitem(sys.modules, "tensorstore", None)
    with pytest.raises(ShardcError, match=r"note: pip install 'shardc\[chunked\]'"):
        open_checkpoint(str(tmp_path / "out.zarr"))
    with pytest.raises(ShardcError, match=r"note: pip install 'shardc\[chunked\]'"):
        saved(tmp_path / "other.zarr")
