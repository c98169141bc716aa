"""Measures in every process of JAX: `shardc run measure_jax.py -n 8 -- FILE.toml` starts it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from shardc.graph.types import DTYPES
from shardc.launch.measuring import SIZES, Piece, block_shape, fit, operand_bytes, sampled, toml
from shardc.launch.solving import Clock
from shardc.launch.working import Function, Product, blocks, measured
from shardc.ops import OpDef, spmd


def main() -> int:
    """Measure together; process 0 writes the file."""
    jax: Any = import_module("jax")
    count = len(jax.devices())
    together = clock()
    samples = sampled(_runs(jax, count), together)
    work = Work(jax)
    device = measured(work.product, work.function, ("f32", "f64", "bf16"), together)
    if jax.process_index() == 0:
        with open(sys.argv[1], "w", encoding="utf-8") as stream:
            stream.write(toml("gloo", count, device, fit(samples, count)))
    return 0


def clock() -> Clock:
    """Of all processes of JAX."""
    tools: Any = import_module("jax.experimental.multihost_utils")

    def slowest(seconds: Any) -> Any:
        return np.max(np.asarray(tools.process_allgather(seconds.astype(np.float32))), axis=0)

    return Clock(lambda: tools.sync_global_devices("measure"), slowest)


class Work:
    """Calls of compiled functions on this process's first device."""

    def __init__(self, jax: Any) -> None:
        self.jax = jax

    def product(self, product: Product) -> Callable[[], object]:
        with self.jax.enable_x64(product.dtype == "f64"):
            a, b = (self.jax.numpy.ones(shape, DTYPES[product.dtype][1]) for shape in product.shapes)
            return self._compiled(product.run, a, b)

    def function(self, work: Function, side: int) -> Callable[[], object]:
        return self._compiled(partial(work.run, self.jax.numpy), *map(self.jax.numpy.asarray, blocks(side)))

    def _compiled(self, function: Callable[..., Any], *arrays: Any) -> Callable[[], object]:
        call = self.jax.jit(function).lower(*arrays).compile()
        return lambda: self.jax.block_until_ready(call(*arrays))


def _runs(jax: Any, count: int) -> Iterator[Piece]:
    """What is timed, of all sizes."""
    spec = jax.sharding.PartitionSpec("x")
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
    sharding = jax.sharding.NamedSharding(mesh, spec)
    for size in SIZES:
        rows, columns = block_shape(size, count)
        own = np.ones((rows * jax.local_device_count(), columns), np.float32)
        x = jax.make_array_from_process_local_data(sharding, own)
        for kind, strided, body in _bodies(jax.lax, count):
            call = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec))
            yield (
                kind,
                operand_bytes(kind, rows * columns * 4, count),
                strided,
                lambda call=call, x=x: call(x).block_until_ready(),
            )


def _bodies(lax: Any, count: int) -> Iterator[tuple[OpDef, bool, Callable[[Any], Any]]]:
    """What a device runs on its block of each collective, along rows, then along columns."""
    ring = [(i, (i + 1) % count) for i in range(count)]
    yield spmd.all_reduce, False, lambda x: lax.pcast(lax.psum(x, "x"), "x", to="varying")
    yield spmd.collective_permute, False, lambda x: lax.ppermute(x, "x", ring)
    for dim in (0, 1):
        yield (
            spmd.reduce_scatter,
            dim == 1,
            lambda x, dim=dim: lax.psum_scatter(x, "x", scatter_dimension=dim, tiled=True),
        )
        yield (
            spmd.all_gather,
            dim == 1,
            lambda x, dim=dim: lax.all_gather(
                lax.slice_in_dim(x, 0, x.shape[dim] // count, axis=dim), "x", axis=dim, tiled=True
            ),
        )
        yield spmd.all_to_all, False, lambda x, dim=dim: lax.all_to_all(x, "x", dim, 1 - dim, tiled=True)


if __name__ == "__main__":
    sys.exit(main())
