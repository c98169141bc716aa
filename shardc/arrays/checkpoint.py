"""What is stored at a path: the structure of a file or folder of arrays, without any of their bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from shardc.arrays.chunked import chunked_folder
from shardc.arrays.entry import Array, Entry, Piece
from shardc.arrays.json_files import read_object
from shardc.arrays.numpy_files import read_npy, read_npz
from shardc.arrays.placed import Bounds, extent, moved, overlap, part, whole
from shardc.arrays.safetensors import DTYPES, read_entries
from shardc.diagnostics import ShardcError

INDEX = "shardc.index.json"
"""In a folder of blocks: which file holds which block of which array."""

_READERS: dict[str, Callable[[str], dict[str, Entry]]] = {
    ".safetensors": read_entries,
    ".npy": read_npy,
    ".npz": read_npz,
}


class Stored(Struct, frozen=True):
    """An array on disk: its type, and the pieces that make it up, each at its place."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    pieces: tuple[tuple[Bounds, Piece], ...]

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def read(self, bounds: Bounds, out: Array) -> int:
        """Read what lies at `bounds` into `out`; how many bytes were read. ShardcError if some is missing."""
        count, filled = 0, 0
        for place, entry in self.pieces:
            inside = overlap(bounds, place)
            if inside is not None:
                count += entry.read(moved(inside, place), out[part(moved(inside, bounds))])
                filled += int(np.prod(extent(inside), dtype=np.int64))
        if filled != out.size:
            raise ShardcError(f"{self.name}: the pieces on disk do not make up {list(self.shape)}")
        return count


class Checkpoint(Struct, frozen=True):
    """The arrays at a path, by name."""

    path: str
    arrays: Mapping[str, Stored]


def open_checkpoint(path: str) -> Checkpoint:
    """Read the structure of a file or folder. ShardcError if there is none, or it is none of the formats."""
    place = Path(path)
    if place.is_dir():
        return Checkpoint(path, _folder(place))
    if not place.exists():
        raise ShardcError(f"cannot read {path}: no such file")
    if place.name.endswith(".index.json"):
        return Checkpoint(path, _index(place))
    return Checkpoint(path, _file(place))


def _file(path: Path) -> dict[str, Stored]:
    if path.suffix not in _READERS:
        raise ShardcError(
            f"{path}: no reader of arrays for files that end in '{path.suffix}'",
            hint=f"known are {', '.join(_READERS)}, .index.json, and folders of those",
        )
    return {name: _one(name, entry) for name, entry in _READERS[path.suffix](str(path)).items()}


def _one(name: str, entry: Piece) -> Stored:
    return Stored(name, entry.dtype, entry.shape, ((whole(entry.shape), entry),))


def _folder(path: Path) -> dict[str, Stored]:
    if (path / INDEX).exists():
        return _blocks(path)
    chunked = chunked_folder(path)
    if chunked is not None:
        return {name: _one(name, entry) for name, entry in chunked.items()}
    index = sorted(path.glob("*.safetensors.index.json"))
    if len(index) == 1:
        return _index(index[0])
    found: dict[str, Stored] = {}
    for file in sorted(file for file in path.iterdir() if file.suffix in _READERS):
        for name, stored in _file(file).items():
            if name in found:
                raise ShardcError(f"{path}: {name} is in two files, {file.name} is one")
            found[name] = stored
    if not found:
        raise ShardcError(f"{path} holds no arrays")
    return found


def _index(path: Path) -> dict[str, Stored]:
    """The index of Hugging Face: weight_map says which file an array is in."""
    said = read_object(path, "is no index of arrays")
    try:
        named: dict[str, str] = dict(said["weight_map"])
    except (KeyError, TypeError, ValueError):
        raise ShardcError(f"{path} has no weight_map") from None
    files = {file: _file(path.parent / _inside(path, file)) for file in sorted(set(named.values()))}
    missing = next((name for name, file in named.items() if name not in files[file]), None)
    if missing is not None:
        raise ShardcError(f"{path}: {missing} is not in {named[missing]}")
    return {name: files[file][name] for name, file in named.items()}


def _blocks(path: Path) -> dict[str, Stored]:
    """A folder that `save` or `reshard` wrote."""
    said = read_object(path / INDEX, "is no index of arrays")
    files: dict[str, dict[str, Entry]] = {}
    found: dict[str, Stored] = {}
    try:
        for name, array in said["arrays"].items():
            pieces: list[tuple[Bounds, Piece]] = []
            for file, bounds in array["pieces"]:
                if file not in files:
                    files[file] = read_entries(str(path / _inside(path, file)))
                place = tuple((int(start), int(stop)) for start, stop in bounds)
                pieces.append((place, _piece(path, name, place, files[file])))
            dtype = pieces[0][1].dtype if pieces else DTYPES[array["dtype"]]  # no piece: no elements
            found[name] = Stored(name, dtype, tuple(array["shape"]), tuple(pieces))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise ShardcError(f"{path / INDEX} cannot be read: it was altered") from None
    return found


def _piece(path: Path, name: str, bounds: Bounds, entries: Mapping[str, Entry]) -> Entry:
    entry = entries.get(piece_name(name, bounds))
    if entry is None or entry.shape != extent(bounds):
        raise ShardcError(f"{path}: {piece_name(name, bounds)} is missing")
    return entry


def piece_name(name: str, bounds: Bounds) -> str:
    """What a block is called in its file: w[0:16, 0:64]."""
    return f"{name}[{', '.join(f'{start}:{stop}' for start, stop in bounds)}]"


def _inside(path: Path, file: str) -> str:
    """A file's name, which leads to no other folder."""
    if Path(file).name != file:
        raise ShardcError(f"{path} names {file}, which is not in its folder")
    return file
