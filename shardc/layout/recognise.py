"""From a table of who holds which block to a sharding: which axes split which dimension.

Notations that list devices (HLO, ONNX) say for every device the number of its block in each dimension. Here
those numbers are taken apart again into axes of a given mesh, or into axes made for the purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.layout.axes import Axis, merge
from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.sharding import Dim, Sharding
from shardc.layout.slices import by_device

Numbers = NDArray[np.int64]


class Table(Struct, frozen=True):
    """Per dimension the block number of every device, and into how many blocks the dimension is split.

    `numbers[i]` is int64[devices]. The last column, `partial` of `partials`, numbers the partial results that
    make up a block; all 0 of 1 if blocks are whole.
    """

    numbers: tuple[Numbers, ...]
    parts: tuple[int, ...]
    partial: Numbers
    partials: int = 1
    kind: str = "sum"

    @property
    def devices(self) -> int:
        """The number of devices."""
        return len(self.partial)

    @property
    def columns(self) -> tuple[Numbers, ...]:
        """The dimensions' numbers, then those of the partial results."""
        return (*self.numbers, self.partial)


class _Piece(Struct, frozen=True):
    """A part of an axis, and which column it counts up by which stride; column None if none."""

    axis: Axis
    column: int | None
    stride: int


def in_mesh(table: Table, mesh: Mesh) -> Sharding:
    """The sharding on `mesh` that puts blocks as the table says.

    LayoutError, naming the axis or dimension, if no list of axes and parts of axes of this mesh does.
    """
    if mesh.size != table.devices:
        raise LayoutError(f"{table.devices} devices are not those of mesh {mesh}")
    at = mesh.devices.reshape(-1)
    columns = [column if mesh.is_maximal else column[at] for column in table.columns]
    minors = [prod(size for _, size in mesh.axes[i + 1 :]) for i in range(len(mesh.axes))]
    pieces = [
        piece
        for (name, size), minor in zip(mesh.axes, minors, strict=True)
        for piece in _pieces(name, [column[: size * minor : minor] for column in columns], mesh)
    ]
    lists = [_axes(pieces, column) for column in range(len(columns))]
    for i, (axes, column) in enumerate(zip(lists, columns, strict=True)):
        number = np.zeros(mesh.size, np.int64)
        for axis in axes:
            number = number * axis.size + mesh.coordinates(axis)
        if prod(a.size for a in axes) != (*table.parts, table.partials)[i] or not np.array_equal(
            number, column
        ):
            what = f"the blocks of dimension {i}" if i < len(table.parts) else "the partial results"
            raise LayoutError(f"{what} do not follow the axes of mesh {mesh}")
    dims = tuple(Dim(axes) for axes in lists[:-1])
    return Sharding(mesh, dims, (), lists[-1], table.kind)


def on_own_mesh(table: Table, name: str = "mesh", ranks: tuple[int, ...] | None = None) -> Sharding:
    """The sharding on a mesh made for the table, with as few axes as do: x0, x1, … in device order.

    If the blocks follow no axes over the devices in ascending order, the mesh has an axis per dimension and
    lists its devices in the order of their blocks. LayoutError if blocks are not held equally often.
    """
    line = Mesh(name, (("x", table.devices),))
    try:
        pieces = _pieces("x", list(table.columns), line)[::-1]
        mesh = Mesh(name, tuple((f"x{i}", p.axis.size) for i, p in enumerate(pieces)), None, 1, ranks)
        return in_mesh(table, mesh)
    except LayoutError:
        return _listed(table, name, ranks)


def factors(table: Table) -> list[tuple[int, int | None, int]] | None:
    """The device numbers as mixed-radix digits, major to minor: (size, column that it counts, its stride).

    Column None is copies, the one after the dimensions partial results. None if the numbers are no such
    digits of the blocks.
    """
    line = Mesh("line", (("x", table.devices),))
    try:
        in_mesh(table, line)
    except LayoutError:
        return None
    pieces = _pieces("x", list(table.columns), line)[::-1]
    return [(piece.axis.size, piece.column, piece.stride) for piece in pieces]


def table_of(sharding: Sharding) -> Table:
    """What a sharding says, as a table."""
    columns = [dim.axes for dim in sharding.dims] + [sharding.unreduced]
    mesh = sharding.mesh
    numbers: list[Numbers] = []
    for axes in columns:
        number = np.zeros(mesh.size, np.int64)
        for axis in axes:
            number = number * axis.size + mesh.coordinates(axis)
        numbers.append(by_device(mesh, number))
    parts = [prod(axis.size for axis in axes) for axes in columns]
    return Table(tuple(numbers[:-1]), tuple(parts[:-1]), numbers[-1], parts[-1], sharding.kind)


def _pieces(name: str, columns: Sequence[Numbers], mesh: Mesh) -> list[_Piece]:
    """An axis's digits, minor to major; along it, all else at 0, column c is `columns[c]`.

    A digit is the longest stretch over which one column grows evenly and the others stay as they are.
    """
    size = len(columns[0])
    found: list[_Piece] = []
    step = 1
    while step < size:
        moved = [c for c, column in enumerate(columns) if column[step] != column[0]]
        if len(moved) > 1:
            raise LayoutError(f"part of axis {name} splits two dimensions of the tensor at once")
        stride = int(columns[moved[0]][step] - columns[moved[0]][0]) if moved else 0
        count = 1
        while count * step < size and all(
            column[count * step] - column[0] == (count * stride if c in moved else 0)
            for c, column in enumerate(columns)
        ):
            count += 1
        if stride < 0 or size % (step * count):
            raise LayoutError(f"the blocks do not follow parts of axis {name} of mesh {mesh}")
        axis = Axis(name, count, size // (step * count))
        found.append(_Piece(axis, moved[0] if moved else None, stride))
        step *= count
    return found


def _axes(pieces: Sequence[_Piece], column: int) -> tuple[Axis, ...]:
    """The axes that count a column, major to minor."""
    mine = sorted((p for p in pieces if p.column == column), key=lambda p: (-p.stride, p.axis.pre))
    return merge(piece.axis for piece in mine)


def _listed(table: Table, name: str, ranks: tuple[int, ...] | None) -> Sharding:
    """The sharding on a mesh whose device order is that of the blocks."""
    number = np.zeros(table.devices, np.int64)
    for column, parts in zip(table.columns, (*table.parts, table.partials), strict=True):
        number = number * parts + column
    counts = np.bincount(number, minlength=prod(table.parts) * table.partials)
    if (counts != counts[0]).any():
        other = int(np.argmax(counts != counts[0]))
        raise LayoutError(
            f"no mesh has this layout: {counts[0]} devices hold block 0, {counts[other]} block {other}"
        )
    sizes = [*table.parts, table.partials, int(counts[0])]
    names = [*(f"x{i}" for i in range(len(table.parts))), "partial", "copies"]
    axes = tuple((n, size) for n, size in zip(names, sizes, strict=True) if size > 1)
    mesh = Mesh(name, axes, tuple(np.argsort(number, kind="stable").tolist()), 1, ranks)
    dims = [Dim((mesh.axis(n),)) if size > 1 else Dim() for n, size in zip(names, table.parts, strict=False)]
    unreduced = (mesh.axis("partial"),) if table.partials > 1 else ()
    return Sharding(mesh, tuple(dims), (), unreduced, table.kind)
