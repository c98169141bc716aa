"""shardc reshard: between any layouts, killed and called again, and how much memory it takes."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.arrays import Placed, load, open_checkpoint, reshard, save
from shardc.arrays.saving import Group
from shardc.graph.types import DTYPES, TensorType
from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.semantics.blocks import cut


@st.composite
def meshes(draw: st.DrawFn) -> Mesh:
    """Up to three axes of odd sizes, in an order of devices of their own."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    axes = tuple(zip("abc", sizes, strict=False))
    ids = None
    if draw(st.booleans()):
        ids = tuple(draw(st.permutations(range(prod(sizes)))))
    return Mesh("m", axes, device_ids=ids)


@st.composite
def shardings(draw: st.DrawFn, mesh: Mesh, rank: int) -> Sharding:
    """Some axes, or halves of them, on some dimensions."""
    pieces: list[Axis] = []
    for name, size in mesh.axes:
        halves = [Axis(name, 2), Axis(name, size // 2, 2)] if size == 4 and draw(st.booleans()) else []
        pieces += halves or [mesh.axis(name)]
    dims: list[list[Axis]] = [[] for _ in range(rank)]
    for axis in draw(st.permutations(pieces)) if rank else ():
        if draw(st.booleans()):
            dims[draw(st.integers(0, rank - 1))].append(axis)
    return Sharding(mesh, tuple(Dim(tuple(axes)) for axes in dims))


@st.composite
def arrays(draw: st.DrawFn) -> dict[str, np.ndarray]:
    count = draw(st.integers(1, 3))
    made: dict[str, np.ndarray] = {}
    for number in range(count):
        shape = tuple(draw(st.lists(st.integers(0, 9), max_size=3)))
        dtype = DTYPES[draw(st.sampled_from(["f32", "bf16", "i8", "bool", "f64", "u16"]))][1]
        bits = np.random.default_rng(number).integers(0, 2, (*shape, dtype.itemsize), np.uint8)
        made[draw(st.sampled_from(["w", "layer/w", "b [x]"])) + str(number)] = (
            np.ascontiguousarray(bits).view(dtype).reshape(shape)
        )
    return made


def placed_all(draw: st.DataObject, given_: dict[str, np.ndarray], mesh: Mesh) -> dict[str, Placed]:
    short = {numpy: name for name, (_, numpy) in DTYPES.items()}
    return {
        name: Placed(TensorType(array.shape, short[array.dtype]), draw.draw(shardings(mesh, array.ndim)))
        for name, array in given_.items()
    }


def blocks(given_: dict[str, np.ndarray], layouts: dict[str, Placed]) -> dict[str, dict[int, np.ndarray]]:
    """By device number; `cut` has them by position."""
    found: dict[str, dict[int, np.ndarray]] = {}
    for name, array in given_.items():
        sharding = layouts[name].sharding
        assert sharding is not None
        numbers = sharding.mesh.devices.reshape(-1).tolist()
        found[name] = dict(zip(numbers, cut(array, sharding), strict=True))
    return found


@given(st.data())
def test_any_layouts(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """From a file or a folder of several processes to any mesh, and from there to a third one."""
    folder = tmp_path_factory.mktemp("reshard")
    given_ = data.draw(arrays())
    first, second, third = (placed_all(data, given_, data.draw(meshes())) for _ in range(3))
    source = str(folder / data.draw(st.sampled_from(["from.safetensors", "from"])))
    save(source, blocks(given_, first), first)
    for path, layouts in (("to", second), ("on", third)):
        reshard(open_checkpoint(source), layouts, str(folder / path))
        source = str(folder / path)
        found, wanted = load(source, layouts), blocks(given_, layouts)
        for name in given_:
            assert found[name].keys() == wanted[name].keys()
            for device, block in wanted[name].items():
                got = found[name][device]
                assert (got.shape, got.dtype, got.tobytes()) == (block.shape, block.dtype, block.tobytes())
        stored = sum(file.stat().st_size for file in Path(source).glob("*.safetensors"))
        assert stored >= sum(array.nbytes for array in given_.values())
        again = reshard(open_checkpoint(source), layouts, source + "-again")
        assert again.moved == 0  # the blocks have their borders already


def test_processes_that_save_apart_are_read_together(tmp_path: Path) -> None:
    """Two processes with half of the devices each, one after the other as threads would come."""
    import threading

    layout = Placed(
        TensorType((6, 4), "f32"),
        Sharding(Mesh("m", (("a", 4),)), (Dim((Axis("a", 4),)), Dim())),
    )
    array = np.arange(24, dtype=np.float32).reshape(6, 4)
    all_blocks = blocks({"w": array}, {"w": layout})["w"]
    barrier, sent = threading.Barrier(2), [b"", b""]

    def allgather(process: int, said: bytes) -> list[bytes]:
        sent[process] = said
        barrier.wait()
        answers = list(sent)
        barrier.wait()
        return answers

    def run(process: int) -> None:
        own = {device: all_blocks[device] for device in (2 * process, 2 * process + 1)}
        group = Group(process, 2, lambda said: allgather(process, said))
        save(str(tmp_path / "c"), {"w": own}, {"w": layout}, group)

    threads = [threading.Thread(target=run, args=(process,)) for process in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = {"w": Placed(TensorType((6, 4), "f32"))}
    reshard(open_checkpoint(str(tmp_path / "c")), whole, str(tmp_path / "one"))
    np.testing.assert_array_equal(load(str(tmp_path / "one"), whole)["w"][0], array)


RESHARD = [sys.executable, "-m", "shardc.cli.reshard"]
SIZE = (509, 300)  # prime rows: no mesh divides them


def saved(path: Path, count: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    given_ = {f"w{number}": rng.standard_normal(SIZE).astype(np.float32) for number in range(count)}
    mesh = Mesh("m", (("a", 3),))
    layouts = {
        name: Placed(TensorType(SIZE, "f32"), Sharding(mesh, (Dim((Axis("a", 3),)), Dim())))
        for name in given_
    }
    save(str(path), blocks(given_, layouts), layouts)
    return given_


def test_killed_and_called_again(tmp_path: Path) -> None:
    """kill -9 at random moments: what is finished is kept, and nothing temporary is left at the end."""
    given_ = saved(tmp_path / "from", 6)
    rng, kept = random.Random(5), 0
    for number in range(3):
        target = tmp_path / f"to{number}"
        words = [*RESHARD, str(tmp_path / "from"), "--to", "x=4,y=4", "--shard"]
        for spec in ('P("y", "x")', 'P("x", None)', 'P("y", "x")'):  # another target between
            with subprocess.Popen(
                [*words, f"w*={spec}", "-o", str(target)],
                stderr=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                text=True,
            ) as running:
                assert running.stderr is not None
                for _ in range(rng.randrange(1, 6)):
                    running.stderr.readline()
                time.sleep(rng.uniform(0, 0.01))
                running.kill()
        words += ['w*=P("y", "x")', "-o", str(target)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        kept += int(done.stdout.split(" files, ")[1].split()[0])
        left = {file.name for file in target.iterdir()}
        assert (
            len(left) == 17
        )  # sixteen devices and the index, nothing temporary, nothing of the other target
        checkpoint = open_checkpoint(str(target))
        for name, array in given_.items():
            out = np.empty(SIZE, np.float32)
            checkpoint.arrays[name].read(tuple((0, size) for size in SIZE), out)
            np.testing.assert_array_equal(out, array)
    assert kept > 0


MEMORY = """
import re, sys
from pathlib import Path
from shardc.arrays import Placed, open_checkpoint, reshard
from shardc.graph.types import TensorType
from shardc.runtime import Mesh, P, sharding_of
import zlib
def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) << 10
spec = P(*[name or None for name in sys.argv[3].split(",")])
layout = Placed(TensorType((8192, 4096), "f32"), sharding_of(Mesh({"x": 8}), spec, 2))
checkpoint = open_checkpoint(sys.argv[1])
if sys.argv[2].endswith((".zarr", ".orbax")):
    import tensorstore  # whose code is no data
before = peak()
reshard(checkpoint, {"w": layout}, sys.argv[2])
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("spec", ["x", ",x"])
@pytest.mark.parametrize("target", ["to", "to.safetensors", "to.npz", "to.zarr", "to.orbax"])
def test_memory_is_that_of_one_block(tmp_path: Path, spec: str, target: str) -> None:
    """128 MiB in eight parts: a block of 16 MiB, what is read at a time, and tensorstore's threads."""
    header = b'{"w":{"dtype":"F32","shape":[8192,4096],"data_offsets":[0,134217728]}}'
    chunked = Path(target).suffix in (".zarr", ".orbax")
    if chunked:
        pytest.importorskip("tensorstore")
    with open(tmp_path / "w.safetensors", "wb") as stream:
        stream.write(len(header).to_bytes(8, "little") + header)
        stream.truncate(8 + len(header) + (128 << 20))
    words = [sys.executable, "-c", MEMORY, str(tmp_path / "w.safetensors"), str(tmp_path / target), spec]
    peak = int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert peak <= (16 << 20) + ((64 if chunked else 24) << 20)
