"""Notations that say per axis of the devices what happens over it: OneFlow's SBP, PyTorch's placements.

Where two axes split one dimension, the one that comes first in the mesh is the major one, unless it says
how often the dimension was split before it: its `factor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec import Struct

from shardc.layout.axes import Axis
from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.sharding import Dim, Sharding


class Split(Struct, frozen=True):
    """Over this axis, dimension `dim` is split; axes later in the mesh split it `factor` ways before."""

    dim: int
    factor: int = 1


class Copy(Struct, frozen=True):
    """Over this axis all hold the same."""


class Partial(Struct, frozen=True):
    """Over this axis each holds a partial result."""

    kind: str = "sum"


Component = Split | Copy | Partial


def to_sharding(components: Sequence[Component], mesh: Mesh, rank: int | None) -> Sharding:
    """The sharding on `mesh` that has one component per axis. LayoutError if there is none.

    Without `rank`, the tensor has as many dimensions as are split.
    """
    if len(components) != len(mesh.axes):
        raise LayoutError(f"{len(components)} components for the {len(mesh.axes)} axes of mesh {mesh}")
    splits = [c.dim for c in components if isinstance(c, Split)]
    rank = max(splits, default=-1) + 1 if rank is None else rank
    dims: list[list[Axis]] = [[] for _ in range(rank)]
    for (name, size), component in reversed(list(zip(mesh.axes, components, strict=True))):
        if isinstance(component, Split):
            dim = component.dim + rank if component.dim < 0 else component.dim
            if not 0 <= dim < rank:
                raise LayoutError(f"axis {name} splits dimension {component.dim} of a tensor of {rank}")
            _insert(dims[dim], Axis(name, size), component.factor)
    partial = {
        name: c.kind for (name, _), c in zip(mesh.axes, components, strict=True) if isinstance(c, Partial)
    }
    if len(set(partial.values())) > 1:
        raise LayoutError(f"one tensor cannot be partial in two ways: {', '.join(partial.values())}")
    unreduced = tuple(mesh.axis(name) for name in partial)
    kind = next(iter(partial.values()), "sum")
    return Sharding(mesh, tuple(Dim(tuple(axes)) for axes in dims), (), unreduced, kind).check()


def components_of(sharding: Sharding) -> list[Component]:
    """One component per axis of the mesh, of which the sharding must use whole axes only."""
    place = {axis.name: (i, dim.axes) for i, dim in enumerate(sharding.dims) for axis in dim.axes}
    partial = {axis.name for axis in sharding.unreduced}
    names = [name for name, _ in sharding.mesh.axes]
    found: list[Component] = []
    for number, name in enumerate(names):
        if name in place:
            dim, axes = place[name]
            before = axes[: [axis.name for axis in axes].index(name)]
            found.append(Split(dim, prod(a.size for a in before if names.index(a.name) > number)))
        else:
            found.append(Partial(sharding.kind) if name in partial else Copy())
    return found


def _insert(axes: list[Axis], axis: Axis, factor: int) -> None:
    """Put an axis after those that split the dimension `factor` ways before it."""
    for place in range(len(axes) + 1):
        if prod(a.size for a in axes[:place]) == factor:
            axes.insert(place, axis)
            return
    sizes = ", ".join(f"{a.name}={a.size}" for a in axes) or "no axes"
    raise LayoutError(f"axis {axis.name} cannot come after a split by {factor}: after it come {sizes}")
