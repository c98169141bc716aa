"""safetensors: eight bytes with the length of a JSON header, the header, the arrays row-major.

Beside what the format says the header's metadata may have CHECKSUMS: where the cells of each array are cut,
and their sums; and HEADER, the sum of what the header says of arrays and of CHECKSUMS.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, cast
from zlib import crc32

import ml_dtypes
import numpy as np

from shardc.arrays.checksums import Checksums, Cuts, count_of, from_text, to_text
from shardc.arrays.entry import Entry, opened
from shardc.diagnostics import ShardcError

CHECKSUMS = "shardc.checksums"
HEADER = "shardc.header"
_METADATA = "__metadata__"
_LONGEST = 100 << 20

DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype(np.float64),
    "F32": np.dtype(np.float32),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "F8_E8M0": np.dtype(ml_dtypes.float8_e8m0fnu),
    "F8_E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "F8_E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "I64": np.dtype(np.int64),
    "I32": np.dtype(np.int32),
    "I16": np.dtype(np.int16),
    "I8": np.dtype(np.int8),
    "U64": np.dtype(np.uint64),
    "U32": np.dtype(np.uint32),
    "U16": np.dtype(np.uint16),
    "U8": np.dtype(np.uint8),
    "BOOL": np.dtype(np.bool_),
    "C64": np.dtype(np.complex64),
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def name_of(array: str, dtype: np.dtype[Any]) -> str:
    """What the format calls the dtype of an array. ShardcError if it has none."""
    if dtype not in _NAMES:
        raise ShardcError(
            f"safetensors, and so a folder of blocks, has no dtype {dtype}, which {array} has",
            hint="NAME.npz has those of NumPy, NAME.zarr those of zarr",
        )
    return _NAMES[dtype]


def read_entries(file: str) -> dict[str, Entry]:
    """The arrays of a file by name. ShardcError if it is none of the format, or ends too early
    or too late, as for its own package: arrays lie one behind the other, without gaps."""
    with opened(file) as descriptor:
        size = os.fstat(descriptor).st_size
        length = int.from_bytes(os.pread(descriptor, 8, 0), "little")
        if size < 8 or length > min(size - 8, _LONGEST):
            raise ShardcError(
                f"{file} is no safetensors file, or is truncated: its header does not end in it"
            )
        text = os.pread(descriptor, length, 8)
    try:
        header = cast("dict[str, dict[str, Any]]", json.loads(text, object_pairs_hook=_once))
        metadata = header.pop(_METADATA, {})
        _check_header(file, header, metadata)
        sums = _checksums(metadata)
        entries = {
            name: _entry(file, name, said, 8 + length, sums.get(name)) for name, said in header.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise ShardcError(f"{file} is no safetensors file: its header cannot be read") from None
    end = 8 + length
    for entry in sorted(entries.values(), key=lambda entry: (entry.offset, entry.nbytes)):
        entry.check_size(size)
        if entry.offset != end:
            raise ShardcError(
                f"{file} is no safetensors file: {entry.name} begins at byte {entry.offset}, and what is "
                f"before it ends at {end}"
            )
        end += entry.nbytes
    if size > end:
        last = max(entries, key=lambda name: entries[name].offset, default="its header")
        raise ShardcError(f"{file} was altered: it has {size - end} bytes behind {last}, which is its end")
    return entries


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object. ValueError if it has a key twice, or one that is no text of Unicode."""
    found = dict(pairs)
    for name in found:
        name.encode()
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found


def _check_header(file: str, header: Mapping[str, Any], metadata: Mapping[str, str]) -> None:
    """ShardcError if the header says something else than when `Plan` wrote it, or has lost a part of that."""
    if HEADER in metadata and CHECKSUMS not in metadata:
        raise ShardcError(f"{file} was altered: its header has lost the checksums of the arrays")
    if HEADER in metadata and metadata[HEADER] != _sum_of(header, metadata[CHECKSUMS]):
        raise ShardcError(
            f"{file} was altered: its header says of {', '.join(header) or 'arrays'} what was not saved so"
        )


