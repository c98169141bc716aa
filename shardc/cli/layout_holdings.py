"""What each device holds, as `shardc-layout` lists it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.cli.layout_inputs import Given
from shardc.layout import LayoutError, Sharding
from shardc.layout.distribute import devices_of
from shardc.layout.notations.onnx_placement import placement
from shardc.layout.notations.onnx_spec import ShardingSpec
from shardc.layout.slices import blocks, partials, replicas, slices
from shardc.layout.uneven import Policy

MOST_VALUES = 4096
"""Of larger tensors no values are shown."""

Ranges = tuple[tuple[int, int], ...]
"""Stretches of one dimension: the first element and the one after the last."""

Part = tuple[Ranges, ...]


class Holding(Struct, frozen=True):
    """What a device holds: its parts (one, but for ONNX), and which devices, itself too, hold the same.

    `block` numbers what is different; `partial` is which of `partials` partial results it is.
    """

    device: int
    block: int
    parts: tuple[Part, ...]
    group: Sequence[int]
    partial: int = 0
    partials: int = 1

    def values(self, shape: Sequence[int]) -> list[NDArray[Any]] | None:
        """Its elements of numpy.arange(size).reshape(shape); None of large tensors and partial results."""
        if prod(size or 1 for size in shape) > MOST_VALUES or self.partials > 1:
            return None
        tensor = np.arange(prod(shape)).reshape(tuple(shape))
        return [tensor[np.ix_(*map(_elements, part))] if part else tensor for part in self.parts]


def holdings(given: Given, shape: Sequence[int], policy: Policy) -> list[Holding]:
    """Every device's, in ascending order. LayoutError if the layout doesn't fit the shape."""
    if isinstance(given.sharding, Sharding):
        return of_sharding(given.sharding, shape, policy)
    if given.spec is not None:
        return _of_spec(given.spec, shape, policy)
    raise given.sharding


def of_sharding(sharding: Sharding, shape: Sequence[int], policy: Policy) -> list[Holding]:
    """What the devices of a sharding hold."""
    table: list[list[list[int]]] = slices(sharding, shape, policy).tolist()
    number: list[int] = blocks(sharding.mesh, [axis for dim in sharding.dims for axis in dim.axes]).tolist()
    same: list[int] = replicas(sharding).tolist()
    part: list[int] = partials(sharding).tolist()
    count = max(part) + 1
    devices = devices_of(sharding)
    holders: dict[int, list[int]] = {}
    for device, label in zip(devices, same, strict=True):
        holders.setdefault(label, []).append(device)
    return [
        Holding(
            device,
            number[row],
            (tuple(((start, stop),) for start, stop in table[row]),),
            holders[same[row]],
            part[row],
            count,
        )
        for row, device in enumerate(devices)
    ]


def _of_spec(spec: ShardingSpec, shape: Sequence[int], policy: Policy) -> list[Holding]:
    held = {
        device: tuple(tuple(each or ((0, 0),) for each in part.ranges()) for part in parts)
        for device, parts in placement(spec, shape, policy).items()
    }
    if not held:
        raise LayoutError("the specification lists no devices")
    groups: dict[tuple[Part, ...], list[int]] = {}
    for device, parts in held.items():
        groups.setdefault(parts, []).append(device)
    number = {parts: i for i, parts in enumerate(groups)}
    return [Holding(device, number[parts], parts, groups[parts]) for device, parts in held.items()]


def _elements(ranges: Ranges) -> list[int]:
    return [element for start, stop in ranges for element in range(start, stop)]


def grid_of(held: Sequence[Holding]) -> list[list[list[int]]] | None:
    """Rows of cells of devices, a cell per block, for tensors of one or two dimensions; else None.

    Empty blocks have no cell.
    """
    every = [part for holding in held for part in holding.parts]
    rank = len(every[0])
    if rank not in (1, 2) or any(len(ranges) != 1 for part in every for ranges in part):
        return None
    edges = [sorted({part[d][0] for part in every if part[d][0][0] < part[d][0][1]}) for d in range(rank)]
    cells: dict[Part, list[int]] = {tuple((edge,) for edge in cell): [] for cell in product(*edges)}
    for holding in held:
        for part in holding.parts:
            if part in cells:
                cells[part].append(holding.device)
    if rank == 1:
        return [[cells[((column,),)] for column in edges[0]]]
    return [[cells[((row,), (column,))] for column in edges[1]] for row in edges[0]]
