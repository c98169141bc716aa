"""The blocks of a sharded tensor as a grid of cells, each with the devices that hold it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from msgspec import Struct

from shardc.layout import LayoutError, Sharding
from shardc.layout.distribute import devices_of
from shardc.layout.slices import partials, slices
from shardc.layout.uneven import Policy

MOST_CELLS = 1024
"""Finer grids are not legible."""

Range = tuple[int, int]


class Holder(Struct, frozen=True):
    """A device, and the process it belongs to."""

    device: int
    process: int


class Cell(Struct, frozen=True):
    """A block: its number in row-major order, its place, and per partial result who holds copies of it."""

    number: int
    place: tuple[Range, ...]
    holders: tuple[tuple[Holder, ...], ...]


class Grid(Struct, frozen=True):
    """The cells of a tensor along the dimensions `shown`, of which `ranges` has the parts.

    With more than three dimensions, those that are whole are left out. `empty` are devices that hold nothing.
    """

    shown: tuple[int, ...]
    ranges: tuple[tuple[Range, ...], ...]
    cells: dict[tuple[Range, ...], Cell]
    empty: tuple[int, ...]

    def panels(self) -> Iterator[tuple[tuple[Range, ...], list[list[Cell]]]]:
        """The cells as rows of rows, one such panel for each part of all dimensions but the last two."""
        rows = self.ranges[-2] if len(self.shown) > 1 else ()
        columns = self.ranges[-1] if self.shown else ()
        for lead in product(*self.ranges[:-2]):
            if not self.shown:
                yield lead, [[self.cells[()]]]
            elif len(self.shown) == 1:
                yield lead, [[self.cells[(column,)] for column in columns]]
            else:
                yield lead, [[self.cells[(*lead, row, column)] for column in columns] for row in rows]


def grid_of(sharding: Sharding, shape: Sequence[int], policy: Policy) -> Grid:
    """The grid. LayoutError if the layout doesn't fit the shape, or has too many blocks to draw."""
    regions: list[list[list[int]]] = slices(sharding, shape, policy).tolist()
    part: list[int] = partials(sharding).tolist()
    count = max(part) + 1
    held: dict[tuple[Range, ...], list[list[Holder]]] = {}
    empty: list[int] = []
    shown = _shown(sharding)
    for row, device in enumerate(devices_of(sharding)):
        place = tuple((start, stop) for start, stop in (regions[row][dim] for dim in shown))
        if any(start >= stop for start, stop in regions[row]):
            empty.append(device)
            continue
        groups = held.setdefault(place, [[] for _ in range(count)])
        groups[part[row]].append(Holder(device, sharding.mesh.process_of(row)))
    if not 0 < len(held) <= MOST_CELLS:
        raise LayoutError(f"a picture of {len(held)} blocks cannot be drawn; 1 to {MOST_CELLS} can")
    ranges = tuple(tuple(sorted({place[i] for place in held})) for i in range(len(shown)))
    cells = {
        place: Cell(number, place, tuple(map(tuple, held[place])))
        for number, place in enumerate(sorted(held))
    }
    return Grid(shown, ranges, cells, tuple(empty))


def _shown(sharding: Sharding) -> tuple[int, ...]:
    every = tuple(range(sharding.rank))
    split = tuple(dim for dim in every if sharding.dims[dim].parts > 1)
    return every if len(every) <= 3 else split or every[:1]
