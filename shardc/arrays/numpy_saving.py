"""NumPy's own files, to be written: .npz, a zip archive of stored .npy members, and .npy, of one array.

Every process writes into its ranges; who finishes adds the sums of the members and the list of them. The
sums of cells (checksums.py) stand where NumPy doesn't look: in a field of each member's description, and
after the elements of a .npy file.
"""

from __future__ import annotations

import io
import json
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from msgspec import Struct
from numpy.lib import format as npy_format

from shardc.arrays.checksums import Cuts, count_of, to_text
from shardc.arrays.entry import CHUNK, Entry
from shardc.diagnostics import ShardcError

FIELD = 0x6373
"""The number of the field: cs."""
TRAILER = b"shardc\0\1"
"""What a .npy file ends in that has sums: their text, its length in eight bytes, and this."""

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END_64, _LOCATOR, _END = struct.Struct("<4sQ2H2L4Q"), struct.Struct("<4sLQL"), struct.Struct("<4s4H2LH")
_VERSION, _UTF8, _1980, _AS_64 = 45, 0x800, 0x21, 0xFFFFFFFF

Arrays = Mapping[str, tuple[np.dtype[Any], Sequence[int], Cuts]]


class _Member(Struct):
    """An array: its .npy header, where that starts, and the sums of its cells."""

    name: str
    header: bytes
    entry: Entry
    cuts: Cuts
    sums: list[int] = []

    @property
    def start(self) -> int:
        return self.entry.offset - len(self.header)

    @property
    def size(self) -> int:
        return len(self.header) + self.entry.nbytes

    def said(self) -> bytes:
        """The cuts, the sums, and the sum of the name and of the header."""
        own = crc32(self.header, crc32(self.name.encode()))
        return json.dumps([self.cuts, to_text(self.sums), to_text([own])], separators=(",", ":")).encode()


class _NumpyPlan:
    """Where arrays lie in a file of `size` bytes, all of which have their place before there are any."""

    size: int

    def __init__(self, members: Sequence[_Member]) -> None:
        self._members = members
        self.entries = {member.name: member.entry for member in members}
        self.cuts = {member.name: member.cuts for member in members}
        for member in members:
            member.sums = [0] * count_of(member.cuts)

    def add_sums(self, sums: Mapping[str, Mapping[int, int]]) -> None:
        """The sums of some cells: name -> number -> sum."""
        for member in self._members:
            for number, value in sums.get(member.name, {}).items():
                member.sums[number] = value


class ArchivePlan(_NumpyPlan):
    """A .npz archive. Its fields are those for long files, whatever its size."""

    def __init__(self, file: str, arrays: Arrays) -> None:
        """ShardcError for a name that cannot be in an archive, or a dtype that NumPy's files don't have."""
        members: list[_Member] = []
        at = 0
        for name, (dtype, shape, cuts) in arrays.items():
            if "\0" in name or not name or len(name.encode()) > 60_000:
                raise ShardcError(f"{file}: {name!r} is no name in an archive")
            header = _header(file, name, dtype, shape)
            start = at + _LOCAL.size + len(_file_name(name)) + 20 + len(header)
            members.append(_Member(name, header, Entry(file, name, dtype, tuple(shape), start), cuts))
            at = start + members[-1].entry.nbytes
        super().__init__(members)
        self._end = at
        self.size = at + len(self._directory([0] * len(members)))

    def complete(self, descriptor: int) -> None:
        """Write all but the elements, which are there."""
        for member in self._members:
            _write(descriptor, member.start, member.header)
        sums = [_sum_of(descriptor, member.start, member.size) for member in self._members]
        for member, value in zip(self._members, sums, strict=True):
            name = _file_name(member.name)
            words = (b"PK\3\4", _VERSION, _UTF8, 0, 0, _1980, value, _AS_64, _AS_64, len(name), 20)
            extra = struct.pack("<2H2Q", 1, 16, member.size, member.size)
            local = _LOCAL.pack(*words) + name + extra
            _write(descriptor, member.start - len(local), local)
        _write(descriptor, self._end, self._directory(sums))

    def _directory(self, sums: Sequence[int]) -> bytes:
        """The description of every member, and where these are."""
        made = b"".join(map(self._described, self._members, sums))
        count, size = len(self._members), len(made)
        end = _END_64.pack(
            b"PK\6\6", _END_64.size - 12, _VERSION, _VERSION, 0, 0, count, count, size, self._end
        )
        made += end + _LOCATOR.pack(b"PK\6\7", 0, self._end + size, 1)
        return made + _END.pack(b"PK\5\6", 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, _AS_64, _AS_64, 0)

    def _described(self, member: _Member, value: int) -> bytes:
        name, said = _file_name(member.name), member.said()
        before = member.start - _LOCAL.size - len(name) - 20
        extra = struct.pack("<2H3Q", 1, 24, member.size, member.size, before)
        if len(extra) + 4 + len(said) < 1 << 16:  # very many blocks have no place for sums of their cells
            extra += struct.pack("<2H", FIELD, len(said)) + said
        words = (b"PK\1\2", _VERSION, _VERSION, _UTF8, 0, 0, _1980, value, _AS_64, _AS_64)
        return _CENTRAL.pack(*words, len(name), len(extra), 0, 0, 0, 0, _AS_64) + name + extra


class ArrayPlan(_NumpyPlan):
    """A .npy file, whose one array has the file's name."""

    def __init__(self, file: str, arrays: Arrays) -> None:
        """ShardcError for several arrays, one of another name, or a dtype that NumPy's files don't have."""
        name = Path(file).stem
        if list(arrays) != [name]:
            raise ShardcError(
                f"{file} holds one array, which is called {name}, and there is {', '.join(arrays) or 'none'}",
                hint="a .npz file holds several, with their names",
            )
        dtype, shape, cuts = arrays[name]
        header = _header(file, name, dtype, shape)
        super().__init__([_Member(name, header, Entry(file, name, dtype, tuple(shape), len(header)), cuts)])
        self.size = self._members[0].size + len(self._trailer())

    def complete(self, descriptor: int) -> None:
        """Write all but the elements, which are there."""
        member = self._members[0]
        _write(descriptor, 0, member.header)
        _write(descriptor, member.size, self._trailer())

    def _trailer(self) -> bytes:
        said = self._members[0].said()
        return said + len(said).to_bytes(8, "little") + TRAILER


def _file_name(name: str) -> bytes:
    return f"{name}.npy".encode()


def _header(file: str, name: str, dtype: np.dtype[Any], shape: Sequence[int]) -> bytes:
    if dtype.kind not in "biufc" or dtype.isbuiltin != 1:
        raise ShardcError(f"{file}: NumPy's files have no dtype {dtype}, which {name} has")
    stream = io.BytesIO()
    said = {"descr": npy_format.dtype_to_descr(dtype), "fortran_order": False, "shape": tuple(shape)}
    npy_format.write_array_header_2_0(stream, said)
    return stream.getvalue()


def _write(descriptor: int, offset: int, data: bytes) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done:], offset + done)


def _sum_of(descriptor: int, start: int, size: int) -> int:
    """The CRC-32 of a range, as the archive has it of each member."""
    value = 0
    for at in range(start, start + size, CHUNK):
        value = crc32(os.pread(descriptor, min(CHUNK, start + size - at), at), value)
    return value
