"""Runs in every process of MPI: the plans of a folder, each ten times; process 0 writes the quickest."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType

from mpi4py import MPI

from bench.model_timing import Processes, block, measure
from shardc.launch.measure_mpi import product
from shardc.launch.solving import Clock


def ready(module: ModuleType) -> Callable[[], object]:
    """What runs a plan, without the check of its arguments."""
    comm = module.communicator()
    blocks = [
        block(module.place(comm, spec, shape)[1], dtype) for shape, dtype, spec in module.PARAMS.values()
    ]
    return lambda: module.run(comm, blocks)


if __name__ == "__main__":
    world = MPI.COMM_WORLD
    clock = Clock(world.Barrier, partial(world.allreduce, op=MPI.MAX))
    measure(Processes(ready, product, clock, world.rank == 0))
