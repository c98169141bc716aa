"""NumPy's own files: .npy, and .npz archives whose members are stored as they are.

A compressed member has no byte ranges: it is read whole, with a warning. The sums of cells are verified where
numpy_saving.py wrote them.
"""

from __future__ import annotations

import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from msgspec.structs import replace
from numpy.lib import format as npy_format

from shardc.arrays.checksums import Checksums, from_text
from shardc.arrays.entry import Array, Entry, opened
from shardc.arrays.numpy_saving import FIELD, TRAILER
from shardc.arrays.placed import Bounds, part
from shardc.diagnostics import ShardcError, warn

_LOCAL_HEADER = 30


class Compressed(Entry, frozen=True):
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
            entry = _entry(file, name, stream)
    except OSError as error:
        raise ShardcError(f"cannot read {file}: {(error.strerror or 'failed').lower()}") from None
    entry.check_size(os.path.getsize(file))
    return {name: _summed(entry, name, 0, _trailer(entry))}


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
    with archive.open(info) as stream:  # which finds the member's own header right
        if info.compress_type != zipfile.ZIP_STORED:
            entry = _entry(file, name, stream)
            return Compressed(
                file, name, entry.dtype, entry.shape, 0, entry.column_major, member=info.filename
            )
    raw.seek(info.header_offset)
    local = raw.read(_LOCAL_HEADER)
    start = info.header_offset + _LOCAL_HEADER
    start += int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    raw.seek(start)
    return _summed(_entry(file, name, raw), name, start, _fields(info.extra).get(FIELD))


def _fields(extra: bytes) -> dict[int, bytes]:
    """The fields of a member's description, by number."""

    def parts() -> Iterator[tuple[int, bytes]]:
        at = 0
        while at + 4 <= len(extra):
            number, size = struct.unpack_from("<2H", extra, at)
            yield number, extra[at + 4 : at + 4 + size]
            at += 4 + size

    return dict(parts())


def _trailer(entry: Entry) -> bytes | None:
    """What stands after the elements of a .npy file that was saved here."""
    end = entry.offset + entry.nbytes
    with opened(entry.file) as descriptor:
        after = os.pread(descriptor, 1 << 24, end)
    if not after.endswith(TRAILER):
        return None
    said = after[: -len(TRAILER) - 8]
    return said if after[len(said) :] == len(said).to_bytes(8, "little") + TRAILER else b""


def _summed(entry: Entry, name: str, start: int, said: bytes | None) -> Entry:
    """The array with the sums of its cells. ShardcError if they are of another array, or of another name."""
    if said is None:
        return entry
    try:
        cuts, sums, own = json.loads(said)
        found = Checksums(tuple(tuple(at) for at in cuts), from_text(sums))
        with opened(entry.file) as descriptor:
            header = os.pread(descriptor, entry.offset - start, start)
        if found.fit(entry.shape) and from_text(own) == (zlib.crc32(header, zlib.crc32(name.encode())),):
            return replace(entry, checksums=found)
    except (ValueError, TypeError, KeyError):
        pass
    raise ShardcError(f"{entry.file} was altered: its checksums are not of {name}, as it stands there")


def _entry(file: str, name: str, stream: IO[bytes]) -> Entry:
    """What the header at the stream's place says; the elements stand behind it."""
    readers = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
    try:
        version = npy_format.read_magic(stream)
        shape, column_major, dtype = readers[version](stream)
    except (ValueError, KeyError, EOFError, SyntaxError, TokenError):
        raise ShardcError(f"{file}: {name} is no array of NumPy's") from None
    return Entry(file, name, _known(file, name, dtype), shape, stream.tell(), column_major)


def _known(file: str, name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.hasobject or dtype.names is not None:
        raise ShardcError(f"{file}: {name} holds {dtype}, and not numbers")
    return dtype
