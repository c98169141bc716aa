"""Arrays in chunks: zarr's, and orbax's checkpoints, read through tensorstore where it is installed.

Of a part the chunks that touch it are read, some rows of chunks at a time. Where a checkpoint says that all
chunks are stored, a missing one is an error; elsewhere it holds the fill value, as zarr has it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np
from msgspec import Struct

from shardc.arrays.entry import CHUNK, Array
from shardc.arrays.json_files import read_object
from shardc.arrays.placed import Bounds, extent, moved, part
from shardc.diagnostics import ShardcError, warn

ORBAX = "_METADATA"
ZARR = ("zarr.json", ".zarray", ".zgroup")
SHOWN = 4
"""Folders that an error names."""

OWN = "shardc"
"""The attribute of a group that was saved here: name -> dtype and shape of its arrays, all chunks stored."""


def tensorstore(path: str) -> Any:
    """The module. ShardcError if it is not installed."""
    try:
        return import_module("tensorstore")
    except ImportError:
        raise ShardcError(
            f"{path}: arrays in chunks (zarr, orbax) are read and written by tensorstore",
            hint="pip install 'shardc[chunked]'",
        ) from None


class ChunkedEntry(Struct, frozen=True):
    """An array of chunks: `place` is its folder or database, `store` tensorstore's handle."""

    file: str
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    store: Any

    def stamp(self) -> list[object]:
        """Other after a change: the number of files, and the newest time."""
        files = [os.stat(os.path.join(at, name)) for at, _, names in os.walk(self.file) for name in names]
        return [len(files), max((status.st_mtime_ns for status in files), default=0)]

    def read(self, bounds: Bounds, out: Array) -> int:
        """Read a part into `out`; the bytes of the chunks that it touches. ShardcError if one is damaged."""
        if 0 in out.shape:
            return 0
        chunks = tuple(cast("Sequence[int]", self.store.chunk_layout.read_chunk.shape or ()))
        try:
            for rows in _rows(bounds, chunks, self.dtype.itemsize):
                out[part(moved(rows, bounds))] = self.store[part(rows)].read().result()
        except (ValueError, OSError, RuntimeError) as error:
            raise ShardcError(f"{self.file}: {self.name} cannot be read: {_first(error)}") from None
        return prod(_touched(bounds, chunks, self.shape)) * self.dtype.itemsize


