"""From one layout to another, on disk: a folder with a file for every device of the new mesh, or one of the
formats of `sinks`, whose arrays are whole.

At a time one block is in memory. A file that is there and whole, or a block, is not made again, so what was
stopped goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from shardc.arrays.checkpoint import INDEX, Checkpoint, Stored, piece_name
from shardc.arrays.checksums import cuts_of
from shardc.arrays.loading import matching
from shardc.arrays.placed import Bounds, Placed, extent, moved, overlap
from shardc.arrays.safetensors import Plan, name_of, read_entries
from shardc.arrays.saving import check_layouts, files_of
from shardc.arrays.sinks import Sink, sink
from shardc.arrays.writing import Sums, place, put, removed_on_failure, reserve, saying, write_index
from shardc.diagnostics import ShardcError


class Resharded(Struct, frozen=True):
    """Files or blocks (`unit`) written, those found finished, bytes read, and the bytes of new blocks that
    come from blocks with other borders.
    """

    written: int
    kept: int
    read: int
    moved: int
    unit: str


def reshard(
    source: Checkpoint,
    layouts: Mapping[str, Placed],
    path: str,
    progress: Callable[[str], object] = lambda text: None,
) -> Resharded:
    """Write arrays as `layouts` say, each block once: NAME.zarr, .orbax, .safetensors, .npz or .npy, or a
    folder in which every device has a file with its blocks.

    `layouts` names all arrays of `source`. ShardcError if one doesn't fit, is damaged, or can't be written;
    what is finished then stays, and the next call goes on from it.
    """
    stored = {name: matching(source, name, placed) for name, placed in layouts.items()}
    token = _fingerprint(stored, layouts)
    into = sink(path, layouts, token)
    return (
        _to_files(stored, layouts, path, token, progress)
        if into is None
        else (_to_sink(stored, layouts, into, progress))
    )


def _to_sink(
    stored: Mapping[str, Stored],
    layouts: Mapping[str, Placed],
    into: Sink,
    progress: Callable[[str], object],
) -> Resharded:
    """Block by block."""
    todo = [(name, bounds) for name, placed in layouts.items() for _, bounds in placed.writers(name)]
    written = read = changed = 0
    for number, (name, bounds) in enumerate(todo):
        if into.has(name, bounds):
            continue
        progress(f"block {number + 1} of {len(todo)}: {piece_name(name, bounds)}")
        read += _pass_on(stored[name], bounds, into)
        changed += sum(_moved(stored[name], bounds))
        written += 1
    into.finish()
    return Resharded(written, len(todo) - written, read, changed, "blocks")


def _pass_on(stored: Stored, bounds: Bounds, into: Sink) -> int:
    """One block, which is in memory as long as this lasts; the bytes read."""
    block = np.empty(extent(bounds), stored.dtype)
    read = stored.read(bounds, block)
    into.write(stored.name, bounds, block)
    return read


def _to_files(
    stored: Mapping[str, Stored],
    layouts: Mapping[str, Placed],
    path: str,
    token: str,
    progress: Callable[[str], object],
) -> Resharded:
    """A file for each device."""
    check_layouts(path, layouts)
    files = _plan(layouts)
    folder = Path(path)
    with saying(path):
        folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {
        name: {"shape": array.shape, "dtype": name_of(name, array.dtype), "pieces": []}
        for name, array in stored.items()
    }
    written = kept = read = changed = 0
    for number, (device, pieces) in enumerate(sorted(files.items())):
        file = folder / f"device-{device:05d}-{token}.safetensors"
        for name, bounds in pieces:
            arrays[name]["pieces"].append([file.name, bounds])
        if _finished(file, pieces):
            kept += 1
            continue
        progress(f"file {number + 1} of {len(files)}: {file.name}")
        counts = _write(file, stored, pieces)
        written, read, changed = written + 1, read + counts[0], changed + counts[1]
    old = files_of(folder)
    write_index(folder / INDEX, {"format": 1, "arrays": arrays}, token)
    named = files_of(folder)
    left = {file.name for file in folder.iterdir() if _OWN.fullmatch(file.name)}  # by runs that were killed
    for name in (old | left) - named:
        with suppress(OSError):
            (folder / Path(name).name).unlink()
    return Resharded(written, kept, read, changed, "files")


_OWN = re.compile(r"device-\d+-[0-9a-f]{12}\.safetensors|\.device-\d+-[0-9a-f]{12}\.safetensors\.tmp")
"""What this writes into a folder, beside the index."""


def _plan(layouts: Mapping[str, Placed]) -> dict[int, list[tuple[str, Bounds]]]:
    """Device -> the blocks it is the first to hold."""
    files: dict[int, list[tuple[str, Bounds]]] = {}
    for name, placed in layouts.items():
        for device, bounds in placed.writers(name):
            files.setdefault(device, []).append((name, bounds))
    return files


def _fingerprint(stored: Mapping[str, Stored], layouts: Mapping[str, Placed]) -> str:
    """Equal for equal sources (files, sizes, times of change) and targets."""
    said: list[object] = []
    for name, array in sorted(stored.items()):
        said.append([name, str(array.dtype), array.shape, layouts[name].bounds])
        for bounds, entry in array.pieces:
            said.append([os.path.abspath(entry.file), *entry.stamp(), bounds])
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]


def _finished(file: Path, pieces: list[tuple[str, Bounds]]) -> bool:
    """Whether a file is there with these blocks; it has its name only once it is whole."""
    if not file.exists():
        return False
    try:
        return read_entries(str(file)).keys() == {piece_name(name, bounds) for name, bounds in pieces}
    except ShardcError:
        return False


def _write(file: Path, stored: Mapping[str, Stored], pieces: list[tuple[str, Bounds]]) -> tuple[int, int]:
    """Bytes read, and of them those that change their borders."""
    plan = Plan(
        str(file),
        {
            piece_name(name, bounds): (
                stored[name].dtype,
                extent(bounds),
                cuts_of(extent(bounds), stored[name].dtype.itemsize, []),
            )
            for name, bounds in pieces
        },
    )
    temporary = str(file.with_name(f".{file.name}.tmp"))
    read = changed = 0
    with saying(str(file)), removed_on_failure(temporary):
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        reserve(temporary, plan.size)
        descriptor = os.open(temporary, os.O_RDWR | os.O_CLOEXEC)
        try:
            sums: Sums = {}
            for name, bounds in pieces:
                block = np.empty(extent(bounds), stored[name].dtype)
                read += stored[name].read(bounds, block)
                changed += sum(_moved(stored[name], bounds))
                put(descriptor, plan, piece_name(name, bounds), moved(bounds, bounds), block, sums)
            plan.add_sums(sums)
            plan.complete(descriptor)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        place(temporary, str(file))
    return read, changed


def _moved(stored: Stored, bounds: Bounds) -> Iterator[int]:
    """The bytes of each part of a block that comes from a piece with other borders."""
    for at, _ in stored.pieces:
        inside = overlap(bounds, at)
        if inside is not None and at != bounds:
            yield prod(extent(inside)) * stored.dtype.itemsize
