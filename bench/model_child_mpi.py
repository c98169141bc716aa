"""Runs in every process of MPI: the plans of a folder, each ten times; process 0 writes the quickest."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from mpi4py import MPI

from bench.model_timing import Processes, block, measure
from shardc.launch.measure_mpi import clock, product


def ready(module: ModuleType) -> Callable[[], object]:
    """What runs a plan, without the check of its arguments."""
    comm = module.communicator()
    blocks = [
        block(module.place(comm, spec, shape)[1], dtype) for shape, dtype, spec in module.PARAMS.values()
    ]
    return lambda: module.run(comm, blocks)


if __name__ == "__main__":
    world = MPI.COMM_WORLD
    measure(Processes(ready, product, clock(world), world.rank == 0))
