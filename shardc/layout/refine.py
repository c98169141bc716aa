"""The same layout without parts of axes: every axis is split where the sharding splits it.

Most notations name whole axes only; there "x":(1)2 of x=8 becomes an axis of its own, x_0=2 beside x_1=4.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from shardc.layout.axes import Axis
from shardc.layout.difference import pieces, split
from shardc.layout.mesh import Mesh
from shardc.layout.sharding import Dim, Sharding


def refined(sharding: Sharding) -> Sharding:
    """The sharding on the coarsest mesh of which it uses whole axes.

    Itself if it uses no parts. LayoutError if parts of one axis have no common refinement.
    """
    mesh = sharding.mesh
    if all(mesh.is_full(axis) for axis in sharding.axes()):
        return sharding
    parts = {name: [mesh.axis(name)] for name, _ in mesh.axes}
    for atom in pieces(mesh, sharding.axes()):
        parts[atom.name] = [a for a in parts[atom.name] if not a.contains(atom)] + [atom]
    names = _names(parts)
    axes = tuple((names[atom], atom.size) for atoms in parts.values() for atom in atoms)
    finer = replace(mesh, axes=axes)
    every = [atom for atoms in parts.values() for atom in atoms]

    def new(old: Iterable[Axis]) -> tuple[Axis, ...]:
        return tuple(finer.axis(names[atom]) for atom in split(old, every))

    dims = tuple(Dim(new(dim.axes), dim.open, dim.priority) for dim in sharding.dims)
    return Sharding(finer, dims, new(sharding.replicated), new(sharding.unreduced), sharding.kind)


def on_axes(sharding: Sharding) -> Sharding:
    """As `refined`, on a mesh of at least one axis: a lone device is an axis x0 of size 1."""
    whole = refined(sharding)
    mesh = whole.mesh
    if mesh.axes:
        return whole
    number = mesh.device_ids[0] if mesh.device_ids else mesh.rank_of(0)
    return replace(whole, mesh=Mesh(mesh.name, (("x0", 1),), ranks=(number,)))


def _names(parts: dict[str, list[Axis]]) -> dict[Axis, str]:
    """A name for every part: that of the axis if it is whole, else with the first free numbers."""
    names: dict[Axis, str] = {}
    taken = set(parts)
    for name, atoms in parts.items():
        number = 0
        for atom in atoms:
            if len(atoms) == 1:
                names[atom] = name
                continue
            while f"{name}_{number}" in taken:
                number += 1
            names[atom] = f"{name}_{number}"
            taken.add(names[atom])
    return names
