"""How an emitted program names its devices and says how arrays lie on them.

`Mesh({"data": 2, "model": 4})` and `P("data", None)` read as in JAX. A partition spec has one entry per
dimension: None (not split), an axis name, or a tuple of names, major to minor; missing entries are None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from shardc import layout
from shardc.layout import Dim, LayoutError, Sharding

Entry = str | tuple[str, ...] | None
Axes = str | tuple[str, ...]


def Mesh(
    axes: Mapping[str, int], devices: Sequence[int] | None = None, processes: int = 1, name: str = "mesh"
) -> layout.Mesh:
    """A mesh of the axes, major to minor; `devices` in row-major order if they are not 0, 1, 2, …."""
    ids = None if devices is None else tuple(devices)
    return layout.Mesh(name, tuple(axes.items()), ids, processes)


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
