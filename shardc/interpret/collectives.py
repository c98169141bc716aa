"""What collectives do to the blocks of all devices.

`EXCHANGES[name](op, values, place)` takes, for every operand, the list of all positions' blocks, and
gives the same for every result. Members of a group share one array where they get equal blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct, field

from shardc.graph.attrs import Dense
from shardc.graph.program import Op
from shardc.layout import Axis, LayoutError, Mesh
from shardc.ops import hlo, spmd
from shardc.semantics.arrays import Array, Body
from shardc.semantics.blocks import BlockError, check_copies, combine, groups, identity_array, positions
from shardc.semantics.reduction import UFUNCS

Blocks = list[Array]
"""One array for every position of the mesh."""

Group = tuple[int, ...]


class Place(Struct, frozen=True):
    """Where devices stand: the mesh they run over and the number of the device at each position."""

    mesh: Mesh
    devices: tuple[int, ...]
    bodies: tuple[Body, ...] = field(default=())

    def groups(self, axes: tuple[Axis, ...]) -> tuple[Group, ...]:
        """The groups of positions over the axes."""
        self._check(axes)
        return groups(self.mesh, axes)

    def index(self, axes: tuple[Axis, ...]) -> tuple[int, ...]:
        """Every position's position over the axes."""
        self._check(axes)
        return positions(self.mesh, axes)

    def _check(self, axes: tuple[Axis, ...]) -> None:
        for axis in axes:
            if axis.name not in self.mesh.sizes:
                raise LayoutError(f"axis {axis.name} is not manual here; {', '.join(self.mesh.sizes)} are")

    def numbered(self, rows: Sequence[Sequence[int]]) -> tuple[Group, ...]:
        """Groups of device numbers as groups of positions; those of devices elsewhere are left out."""
        where = {device: position for position, device in enumerate(self.devices)}
        return tuple(
            tuple(where[d] for d in row if d >= 0) for row in rows if all(d in where for d in row if d >= 0)
        )


Exchange = Callable[[Op, Sequence[Blocks], Place], list[Blocks]]


def _per_group(blocks: Blocks, found: Sequence[Group], function: Callable[[Blocks], Blocks]) -> Blocks:
    """Apply a function from the blocks of a group to the new blocks of its members; equal groups share."""
    results: Blocks = list(blocks)
    done: dict[tuple[int, ...], Blocks] = {}
    for group in found:
        members = [blocks[position] for position in group]
        key = tuple(map(id, members))
        if key not in done:
            done[key] = function(members)
        for position, block in zip(group, done[key], strict=True):
            results[position] = block
    return results


def _shared(function: Callable[[Blocks], Array]) -> Callable[[Blocks], Blocks]:
    """All members get the same array."""
    return lambda members: [function(members)] * len(members)


def _axes(op: Op) -> tuple[Axis, ...]:
    return cast("tuple[Axis, ...]", op.attrs["axes"])


def _int(op: Op, key: str) -> int:
    return cast(int, op.attrs[key])


def _kind(op: Op) -> str:
    return cast(str, op.attrs["kind"])


def _all_to_all_blocks(members: Blocks, split: int, concat: int) -> Blocks:
    count = len(members)
    pieces = [np.split(member, count, split) for member in members]
    return [
        np.concatenate([pieces[source][target] for source in range(count)], concat) for target in range(count)
    ]


