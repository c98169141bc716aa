"""What `main` and `main_local` of an emitted MPI program do around the program of a device.

The text below MARK is written into every such program, below that of prelude.
"""

# pyright: basic, reportUndefinedVariable=false

import functools
import sys
import traceback

import numpy as np
from mpi4py import MPI

from shardc.backend.mpi.prelude import Comm

AXES, GROUPS, DEVICES, PARAMS, RESULTS = {}, (), None, {}, {}
"""What the program says of itself: its mesh, the axes of its collectives, what main takes and gives."""


def device_main(comm, *blocks):
    """The program."""
    raise NotImplementedError


MARK = "what follows is written into programs"


def place(comm, spec, shape):
    """The slices of a whole array that are this process's block, without padding, and the block's shape."""
    slices, block = [], []
    for size, axes in zip(shape, (*spec, *[None] * (len(shape) - len(spec))), strict=True):
        step = -(-size // comm.axis_size(axes))
        start = min(int(comm.axis_index(axes)) * step, size)
        slices.append(slice(start, min(start + step, size)))
        block.append(step)
    return tuple(slices), tuple(block)


def cut(comm, x, spec):
    """This process's block of a whole array; zeros fill it up."""
    slices, shape = place(comm, spec, x.shape)
    block = np.zeros(shape, x.dtype)
    inside = x[slices]
    block[tuple(map(slice, inside.shape))] = inside
    return block


def join(comm, block, spec, shape):
    """The whole array of `shape` whose blocks the processes hold, on every process."""
    slices, _ = place(comm, spec, shape)
    inside = tuple(slice(0, part.stop - part.start) for part in slices)
    whole = np.empty(shape, block.dtype)
    for part, data in comm.world.allgather((slices, block[inside])):
        whole[part] = data
    return whole


def check(comm, arrays, expected):
    """An error on every process unless each gives every argument in its shape and dtype.

    `expected`: name -> shape, dtype. It is found before anything is exchanged, so nobody waits.
    """
    wrong = None
    if len(arrays) != len(expected):
        wrong = f"process {comm.world.rank} gives {len(arrays)} arguments, and {len(expected)} are needed"
    for (name, (shape, dtype)), x in zip(expected.items(), arrays, strict=False):
        if wrong is None and (np.shape(x) != shape or np.asarray(x).dtype != dtype):
            wrong = f"{name}: process {comm.world.rank} gives {np.asarray(x).dtype}{list(np.shape(x))}, and "
            wrong += f"{np.dtype(dtype)}{list(shape)} is expected"
    found = [text for text in comm.world.allgather(wrong) if text]
    if found:
        raise ValueError("; ".join(found))


@functools.cache
def communicator():
    """This process's Comm, made once."""
    return Comm(AXES, GROUPS, DEVICES)


def run_on_whole(*arguments):
    """What main does: cut, run, join."""
    comm, arrays = communicator(), leaves(arguments)
    check(comm, arrays, {name: (shape, dtype) for name, (shape, dtype, _) in PARAMS.items()})
    blocks = [cut(comm, np.asarray(x), spec) for x, (_, _, spec) in zip(arrays, PARAMS.values(), strict=True)]
    results = run(comm, like(arguments, blocks))
    pairs = zip(leaves(results), RESULTS.values(), strict=True)
    return like(results, [join(comm, block, spec, shape) for block, (shape, _, spec, _) in pairs])


def run_on_blocks(*arguments):
    """What main_local does: run."""
    comm, arrays = communicator(), leaves(arguments)
    params = PARAMS.items()
    check(comm, arrays, {name: (place(comm, spec, shape)[1], dtype) for name, (shape, dtype, spec) in params})
    return run(comm, like(arguments, map(np.asarray, arrays)))


def run(comm, arguments):
    """The blocks of the results; partial ones are combined."""
    with np.errstate(all="ignore"):  # infinities and NaN are values, as on an accelerator
        results = device_main(comm, *arguments)
    functions = {"sum": comm.psum, "max": comm.pmax, "min": comm.pmin}
    pairs = zip(leaves(results), RESULTS.values(), strict=True)
    blocks = [
        np.asarray(block) if partial is None else functions[partial[1]](block, partial[0])
        for block, (_, _, _, partial) in pairs
    ]
    return like(results, blocks)


def leaves(tree):
    """What tuples and dicts consist of, in order: dicts in that of their keys."""
    if isinstance(tree, dict):
        tree = tuple(tree[key] for key in sorted(tree))
    return [leaf for item in tree for leaf in leaves(item)] if isinstance(tree, tuple) else [tree]


def like(tree, items):
    """The same tuples, records and dicts of other leaves."""
    return filled(tree, iter(items))


def filled(tree, rest):
    """The same with the next of `rest` for every leaf."""
    if isinstance(tree, dict):
        return {key: filled(tree[key], rest) for key in sorted(tree)}
    if not isinstance(tree, tuple):
        return next(rest)
    own = [filled(part, rest) for part in tree]
    return type(tree)(*own) if hasattr(tree, "_fields") else tuple(own)


def abort(kind, error, trace):
    """An error on one process ends all: the others would wait for it."""
    traceback.print_exception(kind, error, trace)
    sys.stderr.flush()
    MPI.COMM_WORLD.Abort(1)
