"""Who takes part in a collective: the positions of the mesh that differ only along the given axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from shardc import layout
from shardc.semantics.blocks import groups, positions

Names = tuple[str, ...]


class Groups(Struct, frozen=True):
    """For each mesh position its group and its place in it; for each group its mesh positions, in order."""

    group: Sequence[int]
    place: Sequence[int]
    members: Sequence[Sequence[int]]

    @property
    def size(self) -> int:
        """The number of positions in a group."""
        return len(self.members[0])


class MeshGroups:
    """The groups of one mesh over any of its axes, computed once each."""

    def __init__(self, mesh: layout.Mesh) -> None:
        self.mesh = mesh
        self._known: dict[Names, Groups] = {}

    def over(self, names: Names) -> Groups:
        """The groups over the named axes, major to minor; LayoutError for an unknown or repeated axis."""
        if names not in self._known:
            self._known[names] = _groups(self.mesh, names)
        return self._known[names]

    def device(self, position: int) -> str:
        """`device 5 (i=1, j=1)`, for messages."""
        places = np.unravel_index(position, self.mesh.devices.shape)
        coordinates = ", ".join(f"{name}={int(k)}" for name, k in zip(self.mesh.sizes, places, strict=True))
        return f"device {int(self.mesh.devices.flat[position])} ({coordinates})"


def _groups(mesh: layout.Mesh, names: Names) -> Groups:
    axes = tuple(mesh.axis(name) for name in names)
    if len(set(names)) < len(names):
        raise layout.LayoutError(f"axes {', '.join(names)}: one is used twice")
    members = groups(mesh, axes)
    group = [0] * mesh.size
    for number, positions_of_group in enumerate(members):
        for position in positions_of_group:
            group[position] = number
    return Groups(group, positions(mesh, axes), members)
