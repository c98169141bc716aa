"""Measures in every process of JAX: `shardc run measure_jax.py -n 8 -- FILE.toml` starts it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from shardc.launch.measuring import SIZES, Sample, fit, operand_bytes, quickest, rates, toml
from shardc.ops import OpDef, spmd


def main() -> int:
    """Measure together; process 0 writes the file."""
    jax: Any = import_module("jax")
    tools: Any = import_module("jax.experimental.multihost_utils")
    count = len(jax.devices())

    def before() -> None:
        tools.sync_global_devices("measure")

    samples: list[Sample] = []
    for kind, nbytes, run in _runs(jax, count):
        slowest = np.asarray(tools.process_allgather(np.array([quickest(run, before)], np.float32)))
        samples.append(Sample(kind, nbytes, float(slowest.max())))
    flops, bandwidth = rates(before)
    if jax.process_index() == 0:
        with open(sys.argv[1], "w", encoding="utf-8") as stream:
            stream.write(toml("gloo", count, flops, bandwidth, fit(samples, count)))
    return 0


def _runs(jax: Any, count: int) -> Iterator[tuple[OpDef, int, Callable[[], object]]]:
    """Kind, bytes of a device's operand, and the call."""
    lax, spec = jax.lax, jax.sharding.PartitionSpec("x")
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
    ring = [(i, (i + 1) % count) for i in range(count)]
    bodies: dict[OpDef, Callable[[Any], Any]] = {
        spmd.all_reduce: lambda x: lax.pcast(lax.psum(x, "x"), "x", to="varying"),
        spmd.reduce_scatter: partial(lax.psum_scatter, axis_name="x", tiled=True),
        spmd.all_gather: lambda x: lax.all_gather(x[:1], "x", tiled=True),
        spmd.all_to_all: partial(lax.all_to_all, axis_name="x", split_axis=0, concat_axis=1, tiled=True),
        spmd.collective_permute: partial(lax.ppermute, axis_name="x", perm=ring),
    }
    for size in SIZES:
        columns = size // (4 * count)
        sharding = jax.sharding.NamedSharding(mesh, spec)
        own = np.ones((count * jax.local_device_count(), columns), np.float32)
        x = jax.make_array_from_process_local_data(sharding, own)
        for kind, body in bodies.items():
            call = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec))
            yield (
                kind,
                operand_bytes(kind, count * columns * 4, count),
                lambda call=call, x=x: call(x).block_until_ready(),
            )


if __name__ == "__main__":
    sys.exit(main())
