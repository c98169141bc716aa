"""Runs in every process of JAX: the plans of a folder, each ten times; process 0 writes the quickest."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import numpy as np

from bench.model_timing import Processes, block, measure
from shardc.launch.measure_jax import Work, clock


def argument(mesh: jax.sharding.Mesh, shape: tuple[int, ...], dtype: Any, spec: Any) -> Any:
    """A whole array of which each process makes its blocks."""

    def own(index: tuple[slice, ...] | None) -> np.ndarray:
        assert index is not None
        sizes = (len(range(*part.indices(size))) for part, size in zip(index, shape, strict=True))
        return block((*sizes,), dtype)

    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))
    return jax.make_array_from_callback(shape, sharding, own)


def ready(module: ModuleType) -> Callable[[], object]:
    """What runs a plan."""
    mesh = module.mesh()
    arrays = [argument(mesh, shape, dtype, spec) for shape, dtype, spec, *_ in module.PARAMS.values()]
    return lambda: jax.block_until_ready(module.main(*arrays))


if __name__ == "__main__":
    measure(Processes(ready, Work(jax).product, clock(), jax.process_index() == 0))
