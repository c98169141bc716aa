"""The results of all devices, checked and joined: what semantics/blocks.py does, with errors for users."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shardc.layout import Sharding
from shardc.layout.slices import slices
from shardc.runtime.collectives import Array
from shardc.runtime.comm import type_text
from shardc.runtime.groups import MeshGroups
from shardc.semantics.blocks import assemble, same


class ReplicationError(RuntimeError):
    """Devices hold different values of an array where they must hold copies."""


def join(blocks: Sequence[Array], sharding: Sharding, shape: tuple[int, ...], what: str) -> Array:
    """The global array of `shape` whose blocks, by mesh position, these are; partial results are combined.

    `what` names the array in errors. ValueError if a block has another shape or dtype than it must have,
    ReplicationError if devices that must hold copies don't; what fills up uneven blocks doesn't count.
    """
    groups = MeshGroups(sharding.mesh)
    _check_types(blocks, sharding.local_shape(shape), what, groups)
    bounds = slices(sharding, shape)[sharding.mesh.devices.reshape(-1)]
    sizes = bounds[:, :, 1] - bounds[:, :, 0]
    parts = [
        np.asarray(block[tuple(map(slice, size))]) for block, size in zip(blocks, sizes.tolist(), strict=True)
    ]
    _check_copies(parts, sharding, what, groups)
    return assemble(blocks, sharding, shape, check=False)


def _check_types(
    blocks: Sequence[Array], local_shape: tuple[int, ...], what: str, groups: MeshGroups
) -> None:
    dtype = blocks[0].dtype
    for position, block in enumerate(blocks):
        if block.shape != local_shape or block.dtype != dtype:
            raise ValueError(
                f"{what}: {groups.device(position)} returns {type_text(block.shape, block.dtype)} where "
                f"{type_text(local_shape, dtype)} is expected"
            )


def _check_copies(blocks: Sequence[Array], sharding: Sharding, what: str, groups: MeshGroups) -> None:
    used = {axis.name for axis in sharding.axes()}
    for name in sharding.mesh.sizes:
        for members in groups.over((name,)).members if name not in used else ():
            first = blocks[members[0]]
            for member in members[1:]:
                if not same(first, blocks[member]):
                    raise ReplicationError(
                        f"{what} is not split over {name}, so devices along {name} must hold the same, but "
                        f"{groups.device(members[0])} and {groups.device(member)} differ"
                        f"{_difference(first, blocks[member])}"
                    )


def _difference(a: Array, b: Array) -> str:
    differs = ~((a == b) | ((a != a) & (b != b)))
    at = tuple(int(i) for i in np.argwhere(differs)[0])
    return f": at {list(at)} of the block, {a[at]} and {b[at]}" if at else f": {a} and {b}"
