"""Boxing: from the blocks of one sharding to the blocks of another, wherever their devices are.

Source and target may lie on the same devices, on some of them, on others, and on different numbers of them;
each may be split unevenly, have copies and be partial. Elements go straight from who holds them to who needs
them. A device that needs what it holds takes its own. A partial target gets each element once, on the device
that stands for its holder: the same if it is one of the target's, else the one at the same place, round and
round. Partial results of another kind than the target's are combined first.

So S(0) -> P leaves every block where it is, among zeros, and B -> P keeps the first copy, as in OneFlow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby

import numpy as np
from msgspec import Struct

from shardc.layout.distribute import COMBINE, Array, Blocks, devices_of, global_shape, neutral
from shardc.layout.mesh import LayoutError
from shardc.layout.sharding import Sharding
from shardc.layout.slices import blocks, partials, slices
from shardc.layout.uneven import Policy

Region = tuple[tuple[int, int], ...]
"""The first element and the one after the last, per dimension."""


class Transfer(Struct, frozen=True):
    """`receiver` needs the elements of `region`, and takes them from what `sender` holds."""

    sender: int
    receiver: int
    region: Region


def box(
    held: Blocks,
    source: Sharding,
    target: Sharding,
    policy: Policy = "ceil",
    target_policy: Policy | None = None,
) -> dict[int, Array]:
    """Device -> its block under `target`, from the blocks under `source`, of which copies agree.

    The policies say what blocks of uneven dimensions are; the target's is by default that of the source.
    LayoutError if a block is missing or has another shape, or if the ranks differ.
    """
    for device in devices_of(source):
        if device not in held:
            raise LayoutError(f"device {device} gives no block")
    shape = global_shape(held, source, policy)
    target_policy = target_policy or policy
    starts = _starts(source, shape, policy)
    dtype = held[devices_of(source)[0]].dtype
    found = {
        device: np.full([stop - start for start, stop in bounds], neutral(dtype, target.kind), dtype)
        for device, bounds in zip(devices_of(target), _regions(target, shape, target_policy), strict=True)
    }
    into = _starts(target, shape, target_policy)
    moves = transfers(shape, source, target, policy, target_policy)
    for (receiver, region), group in groupby(moves, lambda move: (move.receiver, move.region)):
        pieces = [held[move.sender][_within(region, starts[move.sender])] for move in group]
        found[receiver][_within(region, into[receiver])] = reduce(COMBINE[source.kind], pieces)
    return found


def transfers(
    shape: Sequence[int],
    source: Sharding,
    target: Sharding,
    policy: Policy = "ceil",
    target_policy: Policy | None = None,
) -> list[Transfer]:
    """Who takes what from whom, grouped by receiver and region; from itself, too. Errors as of `slices`.

    Several senders of one region hold partial results of it, which the receiver combines.
    """
    if source.rank != target.rank:
        raise LayoutError(f"{source} has {source.rank} dimensions, {target} {target.rank}")
    origin = _holders(source, shape, policy)
    aim = _holders(target, shape, target_policy or policy)
    combined = source.kind != target.kind and bool(source.unreduced and target.unreduced)
    place = _places(source, target)
    found: list[Transfer] = []
    for needed, takers in aim:
        for present, givers in origin:
            region = _common(needed, present)
            if region is not None:
                owners = [_owner(members, takers, place) for members in givers]
                owners = owners[:1] * len(owners) if combined else owners
                found += _between(region, givers, takers, owners)
    return found


def agreed(held: Blocks, sharding: Sharding) -> dict[int, Array]:
    """The blocks with every copy replaced by that of the first device, as OneFlow's to_global has it."""
    found = dict(held)
    for _, groups in _holders(sharding, (0,) * sharding.rank, "ceil"):
        for members in groups:
            found.update({member: held[members[0]] for member in members})
    return found


Holders = list[tuple[Region, list[list[int]]]]
"""Per block its region, and for each partial result of it the devices that hold copies of that."""


def _holders(sharding: Sharding, shape: Sequence[int], policy: Policy) -> Holders:
    number = blocks(sharding.mesh, [axis for dim in sharding.dims for axis in dim.axes]).tolist()
    part: list[int] = partials(sharding).tolist()
    regions = _regions(sharding, shape, policy)
    count = max(part) + 1
    found: dict[int, tuple[Region, list[list[int]]]] = {}
    for row, device in enumerate(devices_of(sharding)):
        empty: list[list[int]] = [[] for _ in range(count)]
        found.setdefault(number[row], (regions[row], empty))[1][part[row]].append(device)
    return [found[key] for key in sorted(found)]


def _regions(sharding: Sharding, shape: Sequence[int], policy: Policy) -> list[Region]:
    table = slices(sharding, shape, policy).tolist()
    return [tuple((start, stop) for start, stop in row) for row in table]


def _starts(sharding: Sharding, shape: Sequence[int], policy: Policy) -> dict[int, tuple[int, ...]]:
    regions = _regions(sharding, shape, policy)
    return {d: tuple(start for start, _ in r) for d, r in zip(devices_of(sharding), regions, strict=True)}


def _places(source: Sharding, target: Sharding) -> dict[int, int]:
    """Device of the source -> the device of the target that stands for it."""
    ours, theirs = devices_of(source), devices_of(target)
    return {d: d if d in theirs else theirs[i % len(theirs)] for i, d in enumerate(ours)}


def _owner(members: Iterable[int], takers: Sequence[Sequence[int]], place: dict[int, int]) -> int:
    """Which partial result of the target takes in what `members` hold: the first that stands for one."""
    devices = {place[member] for member in members}
    return next((number for number, group in enumerate(takers) if devices.intersection(group)), 0)


def _between(
    region: Region, givers: Sequence[Sequence[int]], takers: Sequence[Sequence[int]], owners: Sequence[int]
) -> Iterator[Transfer]:
    for number, group in enumerate(takers):
        for turn, receiver in enumerate(group):
            for members, owner in zip(givers, owners, strict=True):
                if owner == number:
                    sender = receiver if receiver in members else members[turn % len(members)]
                    yield Transfer(sender, receiver, region)


def _common(a: Region, b: Region) -> Region | None:
    both = tuple((max(x[0], y[0]), min(x[1], y[1])) for x, y in zip(a, b, strict=True))
    return both if all(start < stop for start, stop in both) else None


def _within(region: Region, start: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(a - s, b - s) for (a, b), s in zip(region, start, strict=True))
