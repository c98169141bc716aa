"""Measures in every process of MPI: `python -m shardc.launch.measure_mpi FILE.toml`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from shardc.launch.measuring import SIZES, Sample, fit, operand_bytes, quickest, rates, toml
from shardc.ops import OpDef, spmd


def main() -> int:
    """Measure together; process 0 writes the file."""
    from mpi4py import MPI

    from shardc.backend.mpi.prelude import Comm

    world: Any = MPI.COMM_WORLD
    comm: Any = Comm({"x": world.size}, ["x"])
    samples = [
        Sample(kind, nbytes, world.allreduce(quickest(run, world.Barrier), MPI.MAX))
        for kind, nbytes, run in _runs(comm, world.size)
    ]
    flops, bandwidth = rates(world.Barrier)
    if world.rank == 0:
        with open(sys.argv[1], "w", encoding="utf-8") as stream:
            stream.write(toml("MPI", world.size, flops, bandwidth, fit(samples, world.size)))
    return 0


def _runs(comm: Any, count: int) -> Iterator[tuple[OpDef, int, Callable[[], object]]]:
    """Kind, bytes of a device's operand, and the call."""
    ring = [(i, (i + 1) % count) for i in range(count)]
    for size in SIZES:
        x = np.ones((count, size // (4 * count)), np.float32)
        part = x[:1]
        calls: dict[OpDef, Callable[[], object]] = {
            spmd.all_reduce: lambda x=x: comm.psum(x, "x"),
            spmd.reduce_scatter: lambda x=x: comm.psum_scatter(x, "x"),
            spmd.all_gather: lambda part=part: comm.all_gather(part, "x"),
            spmd.all_to_all: lambda x=x: comm.all_to_all(x, "x", 0, 1),
            spmd.collective_permute: lambda x=x: comm.ppermute(x, "x", ring),
        }
        for kind, call in calls.items():
            yield kind, operand_bytes(kind, x.nbytes, count), call


if __name__ == "__main__":
    sys.exit(main())
