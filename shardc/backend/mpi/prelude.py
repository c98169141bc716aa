"""How the devices of an emitted MPI program talk. The text below MARK is written into every such program, and
after it that of prelude_main.

One process is one device. Arrays travel as bytes, so every dtype does. Reductions go in the order of
positions along the axes, whatever order pieces arrive in: two runs give the same bits.
"""

# pyright: basic, reportUndefinedVariable=false

import ml_dtypes
import numpy as np
from mpi4py import MPI

MARK = "what follows is written into programs"


class Comm:
    """This process's place in the mesh, and the collectives. `axes` is a name or a tuple, major to minor."""

    def __init__(self, sizes, groups, devices=None, world=MPI.COMM_WORLD):
        """`sizes`: axis -> size. `groups`: the axes that collectives go over; each gets its communicator.

        `devices`: the rank at every position of the mesh, row-major, if not 0, 1, 2, …
        """
        self.sizes, self.world = sizes, world
        count = int(np.prod([*sizes.values()]))
        if world.size != count:
            raise RuntimeError(f"{count} processes are needed, one a device, and there are {world.size}")
        ranks = list(range(count)) if devices is None else list(devices)
        self.coordinates = dict(
            zip(sizes, map(int, np.unravel_index(ranks.index(world.rank), (*sizes.values(),))), strict=True)
        )
        self.ranks = np.array(ranks).reshape((*sizes.values(),))
        self.groups = {names(axes): self._split(names(axes)) for axes in groups}

    def _split(self, axes):
        """The communicator of the processes that differ from this one only along the axes, in their order."""
        others = [axis for axis in self.sizes if axis not in axes]
        color = 0
        for axis in others:
            color = color * self.sizes[axis] + self.coordinates[axis]
        return self.world.Split(color, int(self.axis_index(axes)))

    def axis_index(self, axes):
        """This device's position along the axes."""
        index = 0
        for axis in names(axes):
            index = index * self.sizes[axis] + self.coordinates[axis]
        return np.int32(index)

    def axis_size(self, axes):
        """The number of positions along the axes."""
        return int(np.prod([self.sizes[axis] for axis in names(axes)]))

    def psum(self, x, axes):
        """The sum over the axes. Booleans count, as i32."""
        return self._all_reduce(x, axes, np.add)

    def pmax(self, x, axes):
        """The maximum over the axes."""
        return self._all_reduce(x, axes, np.maximum)

    def pmin(self, x, axes):
        """The minimum over the axes."""
        return self._all_reduce(x, axes, np.minimum)

    def _all_reduce(self, x, axes, function):
        """Everyone combines one part of the elements, then all parts go to everyone."""
        x, group = np.asarray(x), self.groups[names(axes)]
        part = -(-x.size // group.size)
        parts = np.zeros(group.size * part, x.dtype)
        parts[: x.size] = x.reshape(-1)
        total = combined(exchanged(group, parts.reshape(group.size, part)), function)
        return gathered(group, total).reshape(-1)[: x.size].reshape(x.shape)

    def psum_scatter(self, x, axes, scatter_dimension=0):
        """This device's block of the sum along `scatter_dimension`."""
        group = self.groups[names(axes)]
        return combined(exchanged(group, pieces(np.asarray(x), scatter_dimension, group.size)), np.add)

    def all_gather(self, x, axes, axis=0):
        """The blocks of all positions, joined along `axis`."""
        return np.concatenate(gathered(self.groups[names(axes)], np.asarray(x)), axis=axis)

    def all_to_all(self, x, axes, split_axis, concat_axis):
        """Cut along `split_axis`, send piece p to position p, join what comes along `concat_axis`."""
        group = self.groups[names(axes)]
        return np.concatenate(
            exchanged(group, pieces(np.asarray(x), split_axis, group.size)), axis=concat_axis
        )

    def ragged_all_to_all(self, x, output, input_offsets, send_sizes, output_offsets, recv_sizes, axes):
        """Send rows of x to each position in turn, which puts them into its `output`."""
        group, pairs = self.groups[names(axes)], zip(input_offsets, send_sizes, strict=True)
        check_rows("sends", input_offsets, send_sizes, len(x))
        counts, places = (self.all_to_all(table, axes, 0, 0) for table in (send_sizes, output_offsets))
        if not np.array_equal(counts, recv_sizes):
            raise ValueError(f"ragged_all_to_all: {counts} rows come, and recv_sizes says {recv_sizes}")
        check_rows("receives", places, counts, len(output))
        sent = np.concatenate([x[start : start + count] for start, count in pairs])
        came = np.empty((int(np.sum(counts)), *x.shape[1:]), x.dtype)
        row = x.itemsize * int(np.prod(x.shape[1:]))
        goes, comes = (row * np.reshape(each, (group.size, -1)).sum(1) for each in (send_sizes, counts))
        group.Alltoallv([as_bytes(sent), goes], [as_bytes(came), comes])
        result = np.array(output)
        for place, part in zip(places, np.split(came, np.cumsum(counts)[:-1]), strict=True):
            result[place : place + len(part)] = part
        return result

    def ppermute(self, x, axes, perm):
        """Send x from source to destination for each (source, destination); the others get zeros.

        Neither end waits for the other to be ready, so no order of calls blocks.
        """
        x, group = np.asarray(x, order="C"), self.groups[names(axes)]
        result, requests = np.zeros_like(x), []
        for source, destination in perm:
            if source == destination == group.rank:
                result[...] = x
            elif destination == group.rank:
                requests.append(group.Irecv(as_bytes(result), source))
            elif source == group.rank:
                requests.append(group.Isend(as_bytes(x), destination))
        MPI.Request.Waitall(requests)
        return result

    def pbroadcast(self, x, axes, source):
        """The x of position `source`, on all."""
        result = np.array(x, order="C")
        self.groups[names(axes)].Bcast(as_bytes(result), source)
        return result

    def block(self, x, axes, axis=0):
        """This device's block along dimension `axis`."""
        return np.split(np.asarray(x), self.axis_size(axes), axis)[self.axis_index(axes)]

    def partial(self, x, axes, kind="sum"):
        """x on position 0, on others what changes nothing: their sum, max or min (`kind`) is x."""
        x = np.asarray(x)
        return x if self.axis_index(axes) == 0 else np.full_like(x, neutral(kind, x.dtype))


def names(axes):
    """The axes as a tuple; none for None."""
    return () if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)