def _spmd_all_reduce(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    kind = _kind(op)
    return [_per_group(values[0], place.groups(_axes(op)), _shared(lambda m: combine(m, kind)))]


def _spmd_all_gather(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    dim = _int(op, "dim")
    return [_per_group(values[0], place.groups(_axes(op)), _shared(lambda m: np.concatenate(m, dim)))]


def _spmd_reduce_scatter(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    kind, dim = _kind(op), _int(op, "dim")
    found = place.groups(_axes(op))
    return [_per_group(values[0], found, lambda m: np.split(combine(m, kind), len(m), dim))]


def _spmd_all_to_all(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    split, concat = _int(op, "split_dim"), _int(op, "concat_dim")
    found = place.groups(_axes(op))
    return [_per_group(values[0], found, lambda m: _all_to_all_blocks(m, split, concat))]


def _ragged_all_to_all(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    """In the order of senders; rows beyond an end are an error, as numbers of rows that do not agree are."""
    operands, outputs, *tables = values
    results: Blocks = list(outputs)
    for group in place.groups(_axes(op)):
        rows = {i: np.array([table[i] for table in tables], np.int64) for i in group}
        share = rows[group[0]].shape[1] // len(group)
        written = {i: np.array(outputs[i]) for i in group}
        for sender, source in enumerate(group):
            for receiver, target in enumerate(group):
                sent = rows[source][:, receiver * share : (receiver + 1) * share]
                taken = rows[target][3, sender * share : (sender + 1) * share]
                for start, count, to, expected in zip(*sent[:3], taken, strict=True):
                    part = operands[source][start : start + count]
                    where = written[target][to : to + count]
                    if min(start, to, count) < 0 or not len(part) == len(where) == count == expected:
                        raise BlockError(
                            f"position {sender} sends {count} rows from {start} to position {receiver}, "
                            f"which puts {expected} from {to} on"
                        )
                    where[...] = part
        for i in group:
            results[i] = written[i]
    return [results]


def _permute(blocks: Blocks, found: Sequence[Group], pairs: Sequence[tuple[int, int]]) -> Blocks:
    zeros = np.zeros((), blocks[0].dtype)
    results: Blocks = [np.broadcast_to(zeros, blocks[0].shape)] * len(blocks)
    for group in found:
        for source, target in pairs:
            results[group[target]] = blocks[group[source]]
    return results


def _spmd_collective_permute(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    pairs = cast("tuple[tuple[int, int], ...]", op.attrs["pairs"])
    return [_permute(values[0], place.groups(_axes(op)), pairs)]


def _spmd_collective_broadcast(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    root = _int(op, "root")
    return [_per_group(values[0], place.groups(_axes(op)), _shared(lambda m: m[root]))]


def _spmd_all_slice(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    dim = _int(op, "dim")
    found = place.groups(_axes(op))
    return [_per_group(values[0], found, lambda m: [np.split(b, len(m), dim)[i] for i, b in enumerate(m)])]


def _spmd_to_partial(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    kind = _kind(op)
    first = values[0][0]
    others = identity_array(first.shape, first.dtype, kind)
    return [
        [block if at == 0 else others for block, at in zip(values[0], place.index(_axes(op)), strict=True)]
    ]


def _spmd_axis_index(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    index = place.index(_axes(op))
    arrays = {at: np.asarray(at, np.int32) for at in set(index)}
    return [[arrays[at] for at in index]]


def _rows(op: Op, key: str) -> list[list[int]]:
    """A matrix of integers, which a snapshot holds as a tuple of tuples or as a constant."""
    value: Any = op.attrs[key]
    if isinstance(value, Dense):
        return value.array().tolist()
    return [list(row) for row in value]


def _reducer(op: Op, place: Place) -> Callable[[Blocks], Array]:
    if op.combiner in UFUNCS:
        kind = op.combiner
        return lambda members: combine(members, kind)

    def fold(members: Blocks) -> Array:
        total = members[0]
        for member in members[1:]:
            total = np.asarray(place.bodies[0](total, member)[0], member.dtype)
        return total

    return fold


def _all_reduce(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    found = place.numbered(_rows(op, "replica_groups"))
    return [_per_group(blocks, found, _shared(_reducer(op, place))) for blocks in values]


def _all_gather(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    dim, found = _int(op, "all_gather_dim"), place.numbered(_rows(op, "replica_groups"))
    return [_per_group(blocks, found, _shared(lambda m: np.concatenate(m, dim))) for blocks in values]


def _reduce_scatter(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    dim, found = _int(op, "scatter_dimension"), place.numbered(_rows(op, "replica_groups"))
    reducer = _reducer(op, place)
    return [_per_group(values[0], found, lambda m: np.split(reducer(m), len(m), dim))]


def _all_to_all(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    split, concat = _int(op, "split_dimension"), _int(op, "concat_dimension")
    found = place.numbered(_rows(op, "replica_groups"))
    return [_per_group(blocks, found, lambda m: _all_to_all_blocks(m, split, concat)) for blocks in values]


def _collective_permute(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    pairs = [(source, target) for source, target in place.numbered(_rows(op, "source_target_pairs"))]
    everyone = tuple(range(place.mesh.size))
    return [_permute(values[0], [everyone], pairs)]


def _collective_broadcast(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    found = place.numbered(_rows(op, "replica_groups"))
    zeros = np.zeros((), values[0][0].dtype)
    blocks: Blocks = [np.broadcast_to(zeros, values[0][0].shape)] * place.mesh.size
    for group in found:
        for position in group:
            blocks[position] = values[0][group[0]]
    return [blocks]


def _assume_equal(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    """What differs by rounding alone becomes the first device's, so that copies are copies from here on."""
    found = place.groups(_axes(op))
    for group in found:
        check_copies(place.mesh, group, values[0])
    return [_per_group(values[0], found, _shared(lambda members: members[0]))]


def _partition_id(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    return [[np.asarray(device, np.uint32) for device in place.devices]]


def _replica_id(op: Op, values: Sequence[Blocks], place: Place) -> list[Blocks]:
    return [[np.asarray(0, np.uint32)] * place.mesh.size]


EXCHANGES: dict[str, Exchange] = {
    spmd.all_reduce.name: _spmd_all_reduce,
    spmd.all_gather.name: _spmd_all_gather,
    spmd.reduce_scatter.name: _spmd_reduce_scatter,
    spmd.all_to_all.name: _spmd_all_to_all,
    spmd.ragged_all_to_all.name: _ragged_all_to_all,
    spmd.collective_permute.name: _spmd_collective_permute,
    spmd.collective_broadcast.name: _spmd_collective_broadcast,
    spmd.all_slice.name: _spmd_all_slice,
    spmd.to_partial.name: _spmd_to_partial,
    spmd.assume_equal.name: _assume_equal,
    spmd.axis_index.name: _spmd_axis_index,
    hlo.all_reduce.name: _all_reduce,
    hlo.all_gather.name: _all_gather,
    hlo.reduce_scatter.name: _reduce_scatter,
    hlo.all_to_all.name: _all_to_all,
    hlo.collective_permute.name: _collective_permute,
    hlo.collective_broadcast.name: _collective_broadcast,
    hlo.partition_id.name: _partition_id,
    hlo.replica_id.name: _replica_id,
}
