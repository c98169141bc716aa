"""From one layout to another, on disk: a folder with a file for every device of the new mesh.

At a time one block is in memory. A file that is there and whole is not made again, so what was stopped goes
on.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from shardc.arrays.checkpoint import INDEX, Checkpoint, Stored, piece_name
from shardc.arrays.checksums import cuts_of
from shardc.arrays.loading import matching
from shardc.arrays.placed import Bounds, Placed, extent, moved, overlap
from shardc.arrays.safetensors import Plan, name_of, read_entries
from shardc.arrays.saving import files_of
from shardc.arrays.writing import Sums, place, put, removed_on_failure, reserve, saying, write_index
from shardc.diagnostics import ShardcError


@dataclass(frozen=True)
class Resharded:
    """Files written, files found finished, bytes read, and the bytes of new blocks that come from blocks with
    other borders.
    """

    written: int
    kept: int
    read: int
    moved: int


def reshard(
    source: Checkpoint,
    layouts: Mapping[str, Placed],
    path: str,
    progress: Callable[[str], object] = lambda text: None,
) -> Resharded:
    """Write a folder in which every device of `layouts` has a file with its blocks, each block once.

    `layouts` names all arrays of `source`. ShardcError if one doesn't fit, is damaged, or can't be written;
    what is finished then stays, and the next call goes on from it.
    """
    stored = {name: matching(source, name, placed) for name, placed in layouts.items()}
    files = _plan(layouts)
    token = _fingerprint(stored, layouts)
    folder = Path(path)
    with saying(path):
        folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {
        name: {"shape": array.shape, "dtype": name_of(name, array.dtype), "pieces": []}
        for name, array in stored.items()
    }
    totals = [0, 0, 0, 0]
    for number, (device, pieces) in enumerate(sorted(files.items())):
        file = folder / f"device-{device:05d}-{token}.safetensors"
        for name, bounds in pieces:
            arrays[name]["pieces"].append([file.name, bounds])
        if _finished(file, pieces):
            totals[1] += 1
            continue
        progress(f"file {number + 1} of {len(files)}: {file.name}")
        read, changed = _write(file, stored, pieces)
        totals = [totals[0] + 1, totals[1], totals[2] + read, totals[3] + changed]
    old = files_of(folder)
    write_index(folder / INDEX, {"format": 1, "arrays": arrays}, token)
    named = files_of(folder)
    left = {file.name for file in folder.iterdir() if _OWN.fullmatch(file.name)}  # by runs that were killed
    for name in (old | left) - named:
        with suppress(OSError):
            (folder / Path(name).name).unlink()
    return Resharded(*totals)


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
            os.pwrite(descriptor, plan.header(), 0)
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
