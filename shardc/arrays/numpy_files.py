"""NumPy's own files: .npy, and .npz archives whose members are stored as they are.

A compressed member has no byte ranges: it is read whole, with a warning.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from shardc.arrays.entry import Array, Entry
from shardc.arrays.placed import Bounds, part
from shardc.diagnostics import ShardcError, warn

_LOCAL_HEADER = 30


@dataclass(frozen=True)
class Compressed(Entry):
    """A compressed member of an archive. `read` unpacks all of it."""

    member: str = ""

    def read(self, bounds: Bounds, out: Array) -> int:
        warn(
            f"{self.file}: {self.name} is compressed, and read whole, {self.nbytes} bytes",
            hint="np.savez stores arrays as they are",
        )
        try:
            with zipfile.ZipFile(self.file) as archive, archive.open(self.member) as stream:
                whole = np.lib.format.read_array(stream, allow_pickle=False)
        except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile, EOFError, zlib.error):
            raise ShardcError(f"{self.file}: {self.name} cannot be unpacked: it was altered") from None
        out[...] = whole[part(bounds)]
        return self.nbytes


def read_npy(file: str) -> dict[str, Entry]:
    """The one array of a .npy file, by the file's name."""
    name = Path(file).stem
    try:
        with open(file, "rb") as stream:
            entry = _entry(file, name, stream, 0)
    except OSError as error:
        raise ShardcError(f"cannot read {file}: {(error.strerror or 'failed').lower()}") from None
    entry.check_size(os.path.getsize(file))
    return {name: entry}


def read_npz(file: str) -> dict[str, Entry]:
    """The arrays of an archive by name. ShardcError if it is none, or a member is no array."""
    try:
        with zipfile.ZipFile(file) as archive, open(file, "rb") as raw:
            return {
                info.filename.removesuffix(".npy"): _member(file, archive, info, raw)
                for info in archive.infolist()
            }
    except OSError as error:
        raise ShardcError(f"cannot read {file}: {(error.strerror or 'failed').lower()}") from None
    except (NotImplementedError, RuntimeError, zipfile.BadZipFile, EOFError, zlib.error):
        raise ShardcError(f"{file} is no archive of arrays, or is truncated") from None


def _member(file: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo, raw: IO[bytes]) -> Entry:
    name = info.filename.removesuffix(".npy")
    with archive.open(info) as stream:
        entry = _entry(file, name, stream, 0)
    if info.compress_type != zipfile.ZIP_STORED:
        return Compressed(file, name, entry.dtype, entry.shape, 0, entry.column_major, member=info.filename)
    raw.seek(info.header_offset)
    local = raw.read(_LOCAL_HEADER)
    start = info.header_offset + _LOCAL_HEADER
    start += int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    return Entry(file, name, entry.dtype, entry.shape, start + entry.offset, entry.column_major)


def _entry(file: str, name: str, stream: IO[bytes], start: int) -> Entry:
    """What the header at the stream's place says."""
    readers = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
    try:
        version = npy_format.read_magic(stream)
        shape, column_major, dtype = readers[version](stream)
    except (ValueError, KeyError, EOFError, SyntaxError, TokenError):
        raise ShardcError(f"{file}: {name} is no array of NumPy's") from None
    return Entry(file, name, _known(file, name, dtype), shape, start + stream.tell(), column_major)


def _known(file: str, name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.hasobject or dtype.names is not None:
        raise ShardcError(f"{file}: {name} holds {dtype}, and not numbers")
    return dtype
