"""Runs in every process of JAX: the plans of a folder, each ten times; process 0 writes the quickest."""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

RUNS = 10


def block(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Numbers that no function makes slow."""
    rng = np.random.default_rng(0)
    kind = np.dtype(dtype).kind
    if kind in "iub":
        return rng.integers(0, 2 if kind == "b" else 8, shape).astype(dtype)
    return rng.uniform(0.01, 0.1, shape).astype(dtype)


def loaded(path: Path) -> ModuleType:
    """The module of an emitted file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def argument(mesh: jax.sharding.Mesh, shape: tuple[int, ...], dtype: Any, spec: Any) -> Any:
    """A whole array of which each process makes its blocks."""

    def own(index: tuple[slice, ...] | None) -> np.ndarray:
        assert index is not None
        sizes = (len(range(*part.indices(size))) for part, size in zip(index, shape, strict=True))
        return block((*sizes,), dtype)

    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))
    return jax.make_array_from_callback(shape, sharding, own)


def quickest(run: Callable[[], object]) -> float:
    """Seconds of the quickest run, each as long as its slowest process took."""
    jax.block_until_ready(run())
    found: list[float] = []
    for _ in range(RUNS):
        multihost_utils.sync_global_devices("model")
        start = time.perf_counter()
        jax.block_until_ready(run())
        own = np.array([time.perf_counter() - start], np.float32)
        found.append(float(np.max(multihost_utils.process_allgather(own))))
    return min(found)


def main() -> None:
    folder = Path(sys.argv[1])
    kept = folder / "seconds.json"
    found: dict[str, float] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for name in sys.argv[2:]:
        if name in found:
            continue
        module = loaded(folder / f"{name}.py")
        mesh = module.mesh()
        arrays = [argument(mesh, shape, dtype, spec) for shape, dtype, spec, *_ in module.PARAMS.values()]
        found[name] = quickest(lambda module=module, arrays=arrays: module.main(*arrays))
        if jax.process_index() == 0:
            print(f"{name}: {found[name] * 1e3:.1f} ms", flush=True)
            kept.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
