"""Measures in every process of JAX: `shardc run measure_jax.py -n 8 -- FILE.toml [MACHINE]` starts it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from shardc.diagnostics import ShardcError
from shardc.graph.types import DTYPES
from shardc.launch.measuring import (
    SIZES,
    Piece,
    Site,
    block_shape,
    connected,
    operand_bytes,
    processes,
    write,
)
from shardc.launch.timing import Call, Clock
from shardc.launch.working import Function, Product, copies, first_product, measured
from shardc.ops import OpDef, spmd

_MULTIPLIES = {"cpu": ("f32", "f64", "bf16"), "tpu": ("f32", "bf16")}
"""The dtypes of products, by platform."""

_ANYWHERE = ("f32", "f64", "bf16", "f16")

_LARGER = 8
"""By how much the matrices of an accelerator are larger in every dimension: what is sent and multiplied takes
longer than starting it, and blocks are larger than caches."""


def main() -> int:
    """Measure together; process 0 writes the file. A machine that is named lends its links."""
    measure(sys.argv[1], "".join(sys.argv[2:]))
    return 0


def measure_here(file: str, of: str) -> None:
    """Measure the accelerators that this process sees. ShardcError where there is none, or where none is
    connected to another and no machine lends its links."""
    devices: Sequence[Any] = import_module("jax").devices()
    if devices[0].platform == "cpu":
        raise ShardcError("JAX sees no accelerator here", hint="-n 8 measures processes on the CPU")
    if len(devices) < 2 and not of:
        raise ShardcError(
            "between fewer than two devices nothing is sent",
            hint="--links h100-infiniband takes that machine's links",
        )
    measure(file, of)


def measure(file: str, of: str) -> None:
    """Measure all devices of JAX's processes, and write the file in process 0."""
    jax: Any = import_module("jax")
    first, count = jax.devices()[0], len(jax.devices())
    site = _site(first, count)
    together, scale = clock(), 1 if first.platform == "cpu" else _LARGER
    work, dtypes = Work(jax), _MULTIPLIES.get(first.platform, _ANYWHERE)
    between = work.product(first_product(scale))
    links = connected(lambda: _runs(jax, count, scale), count, site, between, together, of)
    device = measured(work.product, work.functions, dtypes, together, scale)
    if jax.process_index() == 0:
        write(file, site, device, links, of)


def _site(device: Any, count: int) -> Site:
    """Of devices like this one."""
    if device.platform == "cpu":
        return processes("gloo", count)
    kind = str(device.device_kind)
    memory = device.memory_stats()["bytes_limit"]
    return Site(f"{count} x {kind}", str(device.platform), f"measured on {kind}", memory)


def clock() -> Clock:
    """Of all processes of JAX."""
    jax: Any = import_module("jax")
    if jax.process_count() == 1:
        return Clock(lambda: None, lambda seconds: seconds[None], jax.block_until_ready)
    tools: Any = import_module("jax.experimental.multihost_utils")

    def everyone(seconds: Any) -> Any:
        return np.asarray(tools.process_allgather(seconds.astype(np.float32)))

    return Clock(lambda: tools.sync_global_devices("measure"), everyone, jax.block_until_ready)


class Names:
    """Those of jax.numpy, and of functions that are elsewhere in JAX."""

    def __init__(self, jax: Any) -> None:
        self._jax = jax

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jax.numpy, name)

    def added(self, table: Any, places: Any, rows: Any) -> Any:
        """The table with rows added to those at the places."""
        return table.at[places].add(rows)

    def convolved(self, image: Any, kernel: Any) -> Any:
        """The convolution of an image [number, row, column, channel] with a kernel of 3 x 3."""
        numbers = "NHWC", "HWIO", "NHWC"
        return self._jax.lax.conv_general_dilated(image, kernel, (1, 1), "SAME", dimension_numbers=numbers)


class Work:
    """Calls of compiled functions on this process's first device."""

    def __init__(self, jax: Any) -> None:
        self.jax = jax

    def product(self, product: Product) -> Call:
        with self.jax.enable_x64(product.dtype == "f64"):
            a, b = (self.jax.numpy.ones(shape, DTYPES[product.dtype][1]) for shape in product.shapes)
            compiled = self._compiled(product.run, a, b)
            return lambda: compiled(a, b)

    def functions(self, side: int) -> Callable[[Function], Call]:
        """What makes calls of functions on blocks of so many rows."""
        given, names = copies(side, self.jax.numpy.array), Names(self.jax)

        def call(work: Function) -> Call:
            compiled = self._compiled(partial(work.run, names), *next(given))
            return lambda: compiled(*next(given))

        return call

    def _compiled(self, function: Callable[..., Any], *arrays: Any) -> Callable[..., object]:
        return self.jax.jit(function).lower(*arrays).compile()


def _runs(jax: Any, count: int, scale: int) -> Iterator[Piece]:
    """What is timed, of all sizes."""
    spec = jax.sharding.PartitionSpec("x")
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
    sharding = jax.sharding.NamedSharding(mesh, spec)
    for size in SIZES:
        rows, columns = block_shape(scale**2 * size, count)
        own = np.ones((rows * jax.local_device_count(), columns), np.float32)
        x = jax.make_array_from_process_local_data(sharding, own)
        for kind, strided, body in _bodies(jax.lax, count):
            call = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec))
            yield (
                kind,
                operand_bytes(kind, rows * columns * 4, count),
                strided,
                lambda call=call, x=x: call(x),
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