def _sum_of(header: Mapping[str, Any], checksums: str) -> str:
    """The sum of what a header says, eight hexadecimal digits."""
    text = json.dumps(header, sort_keys=True, separators=(",", ":")) + checksums
    return to_text([crc32(text.encode())])


def _entry(file: str, name: str, said: Mapping[str, Any], start: int, sums: Checksums | None) -> Entry:
    if said["dtype"] not in DTYPES:
        raise ShardcError(f"{file}: {name} has dtype {said['dtype']}, which is not known")
    first, stop = map(_whole, said["data_offsets"])
    shape = tuple(map(_whole, said["shape"]))
    entry = Entry(file, name, DTYPES[said["dtype"]], shape, start + first, checksums=sums)
    if stop - first != entry.nbytes or first < 0 or min(shape, default=0) < 0:
        raise ShardcError(f"{file}: {name}, {said['dtype']}{list(shape)}, has {stop - first} bytes")
    if sums is not None and not sums.fit(shape):
        raise ShardcError(
            f"{file} was altered: its checksums are not of {name}, {said['dtype']}{list(shape)}"
        )
    return entry


def _whole(number: object) -> int:
    """A number of the header. ValueError if it is no whole one."""
    if type(number) is not int:
        raise ValueError(f"{number} is no whole number")
    return number


def _checksums(metadata: Mapping[str, str]) -> dict[str, Checksums]:
    said = json.loads(metadata.get(CHECKSUMS, "{}"))
    return {
        name: Checksums(tuple(tuple(at) for at in cuts), from_text(sums))
        for name, (cuts, sums) in said.items()
    }


class Plan:
    """Where the arrays of a file that is to be written lie: the header has the same length with any sums."""

    def __init__(self, file: str, arrays: Mapping[str, tuple[np.dtype[Any], Sequence[int], Cuts]]) -> None:
        """`arrays`: name -> dtype, shape and where its cells are cut. ShardcError for a dtype it has not."""
        self.cuts = {name: cuts for name, (_, _, cuts) in arrays.items()}
        self._said: dict[str, dict[str, object]] = {}
        self._sums = {name: [0] * count_of(cuts) for name, cuts in self.cuts.items()}
        end = 0
        for name, (dtype, shape, _) in sorted(arrays.items(), key=lambda item: -item[1][0].itemsize):
            nbytes = Entry(file, name, dtype, tuple(shape), 0).nbytes
            self._said[name] = {
                "dtype": name_of(name, dtype),
                "shape": list(shape),
                "data_offsets": [end, end + nbytes],
            }
            end += nbytes
        start = len(self.header())
        self.size = start + end
        self.entries = {
            name: Entry(file, name, arrays[name][0], tuple(arrays[name][1]), start + offset(said))
            for name, said in self._said.items()
        }

    def add_sums(self, sums: Mapping[str, Mapping[int, int]]) -> None:
        """The sums of some cells: name -> number -> sum."""
        for name, found in sums.items():
            for number, value in found.items():
                self._sums[name][number] = value

    def complete(self, descriptor: int) -> None:
        """Write all but the elements, which are there."""
        os.pwrite(descriptor, self.header(), 0)

    def header(self) -> bytes:
        """The file's beginning, padded to eight bytes."""
        said = {name: [self.cuts[name], to_text(sums)] for name, sums in self._sums.items()}
        sums = json.dumps(said, separators=(",", ":"))
        metadata = {"format": "np", CHECKSUMS: sums, HEADER: _sum_of(self._said, sums)}
        text = json.dumps({_METADATA: metadata, **self._said}, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text


def offset(said: Mapping[str, Any]) -> int:
    """Where an array starts, after the header."""
    return int(said["data_offsets"][0])
