"""From a global array to every device's block, and back.

Blocks are listed in mesh position order. Devices that hold the same block share one read-only array.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shardc.layout import Sharding
from shardc.layout.slices import blocks as blocks_over
from shardc.layout.slices import replicas, slices
from shardc.runtime.collectives import COLLECTIVES, Array, read_only
from shardc.runtime.comm import neutral, type_text
from shardc.runtime.groups import MeshGroups


class ReplicationError(RuntimeError):
    """Devices hold different values of a result that its spec says is equal on them."""


def cut(x: Array, sharding: Sharding) -> list[Array]:
    """The block of each mesh position: of the ceiling size, filled up with zeros past the end of x.

    If the sharding is partial, position 0 over those axes has the values and the others what changes nothing.
    """
    bounds, numbers = slices(sharding, x.shape), replicas(sharding)
    local, has_values = sharding.local_shape(x.shape), _is_first(sharding)
    made: dict[int, Array] = {}
    for device in sharding.mesh.devices.flat:
        number = int(numbers[device])
        if number not in made:
            block = _padded(_part(x, bounds[device]), local)
            made[number] = read_only(
                block if has_values[device] else np.full_like(block, neutral(sharding.kind, x.dtype))
            )
    return [made[int(numbers[device])] for device in sharding.mesh.devices.flat]


def assemble(blocks: Sequence[Array], sharding: Sharding, shape: Sequence[int], what: str) -> Array:
    """The global array of `shape` whose blocks these are; partial results are combined first.

    `what` names the array in errors. ValueError if a block has another shape or dtype than it must have,
    ReplicationError if devices that must hold the same block don't.
    """
    groups = MeshGroups(sharding.mesh)
    _check_types(blocks, sharding, shape, what, groups)
    bounds = slices(sharding, shape)[sharding.mesh.devices.reshape(-1)]
    clipped = [_part(block, b - b[:, :1]) for block, b in zip(blocks, bounds, strict=True)]
    check_replicas(clipped, sharding, what, groups)
    whole = np.empty(tuple(shape), blocks[0].dtype)
    names = tuple(axis.name for axis in sharding.unreduced)
    for position, place in enumerate(groups.over(names).place):
        if place == 0:
            members = groups.over(names).members[groups.over(names).group[position]]
            parts = [clipped[m] for m in members]
            combined = COLLECTIVES[f"p{sharding.kind}"](parts, {})[0] if names else clipped[position]
            whole[_index(bounds[position])] = combined
    return whole


def check_replicas(blocks: Sequence[Array], sharding: Sharding, what: str, groups: MeshGroups) -> None:
    """ReplicationError if blocks that must be copies differ; it names the axis and two devices along it."""
    used = {axis.name for axis in sharding.axes()}
    for name in sharding.mesh.sizes:
        if name in used:
            continue
        for members in groups.over((name,)).members:
            first = blocks[members[0]]
            for member in members[1:]:
                if not same_values(first, blocks[member]):
                    raise ReplicationError(
                        f"{what} is not split over {name}, so devices along {name} must hold the same, but "
                        f"{groups.device(members[0])} and {groups.device(member)} differ"
                        f"{_difference(first, blocks[member])}"
                    )


def _check_types(
    blocks: Sequence[Array], sharding: Sharding, shape: Sequence[int], what: str, groups: MeshGroups
) -> None:
    local, dtype = sharding.local_shape(shape), blocks[0].dtype
    for position, block in enumerate(blocks):
        if block.shape != local or block.dtype != dtype:
            raise ValueError(
                f"{what}: {groups.device(position)} returns {type_text(block.shape, block.dtype)} where "
                f"{type_text(local, dtype)} is expected"
            )


def _index(bounds: NDArray[np.int64]) -> tuple[slice, ...]:
    return tuple(slice(int(start), int(stop)) for start, stop in bounds)


def _part(x: Array, bounds: NDArray[np.int64]) -> Array:
    return np.asarray(x[_index(bounds)])


def _padded(block: Array, shape: tuple[int, ...]) -> Array:
    if block.shape == shape:
        return block
    return np.pad(block, [(0, full - size) for size, full in zip(block.shape, shape, strict=True)])


def _is_first(sharding: Sharding) -> NDArray[np.bool_]:
    """bool[devices]: whether the device is at position 0 over the unreduced axes."""
    return blocks_over(sharding.mesh, sharding.unreduced) == 0


def same_values(a: Array, b: Array) -> bool:
    """Whether two arrays of one shape hold the same values; a NaN is the same as a NaN."""
    return a is b or bool(np.all((a == b) | ((a != a) & (b != b))))


def _difference(a: Array, b: Array) -> str:
    differs = ~((a == b) | ((a != a) & (b != b)))
    at = tuple(int(i) for i in np.argwhere(differs)[0])
    return f": at {list(at)} of the block, {a[at]} and {b[at]}" if at else f": {a} and {b}"