def _rows(bounds: Bounds, chunks: tuple[int, ...], itemsize: int) -> Iterator[Bounds]:
    """The bounds in pieces along dimension 0 of whole chunks, of about CHUNK bytes if chunks are smaller."""
    if not bounds:
        yield bounds
        return
    (first, stop), rest = bounds[0], bounds[1:]
    row = max(1, prod(extent(rest)) * itemsize * chunks[0])
    step = max(1, CHUNK // row) * chunks[0]
    for start in range(first - first % chunks[0], stop, step):
        yield ((max(first, start), min(stop, start + step)), *rest)


def _touched(bounds: Bounds, chunks: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The extent of the chunks that a part touches."""
    return tuple(
        min(-(-stop // chunk) * chunk, size) - start // chunk * chunk
        for (start, stop), chunk, size in zip(bounds, chunks, shape, strict=True)
    )


def _first(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def chunked_folder(path: Path) -> dict[str, ChunkedEntry] | None:
    """The arrays of a folder in a format with chunks; None if it is none."""
    if (path / ORBAX).is_file():
        return _orbax(path)
    if any((path / name).is_file() for name in ZARR):
        return _zarr(path)
    items = _items(path)
    if len(items) > 1:
        raise ShardcError(f"{path} has {len(items)} trees of arrays", hint=_one_of(items))
    if items:
        return _orbax(items[0])
    steps = [at for at in sorted(path.iterdir()) if at.is_dir() and _items(at)]
    if steps:
        raise ShardcError(f"{path} has the steps of a training", hint=_one_of(steps))
    return None


def _items(path: Path) -> list[Path]:
    """The trees of a step, as orbax's managers and its second interface write them: a folder of each."""
    return [at for at in sorted(path.iterdir()) if (at / ORBAX).is_file()]


def _one_of(folders: Sequence[Path]) -> str:
    shown = [str(folder) for folder in folders[:SHOWN]]
    return f"name one of them: {', '.join([*shown, '…'] if len(folders) > SHOWN else shown)}"


def _orbax(path: Path) -> dict[str, ChunkedEntry]:
    said = read_object(path / ORBAX, _OTHER)
    found: dict[str, ChunkedEntry] = {}
    driver = "zarr3" if said.get("use_zarr3") else "zarr"
    try:
        for value in said["tree_metadata"].values():
            name = ".".join(str(key["key"]) for key in value["key_metadata"])
            kind = str(value["value_metadata"]["value_type"])
            if value["value_metadata"].get("skip_deserialize") or kind in ("string", "None", "Dict", "List"):
                warn(f"{path}: {name} is no array ({kind}), and is left out")
                continue
            kvstore: dict[str, Any] = {"driver": "file", "path": f"{path.absolute() / _plain(path, name)}/"}
            if said.get("use_ocdbt", True):
                base = {"driver": "file", "path": f"{path.absolute()}/"}
                kvstore = {"driver": "ocdbt", "base": base, "path": f"{name}/"}
            full = bool(said.get("store_array_data_equal_to_fill_value"))
            at = path if said.get("use_ocdbt", True) else path / name
            found[name] = _opened(str(at), name, {"driver": driver, "kvstore": kvstore}, full)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ShardcError(f"{path / ORBAX} cannot be read: it was altered") from None
    return found


def _zarr(path: Path) -> dict[str, ChunkedEntry]:
    """An array, or the arrays of a group and the groups in it, by their path in it."""
    own = _own(path)
    found: dict[str, ChunkedEntry] = {}
    for at, folders, files in os.walk(path):
        folders.sort()
        place = Path(at)
        driver = _driver(place, files)
        if driver is None:
            continue
        folders.clear()
        name = place.relative_to(path).as_posix() if place != path else path.name.removesuffix(".zarr")
        kvstore = {"driver": "file", "path": f"{place.absolute()}/"}
        found[name] = _opened(at, name, {"driver": driver, "kvstore": kvstore}, own is not None)
    if own is not None and own != {n: [str(e.dtype), list(e.shape)] for n, e in found.items()}:
        differing = [name for name in sorted({*own, *found}) if name not in found or name not in own]
        raise ShardcError(f"{path} was altered: {', '.join(differing) or 'an array'} is not as it was saved")
    return found


def _driver(place: Path, files: list[str]) -> str | None:
    if ".zarray" in files:
        return "zarr"
    if "zarr.json" in files and read_object(place / "zarr.json", _OTHER).get("node_type") == "array":
        return "zarr3"
    return None


def _own(path: Path) -> dict[str, Any] | None:
    """What a group says that was saved here."""
    if not (path / "zarr.json").is_file():
        return None
    attributes = read_object(path / "zarr.json", _OTHER).get("attributes")
    own = cast("dict[str, Any]", attributes).get(OWN) if isinstance(attributes, dict) else None
    return cast("dict[str, Any]", own) if isinstance(own, dict) else None


def _opened(at: str, name: str, spec: Mapping[str, Any], full: bool) -> ChunkedEntry:
    ts = tensorstore(at)
    context = ts.Context(ONE_AT_A_TIME)
    try:
        whole = {**spec, "fill_missing_data_reads": not full}
        store = ts.open(whole, read=True, open=True, context=context).result()
    except (ValueError, OSError, RuntimeError) as error:
        raise ShardcError(f"{at}: {name} cannot be read: {_first(error)}") from None
    return ChunkedEntry(at, name, np.dtype(store.dtype.numpy_dtype), tuple(map(int, store.shape)), store)


_OTHER = "describes no arrays"
"""Of JSON that is no object."""

ONE_AT_A_TIME = {"data_copy_concurrency": {"limit": 1}, "file_io_concurrency": {"limit": 1}}
"""So that few chunks are in memory."""


def _plain(path: Path, name: str) -> str:
    """A name that leads to no other folder."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ShardcError(f"{path} names {name}, which is not in its folder")
    return name
