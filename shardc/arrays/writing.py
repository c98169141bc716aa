"""Files that appear whole or not at all: written beside their place, forced to disk, then renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from shardc.arrays.checksums import Cuts, cells, checksum
from shardc.arrays.entry import Array, Entry
from shardc.arrays.placed import Bounds, extent
from shardc.diagnostics import ShardcError

Sums = dict[str, dict[int, int]]
"""Array -> number of a cell -> its sum."""


class FilePlan(Protocol):
    """Where arrays lie in a file that is to be written, of a size that is known before."""

    @property
    def size(self) -> int: ...
    @property
    def entries(self) -> Mapping[str, Entry]: ...
    @property
    def cuts(self) -> Mapping[str, Cuts]: ...

    def add_sums(self, sums: Mapping[str, Mapping[int, int]]) -> None:
        """The sums of some cells."""
        ...

    def complete(self, descriptor: int) -> None:
        """Write all but the elements, which are there, with the sums of all cells."""
        ...


@contextmanager
def saying(path: str) -> Generator[None]:
    """Errors of the system as ShardcError: cannot write …: no space left on device."""
    try:
        yield
    except OSError as error:
        raise ShardcError(f"cannot write {path}: {(error.strerror or 'failed').lower()}") from None


def reserve(path: str, size: int) -> None:
    """A new file of `size` bytes, for which the disk has the space."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        if size:
            os.posix_fallocate(descriptor, 0, size)
    finally:
        os.close(descriptor)


def put(descriptor: int, plan: FilePlan, name: str, bounds: Bounds, block: Array, sums: Sums) -> None:
    """Write a block of an array of the plan's file, and note the sums of its cells."""
    _write(descriptor, plan.entries[name], bounds, block)
    found = sums.setdefault(name, {})
    for number, cell in cells(plan.cuts[name], bounds):
        found[number] = checksum(block, bounds, cell)


def _write(descriptor: int, entry: Entry, bounds: Bounds, block: Array) -> None:
    """Row by row, as far as the block's rows are apart in the file."""
    strides = [entry.dtype.itemsize]
    for size in entry.shape[:0:-1]:
        strides.insert(0, strides[0] * size)
    rank = len(entry.shape)
    joined = rank  # the dimensions from here on are whole
    while joined > 0 and extent(bounds)[joined - 1] == entry.shape[joined - 1]:
        joined -= 1
    outer = max(joined - 1, 0)
    for index in np.ndindex(*extent(bounds)[:outer]):
        place = entry.offset + sum(
            (start + i) * stride
            for (start, _), i, stride in zip(bounds, (*index, *[0] * (rank - outer)), strides, strict=False)
        )
        _pwrite(descriptor, place, np.ascontiguousarray(block[index]))


def _pwrite(descriptor: int, offset: int, run: Array) -> None:
    view = run.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(view):
        done += os.pwrite(descriptor, view[done:], offset + done)


def write_index(path: Path, said: Mapping[str, Any], token: str) -> None:
    """A JSON file in the place of `path`."""
    temporary = path.with_name(f".{path.name}.{token}.tmp")
    with saying(str(path)), removed_on_failure(str(temporary)):
        with open(temporary, "w", encoding="utf-8") as stream:
            json.dump(said, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        place(str(temporary), str(path))


def place(temporary: str, path: str) -> None:
    """Let a file that is on disk take its place, for good."""
    os.replace(temporary, path)
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def removed_on_failure(path: str) -> Generator[None]:
    """A temporary file that goes if what happens inside fails."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            os.unlink(path)
        raise
