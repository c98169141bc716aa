"""Files of whole arrays, by what their names end in: where the arrays lie in one that is to be written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from shardc.arrays.checksums import cuts_of
from shardc.arrays.numpy_saving import ArchivePlan, ArrayPlan, Arrays
from shardc.arrays.placed import Placed
from shardc.arrays.safetensors import Plan
from shardc.arrays.writing import FilePlan
from shardc.diagnostics import ShardcError

_PLANS: dict[str, Callable[[str, Arrays], FilePlan]] = {
    ".safetensors": Plan,
    ".npz": ArchivePlan,
    ".npy": ArrayPlan,
}


def is_whole_file(path: str) -> bool:
    """Whether arrays saved at a path become one file."""
    return Path(path).suffix in _PLANS


def check_file(path: str) -> None:
    """ShardcError if no file can be there: it is a folder, or in none."""
    if Path(path).is_dir():
        raise ShardcError(f"cannot write {path}: is a directory")
    if not Path(path).absolute().parent.is_dir():
        raise ShardcError(f"cannot write {path}: there is no such directory")


def plan_of(path: str, layouts: Mapping[str, Placed]) -> FilePlan:
    """The file at a path. ShardcError if its format does not have the dtypes or names of the arrays."""
    arrays: Arrays = {
        name: (
            placed.type.numpy,
            placed.type.shape,
            cuts_of(
                placed.type.shape,
                placed.type.numpy.itemsize,
                [bounds for _, bounds in placed.writers(name)],
            ),
        )
        for name, placed in layouts.items()
    }
    return _PLANS[Path(path).suffix](path, arrays)
