"""Runs in every process of JAX: the programs of a folder, one after another, on all devices."""

from __future__ import annotations

import importlib.util
import pickle
import sys
from pathlib import Path

import jax
import numpy as np

Shard = tuple[tuple[slice, ...], np.ndarray]


def run(folder: Path, name: str) -> list[tuple[tuple[int, ...], list[Shard]]]:
    """The shape of each result, and what the devices of this process hold of it."""
    jax.config.update("jax_enable_x64", False)
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.jax.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arrays = pickle.loads((folder / f"{name}.in").read_bytes())
    return [
        (result.shape, [(shard.index, np.array(shard.data)) for shard in result.addressable_shards])
        for result in jax.tree.leaves(module.main(*arrays))
    ]


if __name__ == "__main__":
    place = Path(sys.argv[1])
    made = {file.stem: run(place, file.stem) for file in sorted(place.glob("*.in"))}
    (place / f"results-{jax.process_index()}").write_bytes(pickle.dumps(made))
