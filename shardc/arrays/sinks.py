"""Where blocks of arrays go one after the other, over several runs: one file of whole arrays, or chunks.

What is finished is noted on disk, beside the place of what is made. A later run for the same source and
target (`token`) goes on from it; what other tokens left goes at the end.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from shardc.arrays import chunked_saving
from shardc.arrays.entry import Array
from shardc.arrays.placed import Bounds, Placed
from shardc.arrays.whole_files import check_file, is_whole_file, plan_of
from shardc.arrays.writing import Sums, place, put, removed_on_failure, reserve, saying


class Sink(Protocol):
    """Takes blocks. ShardcError where nothing can be written."""

    def has(self, name: str, bounds: Bounds) -> bool:
        """Whether a block is on disk, from this run or an earlier one."""
        ...

    def write(self, name: str, bounds: Bounds, block: Array) -> None:
        """Write a block, for good."""
        ...

    def finish(self) -> None:
        """All blocks are there: let what they make appear."""
        ...


def sink(path: str, layouts: Mapping[str, Placed], token: str) -> Sink | None:
    """By what a path ends in; None for a folder of blocks."""
    if is_whole_file(path):
        return FileSink(path, layouts, token)
    if path.endswith((chunked_saving.GROUP, chunked_saving.CHECKPOINT)):
        return ChunkSink(path, layouts, token)
    return None


class FileSink:
    """One file, written beside its place. A second one has a line for every block on disk, with its sums."""

    def __init__(self, path: str, layouts: Mapping[str, Placed], token: str) -> None:
        self._path, self._plan = Path(os.path.realpath(path)), plan_of(path, layouts)
        self._file = _beside(self._path, token)
        self._notes = self._file.with_suffix(".done")
        self._done: dict[tuple[str, Bounds], dict[int, int]] = {}
        check_file(path)
        with saying(path):
            if not self._goes_on():
                self._notes.unlink(missing_ok=True)
                self._file.unlink(missing_ok=True)
                with removed_on_failure(str(self._file)):
                    reserve(str(self._file), self._plan.size)
                self._notes.touch()

    def _goes_on(self) -> bool:
        """Read the notes of an earlier run, without a torn last line; whether there are any."""
        if not self._notes.exists() or not self._file.exists():
            return False
        if self._file.stat().st_size != self._plan.size:
            return False
        lines = self._notes.read_bytes().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        try:
            for name, bounds, sums in map(json.loads, whole):
                key = (name, tuple((start, stop) for start, stop in bounds))
                self._done[key] = {int(number): value for number, value in sums.items()}
        except (ValueError, TypeError, AttributeError):
            self._done.clear()
            return False
        os.truncate(self._notes, sum(map(len, whole)))
        return True

    def has(self, name: str, bounds: Bounds) -> bool:
        return (name, bounds) in self._done

    def write(self, name: str, bounds: Bounds, block: Array) -> None:
        sums: Sums = {}
        with saying(str(self._path)):
            descriptor = os.open(self._file, os.O_RDWR | os.O_CLOEXEC)
            try:
                put(descriptor, self._plan, name, bounds, block, sums)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            self._done[name, bounds] = sums[name]
            with open(self._notes, "a", encoding="utf-8") as notes:
                notes.write(json.dumps([name, bounds, sums[name]]) + "\n")
                notes.flush()
                os.fsync(notes.fileno())

    def finish(self) -> None:
        for (name, _), sums in self._done.items():
            self._plan.add_sums({name: sums})
        with saying(str(self._path)):
            descriptor = os.open(self._file, os.O_RDWR | os.O_CLOEXEC)
            try:
                self._plan.complete(descriptor)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            place(str(self._file), str(self._path))
        _clear(self._path)


class ChunkSink:
    """A folder of chunks, beside its place. A block is there if all its chunks are: each appears whole.

    A run that was killed after the folder got its place is gone on with there.
    """

    def __init__(self, path: str, layouts: Mapping[str, Placed], token: str) -> None:
        self._path, self._layouts = path, layouts
        self._placed = chunked_saving.token_of(path) == token
        self._folder = Path(path) if self._placed else _beside(Path(path), token)
        if not self._placed:
            chunked_saving.check_target(path)
            chunked_saving.make_folder(self._folder, path, layouts, token)

    def has(self, name: str, bounds: Bounds) -> bool:
        return all(
            file.exists() for file in chunked_saving.files_of(self._folder, name, self._layouts[name], bounds)
        )

    def write(self, name: str, bounds: Bounds, block: Array) -> None:
        chunked_saving.write_blocks(self._folder, self._layouts, {name: [(bounds, block)]})

    def finish(self) -> None:
        if not self._placed:
            chunked_saving.finish(self._folder, self._path)
        _clear(Path(self._path))


def _beside(path: Path, token: str) -> Path:
    return path.with_name(f".{path.name}.{token}.tmp")


def _clear(path: Path) -> None:
    """Remove what runs have left that were killed, for other sources or targets."""
    own = re.compile(re.escape(f".{path.name}.") + r"[0-9a-f]{12}\.(tmp|done)")
    for left in path.parent.iterdir():
        if own.fullmatch(left.name):
            chunked_saving.drop(left)
            with suppress(OSError):
                left.unlink(missing_ok=True)
