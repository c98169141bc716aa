"""Files on real disks: what is read of each format, with how much memory, damaged files, and full disks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors import deserialize
from safetensors.numpy import load_file, save_file

from shardc.arrays import Placed, load, open_checkpoint, save
from shardc.diagnostics import ShardcError, collecting
from shardc.graph.types import DTYPES, TensorType
from shardc.layout import Mesh
from shardc.runtime import P, sharding_of

SHORT = {dtype: name for name, (_, dtype) in DTYPES.items()}
MESH = Mesh("pod", (("data", 2), ("model", 4)))
WRITERS: dict[str, Callable[[Path, np.ndarray], object]] = {
    "w.safetensors": lambda path, array: save_file({"w": array}, path),
    "w.npz": lambda path, array: np.savez(path, w=array),
    "w.npy": np.save,
}


def placed(array: np.ndarray, *spec) -> Placed:
    return Placed(TensorType(array.shape, SHORT[array.dtype]), sharding_of(MESH, P(*spec), array.ndim))


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def blocks(array: np.ndarray, layout: Placed) -> dict[int, np.ndarray]:
    """Without padding: sizes here are even."""
    return {i: array[tuple(slice(*at) for at in bounds)] for i, bounds in enumerate(layout.bounds)}


@pytest.mark.parametrize("file", WRITERS)
@pytest.mark.parametrize("devices", [(5,), (2, 3)])
@pytest.mark.parametrize(
    ("spec", "most"),
    [(("model",), 1.0), ((("model", "data"),), 1.0), ((None, "model"), 2.0), (("data", "model"), 2.0)],
)
def test_what_the_system_reads(tmp_path: Path, monkeypatch, file: str, devices, spec, most: float):
    array = numbers(64, 96)
    WRITERS[file](tmp_path / file, array)
    counted: list[int] = []
    preadv = os.preadv
    monkeypatch.setattr(os, "preadv", lambda *given: counted.append(preadv(*given)) or counted[-1])
    layout = placed(array, *spec)
    checkpoint = open_checkpoint(str(tmp_path / file))
    assert counted == []  # the structure alone
    found = load(checkpoint, {"w": layout}, devices)["w"]
    own = {layout.bounds[device]: block.nbytes for device, block in found.items()}
    assert sum(own.values()) <= sum(counted) <= most * sum(own.values())
    for device in devices:
        np.testing.assert_array_equal(found[device], blocks(array, layout)[device])


MEMORY = """
import re, sys
from pathlib import Path
from typing import Any
from shardc.arrays import Placed, load
from shardc.graph.types import TensorType
from shardc.runtime import Mesh, P, sharding_of
spec = P(*[name or None for name in sys.argv[2].split(",")])
layout = Placed(TensorType((8192, 8192), "f32"), sharding_of(Mesh({"x": 4}), spec, 2))
peak = lambda: int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) << 10
before = peak()
blocks = load(sys.argv[1], {"w": layout}, devices=[2])
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("spec", ["x", ",x"])
def test_memory_of_a_process_that_loads(tmp_path: Path, spec: str):
    size = 8192 * 8192 * 4
    header = json.dumps({"w": {"dtype": "F32", "shape": [8192, 8192], "data_offsets": [0, size]}}).encode()
    with open(tmp_path / "w.safetensors", "wb") as stream:
        stream.write(len(header).to_bytes(8, "little") + header)
        stream.truncate(8 + len(header) + size)  # no disk is used: zeros
    words = [sys.executable, "-c", MEMORY, str(tmp_path / "w.safetensors"), spec]
    peak = int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert size // 4 <= peak <= size // 4 + (64 << 20)


def test_floats_of_eight_bits_are_the_package_s(tmp_path: Path):
    """Which calls them by its own names: F8_E4M3 has no infinities."""
    for dtype, called in (
        (ml_dtypes.float8_e4m3fn, "F8_E4M3"),
        (ml_dtypes.float8_e5m2, "F8_E5M2"),
        (ml_dtypes.float8_e8m0fnu, "F8_E8M0"),
    ):
        array = np.arange(256, dtype=np.uint8).view(dtype).reshape(16, 16)
        layout = Placed(TensorType(array.shape, SHORT[array.dtype]))
        save(str(tmp_path / "w.safetensors"), {"w": {0: array}}, {"w": layout})
        ((name, said),) = deserialize((tmp_path / "w.safetensors").read_bytes())
        assert (name, said["dtype"], bytes(said["data"])) == ("w", called, array.tobytes())
        (back,) = load(str(tmp_path / "w.safetensors"), {"w": layout})["w"].values()
        np.testing.assert_array_equal(back.view(np.uint8), array.view(np.uint8))


def test_round_trip_with_the_package(tmp_path: Path):
    arrays = {
        f"layer.{short}": np.arange(64).reshape(8, 8).astype(dtype)
        for short, (_, dtype) in DTYPES.items()
        if dtype in (np.float32, np.float16, np.int8, np.int64, np.uint8, np.bool_, ml_dtypes.bfloat16)
    }
    assert len(arrays) == 7
    layouts = {name: placed(array, "data", "model") for name, array in arrays.items()}
    parts = [dict(list(arrays.items())[start::2]) for start in range(2)]
    for number, some in enumerate(parts):
        save_file(some, tmp_path / f"model-{number}.safetensors")
    names = {name: f"model-{number}.safetensors" for number, some in enumerate(parts) for name in some}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": names}))
    found = load(str(index), layouts)
    save(str(tmp_path / "out.safetensors"), found, layouts)
    back = load_file(tmp_path / "out.safetensors")
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)


