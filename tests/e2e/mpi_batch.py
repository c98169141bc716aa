"""Runs in every process: the programs of a folder, one after another, each on as many ranks as it needs."""

from __future__ import annotations

import importlib.util
import pickle
import sys
import traceback
from pathlib import Path
from typing import cast

import numpy as np
from mpi4py import MPI


def run(folder: Path, name: str, results: dict[str, list[np.ndarray]]) -> None:
    world = MPI.COMM_WORLD
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.mpi.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    devices = int(np.prod([*module.AXES.values()]))
    part = world.Split(0 if world.rank < devices else MPI.UNDEFINED)
    if part == MPI.COMM_NULL:
        return
    if devices > 1:
        comm = module.Comm(module.AXES, module.GROUPS, module.DEVICES, part)
        vars(module)["communicator"] = lambda: comm
    arrays = pickle.loads((folder / f"{name}.in").read_bytes())
    found = module.main(*arrays)
    results[name] = leaves(found)


def leaves(found: object) -> list[np.ndarray]:
    """The arrays in tuples and records."""
    items = cast("tuple[object, ...]", found) if isinstance(found, tuple) else None
    return [np.asarray(found)] if items is None else [leaf for item in items for leaf in leaves(item)]


if __name__ == "__main__":
    made: dict[str, list[np.ndarray]] = {}
    place = Path(sys.argv[1])
    try:
        for file in sorted(place.glob("*.in")):
            run(place, file.stem, made)
    except BaseException:
        traceback.print_exc()
        MPI.COMM_WORLD.Abort(1)
    if MPI.COMM_WORLD.rank == 0:
        (place / "results").write_bytes(pickle.dumps(made))
    assert "shardc" not in sys.modules
