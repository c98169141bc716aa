"""Files of arrays: the arguments of --inputs, the results of --outputs."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from shardc.cli.driver import write_bytes
from shardc.diagnostics import ShardcError

Array = NDArray[np.generic]

_UNREADABLE = (
    OSError, ValueError, BadZipFile, EOFError, AttributeError, TypeError,
    RuntimeError,  # an archive that is encrypted, or of a version that zipfile does not know
    zlib.error,
    MemoryError,  # a shape that nothing could hold
)  # fmt: skip
"""What NumPy and zipfile raise at files that are no archives of arrays."""


def read_arrays(file: str) -> dict[str, Array]:
    """The arrays of an .npz file, by name. ShardcError if it is none."""
    if Path(file).is_dir():
        raise ShardcError(f"cannot read {file}: is a directory", hint="an .npz file has the arrays by name")
    if not Path(file).is_file():
        raise ShardcError(f"cannot read {file}: no such file")
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {name: _read(archive, name) for name in archive.files}
    except _UNREADABLE:
        raise ShardcError(
            f"{file} is not an .npz file of arrays", hint="numpy.savez writes one: np.savez(file, x=x, w=w)"
        ) from None


def write_arrays(file: str, arrays: Mapping[str, Array]) -> None:
    """Write an .npz file, whole or not at all."""
    write_bytes(file, lambda name: _save(name, arrays))


def _save(file: str, arrays: Mapping[str, Array]) -> None:
    with open(file, "wb") as stream:
        np.savez(stream, allow_pickle=False, **{name: _bytes(array) for name, array in arrays.items()})


def _read(archive: np.lib.npyio.NpzFile, name: str) -> Array:
    """An array. NumPy writes the dtype f8e5m2 of ml_dtypes as one that it does not read."""
    try:
        return archive[name]
    except ValueError:
        assert archive.zip is not None
        text = archive.zip.read(f"{name}.npy").replace(b"'<f1'", b"'|V1'", 1)
        return npy_format.read_array(BytesIO(text), allow_pickle=False)


def _bytes(array: Array) -> Array:
    """An array of a dtype that NumPy has not, as so many bytes."""
    return array if array.dtype.isbuiltin == 1 else array.view(f"V{array.dtype.itemsize}")
