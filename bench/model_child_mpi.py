"""Runs in every process of MPI: the plans of a folder, each ten times; process 0 writes the quickest."""

from __future__ import annotations

from types import ModuleType

from mpi4py import MPI

from bench.model_timing import block, measure, quickest


def seconds(module: ModuleType) -> float:
    """Seconds of a plan, without the check of its arguments."""
    comm = module.communicator()
    blocks = [
        block(module.place(comm, spec, shape)[1], dtype) for shape, dtype, spec in module.PARAMS.values()
    ]
    world = MPI.COMM_WORLD
    return quickest(
        lambda: module.run(comm, blocks), world.Barrier, lambda own: world.allreduce(own, MPI.MAX)
    )


if __name__ == "__main__":
    measure(seconds, MPI.COMM_WORLD.rank == 0)
