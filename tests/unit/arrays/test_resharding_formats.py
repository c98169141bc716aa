"""shardc reshard between formats: every source into every target, killed and called again."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from math import prod
from pathlib import Path

import numpy as np
import pytest

from shardc.arrays import Checkpoint, Placed, load, open_checkpoint, reshard, save
from shardc.arrays.placed import Bounds, overlap
from shardc.diagnostics import ShardcError
from shardc.graph.types import TensorType
from shardc.layout import Mesh as Grid
from shardc.runtime import Mesh, P, sharding_of
from shardc.semantics.blocks import cut

pytest.importorskip("tensorstore")

ARRAYS = {
    "w": np.arange(13 * 7, dtype=np.float32).reshape(13, 7),
    "b": np.arange(5, dtype=np.int64),
    "s": np.array(3.5, np.float32),
    "e": np.zeros((0, 3), np.int32),
    "t": np.array([True, False, True]),
}
SHORT = {"float32": "f32", "int64": "i64", "int32": "i32", "bool": "bool"}
FIRST, SECOND = Mesh({"a": 4, "b": 2}), Mesh({"x": 3, "y": 2})
TARGETS = ("folder", "out.safetensors", "out.npz", "out.zarr", "out.orbax")


def layouts_of(mesh: Grid, *spec: str | None) -> dict[str, Placed]:
    """Each as far as the spec goes."""
    return {
        name: Placed(TensorType(a.shape, SHORT[str(a.dtype)]), sharding_of(mesh, P(*spec[: a.ndim]), a.ndim))
        for name, a in ARRAYS.items()
    }


def save_all(path: Path, layouts: dict[str, Placed]) -> None:
    blocks = {}
    for name, array in ARRAYS.items():
        sharding = layouts[name].sharding
        assert sharding is not None
        blocks[name] = dict(enumerate(cut(array, sharding)))
    save(str(path), blocks, layouts)


def check(path: Path) -> None:
    found = load(str(path), {name: Placed(placed.type) for name, placed in layouts_of(FIRST).items()})
    for name, array in ARRAYS.items():
        assert (found[name][0].dtype, found[name][0].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(found[name][0], array)


def bytes_of(bounds: Bounds, name: str) -> int:
    return prod(stop - start for start, stop in bounds) * ARRAYS[name].itemsize


def plan_between(first: dict[str, Placed], second: dict[str, Placed]) -> int:
    """The bytes of each new block that lie in an old one with other borders."""
    total = 0
    for name in ARRAYS:
        old = [bounds for _, bounds in first[name].writers(name)]
        for (_, bounds), at in itertools.product(second[name].writers(name), old):
            inside = overlap(bounds, at)
            total += bytes_of(inside, name) if inside is not None and bounds != at else 0
    return total


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", TARGETS)
def test_every_format_into_every_other(tmp_path: Path, source: str, target: str) -> None:
    first, second = layouts_of(FIRST, "a", "b"), layouts_of(SECOND, None, "x")
    (tmp_path / "from").mkdir()
    save_all(tmp_path / "from" / source, first)
    done = reshard(open_checkpoint(str(tmp_path / "from" / source)), second, str(tmp_path / target))
    check(tmp_path / target)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["from", target])
    if source == "folder":  # the one that keeps the blocks' borders
        assert done.moved == plan_between(first, second)
        total = sum(array.nbytes for array in ARRAYS.values())
        assert total <= done.read <= 2 * total  # whole rows, where a block is most of each
    else:
        each_whole = {name: Placed(placed.type) for name, placed in first.items()}
        assert done.moved == plan_between(each_whole, second)
    if target == "out.npz":
        with np.load(tmp_path / target) as archive:
            assert archive.files == list(ARRAYS)
            for name, array in ARRAYS.items():
                np.testing.assert_array_equal(archive[name], array)


def stopping_after(count: int):
    """A progress that stops the run before another block is begun."""
    calls = itertools.count()

    def progress(_: str) -> None:
        if next(calls) == count:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("target", TARGETS[1:])
def test_what_was_stopped_goes_on(tmp_path: Path, target: str) -> None:
    save_all(tmp_path / "from", layouts_of(FIRST, "a", "b"))
    source, second = open_checkpoint(str(tmp_path / "from")), layouts_of(SECOND, "x", "y")
    with pytest.raises(KeyboardInterrupt):
        reshard(source, layouts_of(SECOND, "y"), str(tmp_path / target), stopping_after(2))
    with pytest.raises(KeyboardInterrupt):
        reshard(source, second, str(tmp_path / target), stopping_after(3))
    for notes in tmp_path.glob(".*.done"):
        with notes.open("a") as stream:
            stream.write('["w", [[0,')  # a line that was torn
    assert not (tmp_path / target).exists()
    done = reshard(source, second, str(tmp_path / target))
    assert done.kept == 3
    assert done.written == sum(len(list(placed.writers(name))) for name, placed in second.items()) - 3
    check(tmp_path / target)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["from", target])


@pytest.mark.parametrize("target", ["out.zarr", "out.orbax"])
def test_what_was_killed_at_its_end_is_done(tmp_path: Path, target: str) -> None:
    """Chunks that have their place are found by the same call, and are in the way of any other."""
    save_all(tmp_path / "from", layouts_of(FIRST, "a", "b"))
    source, layouts = open_checkpoint(str(tmp_path / "from")), layouts_of(SECOND, "x", "y")
    first = reshard(source, layouts, str(tmp_path / target))
    again = reshard(source, layouts, str(tmp_path / target))
    assert (again.written, again.kept, again.read) == (0, first.written + first.kept, 0)
    with pytest.raises(ShardcError, match="is there already"):
        reshard(source, layouts_of(SECOND, "y"), str(tmp_path / target))
    check(tmp_path / target)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["from", target])


@pytest.mark.parametrize("target", ["out.npz", "out.zarr"])
def test_killed_at_random_moments(tmp_path: Path, target: str) -> None:
    """kill -9 of the command: the next call goes on, and the result is whole."""
    given = {f"w{number}": np.full((509, 300), number, np.float32) for number in range(6)}
    layouts = {name: Placed(TensorType((509, 300), "f32")) for name in given}
    save(str(tmp_path / "from"), {name: {0: array} for name, array in given.items()}, layouts)
    words = [sys.executable, "-m", "shardc.cli.reshard", str(tmp_path / "from"), "--to", "x=4,y=4"]
    words += ["--shard", 'w*=P("y", "x")', "-o", str(tmp_path / target)]
    chosen = random.Random(target)
    for _ in range(3):
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as running:
            assert running.stderr is not None
            for _ in range(chosen.randrange(2, 12)):  # of 96 blocks
                running.stderr.readline()
            running.kill()
        assert not (tmp_path / target).exists()
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert " 0 of them were there" not in done.stdout
    found = load(str(tmp_path / target), layouts)
    for name, array in given.items():
        np.testing.assert_array_equal(found[name][0], array)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["from", target])


@pytest.mark.parametrize("target", ["out.npz", "w.npy", "out.safetensors"])
def test_an_altered_file_names_the_array(tmp_path: Path, target: str) -> None:
    """Each byte of the elements, and what says where they are."""
    array = np.arange(64, dtype=np.float32).reshape(8, 8)
    layout = {"w": Placed(TensorType((8, 8), "f32"))}
    save(str(tmp_path / target), {"w": {0: array}}, layout)
    right = (tmp_path / target).read_bytes()
    start = right.index(array.tobytes())
    for at in (start, start + 100, start + 255):
        (tmp_path / target).write_bytes(right[:at] + bytes([right[at] ^ 4]) + right[at + 1 :])
        with pytest.raises(ShardcError, match=r"was altered: w\[.*\] has another checksum"):
            load(str(tmp_path / target), layout)
    (tmp_path / target).write_bytes(right.replace(b"(8, 8)", b"(4,16)").replace(b"[8,8]", b"[4,16]"))
    with pytest.raises(ShardcError, match=r"was altered|is no safetensors file"):
        load(str(tmp_path / target), {"w": Placed(TensorType((4, 16), "f32"))})
    (tmp_path / target).write_bytes(right[: start + 200])
    with pytest.raises(ShardcError, match="truncated"):
        load(str(tmp_path / target), layout)


def test_numpys_files_have_their_limits(tmp_path: Path) -> None:
    for dtype in ("bf16", "f8e5m2"):
        narrow = {"w": Placed(TensorType((2,), dtype))}
        name = narrow["w"].type.numpy
        with pytest.raises(ShardcError, match=f"NumPy's files have no dtype {name}, which w has"):
            save(str(tmp_path / "out.npz"), {"w": {0: np.zeros(2, name)}}, narrow)
    two = {name: Placed(TensorType((2,), "f32")) for name in "wb"}
    with pytest.raises(ShardcError, match=r"x.npy holds one array, which is called x, and there is w, b"):
        save(str(tmp_path / "x.npy"), {name: {0: np.zeros(2, np.float32)} for name in "wb"}, two)
    (tmp_path / "there.npz").mkdir()
    with pytest.raises(ShardcError, match="is a directory"):
        reshard(Checkpoint("none", {}), {}, str(tmp_path / "there.npz"))
    assert [file.name for file in tmp_path.iterdir()] == ["there.npz"]
