"""One stored array: where its bytes are in a file, and how a part of it is read.

What is read is exactly the bytes of the part, or whole rows where the part is at least half of each row:
never more than twice the part. The bytes go into the array that is given; beside it CHUNK bytes are held.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from math import prod
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.arrays.checksums import Checksums
from shardc.arrays.placed import Bounds, extent, part, whole
from shardc.diagnostics import ShardcError

Array = NDArray[Any]

CHUNK = 8 << 20


class Piece(Protocol):
    """An array of a file or folder, of which parts can be read."""

    @property
    def file(self) -> str: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...

    def stamp(self) -> list[object]:
        """Other after the file was written again."""
        ...

    def read(self, bounds: Bounds, out: Array) -> int:
        """Read a part into `out`, which has its shape; how many bytes were read. ShardcError if damaged."""
        ...


class Entry(Struct, frozen=True):
    """An array of a file: row-major from byte `offset` on, or column-major. `checksums` are of its cells."""

    file: str
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    column_major: bool = False
    checksums: Checksums | None = None

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    def stamp(self) -> list[object]:
        status = os.stat(self.file)
        return [status.st_size, status.st_mtime_ns, self.offset]

    def check_size(self, size: int) -> None:
        """ShardcError unless a file of `size` bytes holds all of the array."""
        if self.offset + self.nbytes > size:
            raise ShardcError(
                f"{self.file} is truncated: {self.name} takes bytes {self.offset} to "
                f"{self.offset + self.nbytes}, the file has {size}"
            )

    def read(self, bounds: Bounds, out: Array) -> int:
        """Read a part into `out`, which has its shape, and check it; how many bytes were read.

        ShardcError, which names the array, if the file ends before, or does not hold what was written.
        """
        if 0 in out.shape:
            return 0
        with opened(self.file) as file:
            if self.column_major:
                count = self._read(file, self.offset, self.shape[::-1], bounds[::-1], out.T)
            else:
                count = self._read(file, self.offset, self.shape, bounds, out)
        if self.checksums is not None:
            wrong = self.checksums.wrong(bounds, out)
            if wrong is not None:
                raise ShardcError(
                    f"{self.file} was altered: {self.name}{_index(wrong)} has another checksum than when it "
                    "was saved"
                )
        return count

    def _read(self, file: int, offset: int, shape: tuple[int, ...], bounds: Bounds, out: Array) -> int:
        if not shape:
            return self._fill(file, offset, out.reshape(1))
        (first, stop), rest = bounds[0], shape[1:]
        row = prod(rest) * self.dtype.itemsize
        inner = bounds[1:]
        if inner == whole(rest) and out.flags.c_contiguous:
            return self._fill(file, offset + first * row, out.reshape(-1))
        if row <= CHUNK and prod(rest) <= 2 * prod(extent(inner)):
            return self._rows(file, offset, rest, bounds, out)
        return sum(
            self._read(file, offset + i * row, rest, inner, out[i - first]) for i in range(first, stop)
        )

    def _rows(self, file: int, offset: int, rest: tuple[int, ...], bounds: Bounds, out: Array) -> int:
        """Whole rows, some at a time, of which the part is kept."""
        (first, stop), row = bounds[0], prod(rest) * self.dtype.itemsize
        step = max(1, CHUNK // max(row, 1))
        count = 0
        for start in range(first, stop, step):
            rows = np.empty((min(step, stop - start), *rest), self.dtype)
            count += self._fill(file, offset + start * row, rows.reshape(-1))
            out[start - first : start - first + len(rows)] = rows[(slice(None), *part(bounds[1:]))]
        return count

    def _fill(self, file: int, offset: int, out: Array) -> int:
        view = out.view(np.uint8).data
        done = 0
        while done < len(view):
            count = os.preadv(file, [view[done:]], offset + done)
            if not count:
                raise ShardcError(f"{self.file} is truncated: it ends inside of {self.name}")
            done += count
        return done


@contextmanager
def opened(file: str) -> Generator[int]:
    """A file to read from. ShardcError if it can't be."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise ShardcError(f"cannot read {file}: {(error.strerror or 'failed').lower()}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _index(bounds: Bounds) -> str:
    return "[" + ", ".join(f"{start}:{stop}" for start, stop in bounds) + "]"
