"""Runs in every process of JAX: the programs of a folder, one after another, on all devices."""

from __future__ import annotations

import importlib.util
import pickle
import sys
from pathlib import Path

import jax
import numpy as np
from jax.experimental import multihost_utils


def run(folder: Path, name: str) -> list[np.ndarray]:
    jax.config.update("jax_enable_x64", False)
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arrays = pickle.loads((folder / f"{name}.in").read_bytes())
    return [whole(result) for result in jax.tree.leaves(module.main(*arrays))]


def whole(result: jax.Array) -> np.ndarray:
    """The result on every process, its dtype unchanged."""
    if result.is_fully_addressable:
        return np.asarray(result)
    return np.asarray(multihost_utils.process_allgather(result, tiled=True))


if __name__ == "__main__":
    place = Path(sys.argv[1])
    made = {file.stem: run(place, file.stem) for file in sorted(place.glob("*.in"))}
    if jax.process_index() == 0:
        (place / "results").write_bytes(pickle.dumps(made))