def as_bytes(x):
    """The memory of an array, whose elements lie there in row-major order."""
    return x.reshape(-1).view(np.uint8)


def gathered(group, x):
    """The arrays of all processes of a group, by rank, along a new first dimension."""
    result = np.empty((group.size, *x.shape), x.dtype)
    group.Allgather(as_bytes(np.ascontiguousarray(x)), as_bytes(result))
    return result


def exchanged(group, parts):
    """Part p of every process goes to process p; what came, by rank."""
    result = np.empty_like(parts, order="C")
    group.Alltoall(as_bytes(np.ascontiguousarray(parts)), as_bytes(result))
    return result


def pieces(x, axis, count):
    """Equal pieces along a dimension, along a new first one."""
    return np.stack(np.split(x, count, axis))


def combined(parts, function):
    """The parts combined in order; floats of 16 and 8 bits in f32, rounded once."""
    narrow = "float" in parts.dtype.name and parts.dtype.itemsize < 4
    counts = parts.dtype == np.bool_ and function is np.add
    total = parts[0].astype(np.float32 if narrow else np.int32 if counts else parts.dtype)
    with np.errstate(all="ignore"):
        for part in parts[1:]:
            total = function(total, part.astype(total.dtype, copy=False))
    return total if counts else total.astype(parts.dtype, copy=False)


def check_rows(what, starts, counts, size):
    """An error unless `counts` rows from `starts` on are among `size`."""
    if np.any((starts < 0) | (counts < 0) | (starts + counts > size)):
        raise ValueError(f"ragged_all_to_all {what} {counts} rows from {starts} on, of {size}")


def neutral(kind, dtype):
    """The element that changes nothing in a sum, max or min."""
    if kind == "sum" or dtype == np.bool_:
        return dtype.type(kind == "min")
    if np.issubdtype(dtype, np.integer):
        return np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max
    low, high = np.array([-np.inf, np.inf]).astype(dtype)
    if np.isnan(high):  # no infinities
        low, high = ml_dtypes.finfo(dtype).min, ml_dtypes.finfo(dtype).max
    return dtype.type(low if kind == "max" else high)
