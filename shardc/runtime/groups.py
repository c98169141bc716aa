"""Who takes part in a collective: the positions of the mesh that differ only along the given axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shardc import layout

Names = tuple[str, ...]


@dataclass(frozen=True)
class Groups:
    """For each mesh position its group and its place in it; for each group its mesh positions, in order."""

    group: list[int]
    place: list[int]
    members: list[list[int]]

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
    for name in names:
        mesh.axis(name)
        if names.count(name) > 1:
            raise layout.LayoutError(f"axis {name} is used twice")
    order = [list(mesh.sizes).index(name) for name in names]
    others = [index for index in range(len(mesh.axes)) if index not in order]
    size = layout.size_of(mesh.axis(name) for name in names)
    grid = np.arange(mesh.size).reshape(mesh.devices.shape)
    members = grid.transpose(others + order).reshape(-1, size)
    group = np.empty(mesh.size, np.int64)
    place = np.empty(mesh.size, np.int64)
    group[members] = np.arange(len(members))[:, None]
    place[members] = np.arange(size)
    return Groups(group.tolist(), place.tolist(), members.tolist())
