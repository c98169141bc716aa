"""Measures in every process of MPI: `python -m shardc.launch.measure_mpi FILE.toml`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from shardc.launch.measuring import SIZES, Sample, fit, quickest, rates, toml


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


def _runs(comm: Any, count: int) -> Iterator[tuple[str, int, Callable[[], object]]]:
    """Kind, bytes of the whole array as report/traffic.py counts them, and the call."""
    ring = [(i, (i + 1) % count) for i in range(count)]
    for size in SIZES:
        x = np.ones((count, size // (4 * count)), np.float32)
        part = x[:1]
        yield "all_reduce", x.nbytes, lambda x=x: comm.psum(x, "x")
        yield "reduce_scatter", x.nbytes, lambda x=x: comm.psum_scatter(x, "x")
        yield "all_gather", x.nbytes, lambda part=part: comm.all_gather(part, "x")
        yield "all_to_all", x.nbytes, lambda x=x: comm.all_to_all(x, "x", 0, 1)
        yield "collective_permute", x.nbytes, lambda x=x: comm.ppermute(x, "x", ring)


if __name__ == "__main__":
    sys.exit(main())
