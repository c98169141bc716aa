"""Files of arrays: the arguments of --inputs, the results of --outputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from shardc.cli.driver import write_bytes
from shardc.diagnostics import ShardcError

Array = NDArray[np.generic]


def read_arrays(file: str) -> dict[str, Array]:
    """The arrays of an .npz file, by name. ShardcError if it is none."""
    if not Path(file).is_file():
        raise ShardcError(f"cannot read {file}: no such file")
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, BadZipFile, EOFError, AttributeError, TypeError):
        raise ShardcError(
            f"{file} is not an .npz file of arrays", hint="numpy.savez writes one: np.savez(file, x=x, w=w)"
        ) from None


def write_arrays(file: str, arrays: Mapping[str, Array]) -> None:
    """Write an .npz file, whole or not at all."""
    write_bytes(file, lambda name: _save(name, arrays))


def _save(file: str, arrays: Mapping[str, Array]) -> None:
    with open(file, "wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)