def test_names_in_archives_keep_their_folders(tmp_path: Path):
    arrays: dict[str, Any] = {"one/w": numbers(2), "two/w": numbers(3)}
    np.savez(tmp_path / "w.npz", **arrays)
    assert {*open_checkpoint(str(tmp_path / "w.npz")).arrays} == {"one/w", "two/w"}


def own(path: Path, array: np.ndarray) -> None:
    save(str(path), {"w": blocks(array, placed(array, "model"))}, {"w": placed(array, "model")})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("file", "write"),
    [
        *WRITERS.items(),
        ("w.npz", lambda path, array: np.savez_compressed(path, w=array)),
        ("w.safetensors", own),
    ],
    ids=["safetensors", "npz", "npy", "compressed", "own"],
)
def test_damaged_files_are_errors_and_nothing_else(tmp_path: Path, file: str, write):
    """Cut off or altered anywhere: an error of shardc, or an array of the right shape and dtype."""
    array = numbers(16, 8)
    write(tmp_path / file, array)
    data = (tmp_path / file).read_bytes()
    rng = np.random.default_rng(1)
    for turn in range(150):
        damaged = bytearray(data)
        if turn % 3 == 0:
            del damaged[int(rng.integers(len(data))) :]
        else:
            at = int(rng.integers(len(data) if turn % 3 == 1 else min(300, len(data))))
            damaged[at] ^= 1 << int(rng.integers(8))
        (tmp_path / file).write_bytes(damaged)
        try:
            with collecting():
                block = load(str(tmp_path / file), {"w": placed(array, "model")})["w"][3]
        except ShardcError:
            continue
        assert turn % 3 != 0, "a file that was cut off"
        assert block.shape == (4, 8) and block.dtype == array.dtype


FULL = """
import resource, signal, sys
import numpy as np
from shardc.arrays import Placed, save
from shardc.diagnostics import ShardcError
from shardc.graph.types import TensorType
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
layout = {"w": Placed(TensorType((256, 256), "f32"))}
save(sys.argv[1], {"w": {0: np.zeros((256, 256), np.float32)}}, layout)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    save(sys.argv[1], {"w": {0: np.ones((256, 256), np.float32)}}, layout)
except ShardcError as error:
    print(error)
"""


@pytest.mark.parametrize("target", ["w.safetensors", "folder"])
@pytest.mark.parametrize("limit", [0, 100_000])
def test_a_file_that_has_no_room(tmp_path: Path, target: str, limit: int):
    path = tmp_path / target
    words = [sys.executable, "-c", FULL, str(path), str(limit)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "cannot write" in done.stdout and "file too large" in done.stdout
    assert not load(str(path), {"w": Placed(TensorType((256, 256), "f32"))})["w"][0].any()
    assert not [file for file in tmp_path.rglob("*") if file.name.endswith(".tmp")]
    assert len([*tmp_path.rglob("*.safetensors")]) == 1


def test_any_altered_byte_is_an_error_or_changes_nothing(tmp_path: Path) -> None:
    """Of the header too: names, dtypes, shapes, places, and the checksums themselves."""
    arrays = {
        "a": np.arange(24, dtype=np.float32).reshape(4, 6),
        "b": 2 * np.arange(24, dtype=np.float32).reshape(4, 6),
        "c": np.arange(5, dtype=np.int32),
        "d": np.array(2.5, np.float64),
    }
    short = {"float32": "f32", "int32": "i32", "float64": "f64"}
    layouts = {name: Placed(TensorType(a.shape, short[str(a.dtype)])) for name, a in arrays.items()}
    path = tmp_path / "all.safetensors"
    save(str(path), {name: {0: array} for name, array in arrays.items()}, layouts)
    right = path.read_bytes()

    def content() -> dict[str, tuple[str, tuple[int, ...], bytes]]:
        found: dict[str, tuple[str, tuple[int, ...], bytes]] = {}
        for name, stored in open_checkpoint(str(path)).arrays.items():
            out = np.empty(stored.shape, stored.dtype)
            stored.read(tuple((0, size) for size in stored.shape), out)
            found[name] = str(stored.dtype), stored.shape, out.tobytes()
        return found

    whole = content()
    assert whole == {name: (str(a.dtype), a.shape, a.tobytes()) for name, a in arrays.items()}
    for place in range(len(right)):
        for bit in (0, 5):
            altered = bytearray(right)
            altered[place] ^= 1 << bit
            path.write_bytes(altered)
            try:
                found = content()
            except ShardcError:
                continue
            assert found == whole
    header = json.loads(right[8 : 8 + int.from_bytes(right[:8], "little")])
    for change in ("dtype", "shape"):
        other = json.loads(json.dumps(header))
        other["a"][change] = "I32" if change == "dtype" else [6, 4]
        text = json.dumps(other, separators=(",", ":")).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + right[-(24 * 8 + 5 * 4 + 8) :])
        with pytest.raises(
            ShardcError, match="was altered: its header says of d, a, b, c what was not saved so"
        ):
            open_checkpoint(str(path))
