"""Runs in every process: each collective over all axes, on arrays of every kind, against emulated devices.

What the eight positions give, each process makes itself; `shardc.runtime` says what it is to get.
"""

from __future__ import annotations

import itertools
import sys
import traceback
from collections.abc import Iterator

import ml_dtypes
import numpy as np
from mpi4py import MPI

from shardc.backend.mpi.prelude import Comm
from shardc.runtime import Mesh
from shardc.runtime.collectives import COLLECTIVES
from shardc.runtime.groups import MeshGroups
from tests.ragged import documented, tables

SIZES = {"data": 2, "model": 4}
AXES = ("data", "model", ("data", "model"), ("model", "data"))
ORDERS = (None, [3, 1, 4, 7, 5, 0, 2, 6])
SHAPES = ((8, 16, 3), (16, 8), (8, 0), ())
DTYPES = (np.float32, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.bool_, np.int8, np.complex64)
LAYOUTS = (np.copy, np.asfortranarray, lambda x: np.repeat(x, 2, 0)[::2])


def calls(size: int, rank: int) -> Iterator[tuple[str, tuple[object, ...], dict[str, object]]]:
    """Name, arguments behind the axes, and the same as emulated devices have them."""
    kinds = ("psum", "pmax", "pmin")
    yield from ((kind, (), {}) for kind in kinds)
    turned = [(i, (i + 1) % size) for i in range(size)]
    for perm in (turned, turned[:-1], [(size - 1, 0)], [(i, i) for i in range(size)]):
        yield "ppermute", (perm,), {"perm": perm}
    for source in (0, size - 1):
        yield "pbroadcast", (source,), {"source": source}
    for dim in range(min(rank, 2)):
        yield "all_gather", (dim,), {"axis": dim, "tiled": True}
        yield "psum_scatter", (dim,), {"scatter_dimension": dim, "tiled": True}
        for to in range(rank):
            yield "all_to_all", (dim, to), {"split_axis": dim, "concat_axis": to, "tiled": True}


def given(shape: tuple[int, ...], dtype: type, position: int) -> np.ndarray:
    """What a position gives, in no particular order in memory."""
    rng = np.random.default_rng([position, len(shape)])
    made = 4 * rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype is np.complex64 else 0)
    return (made > 0 if dtype is np.bool_ else made).astype(dtype)


def check(comm: Comm, groups: MeshGroups, position: int) -> int:
    """Every collective on every array; how many."""
    done = 0
    kinds = [*itertools.product(DTYPES[:1], LAYOUTS), *((dtype, np.asfortranarray) for dtype in DTYPES[1:])]
    for shape, (dtype, layout), axes in itertools.product(SHAPES, kinds, AXES):
        over = groups.over((axes,) if isinstance(axes, str) else axes)
        members = next(group for group in over.members if position in group)
        blocks = [given(shape, dtype, member) for member in members]
        for kind, words, params in calls(over.size, len(shape)):
            if kind in ("pmax", "pmin") and dtype is np.complex64:
                continue
            own = given(shape, dtype, position)
            got = getattr(comm, kind)(layout(own) if own.ndim else own, axes, *words)
            want = COLLECTIVES[kind](blocks, params)[members.index(position)]
            assert (got.shape, got.dtype) == (want.shape, want.dtype), (kind, axes, shape, dtype, got.shape)
            assert got.tobytes() == want.tobytes(), (kind, axes, shape, dtype, params)
            done += 1
    return done


def check_ragged(comm: Comm, groups: MeshGroups, position: int) -> int:
    """Rows to every position, in one and several pieces, as JAX documents it; how many exchanges."""
    done = 0
    for axes, share, dtype in itertools.product(AXES, (1, 3), (np.float32, ml_dtypes.bfloat16)):
        over = groups.over((axes,) if isinstance(axes, str) else axes)
        given, place = tables(share, share, over.size), int(over.place[position])
        rng = np.random.default_rng(share)
        rows = 2 * over.size * share + 1
        x = rng.standard_normal((over.size, rows, 3)).astype(dtype)
        output = rng.standard_normal((over.size, 2 * rows, 3)).astype(dtype)
        own = [table[place] for table in given]
        got = comm.ragged_all_to_all(np.asfortranarray(x[place]), output[place], *own, axes=axes)
        assert got.tobytes() == documented(x, output, given)[place].tobytes(), (axes, share)
        done += 1
    return done


def main() -> None:
    for order in ORDERS:
        comm = Comm(SIZES, AXES, order)
        position = (order or [*range(8)]).index(MPI.COMM_WORLD.rank)
        groups = MeshGroups(Mesh(SIZES))
        done = check(comm, groups, position) + check_ragged(comm, groups, position)
    print(f"{done} collectives", flush=True)


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)
