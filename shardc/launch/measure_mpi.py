"""Measures in every process of MPI: `python -m shardc.launch.measure_mpi FILE.toml [MACHINE]`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from shardc.graph.attrs import ConvDims, ScatterDims
from shardc.graph.types import DTYPES
from shardc.launch.measuring import SIZES, Piece, block_shape, connected, operand_bytes, processes, write
from shardc.launch.timing import Call, Clock
from shardc.launch.working import Function, Product, copies, first_product, measured
from shardc.ops import OpDef, spmd
from shardc.semantics import ops


def main() -> int:
    """Measure together; process 0 writes the file. A machine that is named lends its links."""
    file, of = sys.argv[1], "".join(sys.argv[2:])
    from mpi4py import MPI

    from shardc.backend.mpi.prelude import Comm

    world: Any = MPI.COMM_WORLD
    comm: Any = Comm({"x": world.size}, ["x"])
    together = clock(world)
    site = processes("MPI", world.size)
    between = product(first_product())
    links = connected(lambda: _runs(comm, world.size), world.size, site, between, together, of)
    device = measured(product, functions, ("f32", "f64"), together, fuses=False)
    if world.rank == 0:
        write(file, site, device, links, of)
    return 0


def clock(world: Any) -> Clock:
    """Of all processes of a communicator."""
    return Clock(world.Barrier, lambda seconds: np.stack(world.allgather(seconds)))


def product(product: Product) -> Call:
    """What multiplies matrices of ones."""
    a, b = (np.ones(shape, DTYPES[product.dtype][1]) for shape in product.shapes)
    return lambda: product.run(a, b)


class Names:
    """NumPy's, and those of array functions that programs have besides."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def added(self, table: Any, places: Any, rows: Any) -> Any:
        """The table with rows added to those at the places."""
        dims = ScatterDims((1,), (0,), (), (), (0,), 1)
        return ops.scatter([table], places[:, None], [rows], kind="sum", scatter_dimension_numbers=dims)

    def convolved(self, image: Any, kernel: Any) -> Any:
        """The convolution of an image [number, row, column, channel] with a kernel of 3 x 3."""
        dims = ConvDims(0, 3, (1, 2), 2, 3, (0, 1), 0, 3, (1, 2))
        return ops.convolution(image, kernel, dimension_numbers=dims, padding=((1, 1), (1, 1)))


def functions(side: int) -> Callable[[Function], Call]:
    """What makes calls of functions on blocks of so many rows. The memory of results is used again at once,
    as in programs."""
    given, names = copies(side, np.copy), Names()
    return lambda work: lambda: work.run(names, *next(given))


def _runs(comm: Any, count: int) -> Iterator[Piece]:
    """What is timed, of all sizes."""
    ring = [(i, (i + 1) % count) for i in range(count)]
    for size in SIZES:
        x = np.ones(block_shape(size, count), np.float32)
        calls: list[tuple[OpDef, bool, Call]] = [
            (spmd.all_reduce, False, lambda x=x: comm.psum(x, "x")),
            (spmd.collective_permute, False, lambda x=x: comm.ppermute(x, "x", ring)),
        ]
        for dim in (0, 1):
            part = np.ascontiguousarray(np.split(x, count, dim)[0])
            calls += [
                (spmd.reduce_scatter, dim == 1, lambda x=x, dim=dim: comm.psum_scatter(x, "x", dim)),
                (spmd.all_gather, dim == 1, lambda part=part, dim=dim: comm.all_gather(part, "x", dim)),
                (spmd.all_to_all, False, lambda x=x, dim=dim: comm.all_to_all(x, "x", dim, 1 - dim)),
            ]
        for kind, strided, call in calls:
            yield kind, operand_bytes(kind, x.nbytes, count), strided, call


if __name__ == "__main__":
    sys.exit(main())
