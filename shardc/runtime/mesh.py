"""How an emitted program names its devices and says how arrays lie on them.

`Mesh({"data": 2, "model": 4})`, `Mesh(np.arange(8).reshape(2, 4), ("data", "model"))` and `P("data", None)`
read as in JAX. A partition spec has one entry per dimension: None (not split), an axis name, or a tuple of
names, major to minor; missing entries are None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self, cast

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from shardc import layout
from shardc.layout import Dim, LayoutError, Sharding
from shardc.layout.slices import slices

Entry = str | tuple[str, ...] | None
Axes = str | tuple[str, ...]


def Mesh(
    axes: Mapping[str, int] | ArrayLike,
    devices: Sequence[int] | Sequence[str] | None = None,
    processes: int = 1,
    name: str = "mesh",
) -> layout.Mesh:
    """A mesh of the axes, major to minor; `devices` in row-major order if they are not 0, 1, 2, ….

    As in JAX, the first argument may be an array of device numbers, one dimension per axis, and the second
    the names of the axes. LayoutError if that cannot be a mesh.
    """
    if isinstance(axes, Mapping):
        ids = None if devices is None else tuple(cast("Sequence[int]", devices))
        return layout.Mesh(name, tuple(axes.items()), ids, processes)
    array, names = np.asarray(axes), tuple(cast("Sequence[str]", devices or ()))
    if array.ndim != len(names) or not np.issubdtype(array.dtype, np.integer):
        raise LayoutError(f"an array of {array.ndim} dimensions of device numbers needs as many axis names")
    ids = tuple(int(device) for device in array.ravel())
    return layout.Mesh(name, tuple(zip(names, array.shape, strict=True)), ids, processes)


class P(tuple[Entry, ...]):
    """A partition spec: a tuple of entries that is written without a trailing comma."""

    __slots__ = ()

    def __new__(cls, *entries: Entry) -> Self:
        return super().__new__(cls, entries)

    def __repr__(self) -> str:
        return f"P({', '.join(map(repr, self))})"


def names_of(axes: Entry) -> tuple[str, ...]:
    """The axis names of one entry, or of a collective's `axes`, major to minor."""
    return () if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)


def sharding_of(mesh: layout.Mesh, spec: Sequence[Entry], rank: int) -> Sharding:
    """What a partition spec means for an array of `rank` dimensions; LayoutError if it can't be."""
    if len(spec) > rank:
        raise LayoutError(f"{P(*spec)} has {len(spec)} entries, but the array has {rank} dimensions")
    entries = (*spec, *(None,) * (rank - len(spec)))
    dims = tuple(Dim(tuple(mesh.axis(name) for name in names_of(entry))) for entry in entries)
    return Sharding(mesh, dims).check()


class NamedSharding(Struct, frozen=True):
    """A mesh and a partition spec, for arrays of any rank that has a dimension for every entry.

    LayoutError if the spec is none, or names what is no axis of the mesh, or one twice.
    """

    mesh: layout.Mesh
    spec: P

    def __post_init__(self) -> None:
        if not isinstance(self.spec, P):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(f"a partition spec is P(…), with an entry per dimension, not {self.spec!r}")
        self.of_rank(len(self.spec))

    @property
    def device_set(self) -> frozenset[int]:
        """The devices that hold a part of the array: all of the mesh."""
        return frozenset(range(self.mesh.size))

    def of_rank(self, rank: int) -> Sharding:
        """The sharding of an array of `rank` dimensions. LayoutError as of `sharding_of`."""
        return sharding_of(self.mesh, self.spec, rank)

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of a device's block."""
        return self.of_rank(len(global_shape)).local_shape(global_shape)

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[int, tuple[slice, ...]]:
        """Device -> the slices of the global array that it holds."""
        table = slices(self.of_rank(len(global_shape)), global_shape).tolist()
        return {device: tuple(slice(*bounds) for bounds in row) for device, row in enumerate(table)}
