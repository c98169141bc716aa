"""Meshes: named axes over devices that belong to processes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from shardc.layout.axes import Axis

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.$-]*")
"""What an axis may be called: every notation and every output can hold such a name."""

IN_NAMES = "a letter, digit or _ begins a name, and the same and . $ - can follow"

MAX_DEVICES = 2**20
"""Of one mesh that a program names; more is taken for a mistake."""


class LayoutError(ValueError):
    """A mesh or sharding that cannot be; the text says what is wrong and names the axis or dimension."""


class Mesh(Struct, frozen=True, dict=True, cache_hash=True):
    """Named axes in major-to-minor order, and which device stands at each position.

    `device_ids` lists the device at each position in row-major order, None for 0, 1, 2, …. `processes`
    processes own equal runs of device numbers: with 2, device d of n belongs to process d // (n / 2).
    A mesh without axes and with one device id is *maximal*: everything is on that device.
    `ranks` are the numbers, ascending, under which the world knows devices 0, 1, 2, … if they are others: the
    four devices of an OneFlow placement on ranks 4 to 7 have ranks (4, 5, 6, 7).
    """

    name: str
    axes: tuple[tuple[str, int], ...]
    device_ids: tuple[int, ...] | None = None
    processes: int = 1
    ranks: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        names = [name for name, _ in self.axes]
        for name, size in self.axes:
            if not NAME.fullmatch(name):
                raise LayoutError(f"{name!a} is no name for an axis; {IN_NAMES}")
            if size < 1:
                raise LayoutError(f"axis {name} of mesh {self.name} has size {size}; sizes are at least 1")
            if names.count(name) > 1:
                raise LayoutError(f"mesh {self.name} has two axes called {name}")
        if self.device_ids is not None:
            if min(self.device_ids, default=0) < 0:
                raise LayoutError(f"mesh {self.name} has a device number below 0")
            if len(self.device_ids) != self.size:
                raise LayoutError(
                    f"mesh {self.name} has {self.size} positions but {len(self.device_ids)} device numbers"
                )
            if sorted(self.device_ids) != list(range(self.size)) and self.axes:
                raise LayoutError(
                    f"the device numbers of mesh {self.name} are not 0 to {self.size - 1}, once each"
                )
            if self.axes and self.device_ids == tuple(range(self.size)):
                force_setattr(self, "device_ids", None)
        if self.processes < 1 or self.size % self.processes:
            raise LayoutError(
                f"{self.size} devices of mesh {self.name} cannot be {self.processes} equal processes"
            )

        if self.ranks is not None:
            if len(self.ranks) != self.size or sorted(set(self.ranks)) != list(self.ranks):
                raise LayoutError(f"mesh {self.name} needs {self.size} ascending ranks, not {self.ranks}")
            if self.ranks == tuple(range(self.size)):
                force_setattr(self, "ranks", None)

    @cached_property
    def size(self) -> int:
        """The number of devices."""
        return prod(size for _, size in self.axes)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Axis name -> size, in mesh order."""
        return dict(self.axes)

    @cached_property
    def several(self) -> tuple[Axis, ...]:
        """The axes of more than one device: the others split nothing."""
        return tuple(Axis(name, size) for name, size in self.axes if size > 1)

    @property
    def is_maximal(self) -> bool:
        """Whether the mesh stands for one given device."""
        return not self.axes and self.device_ids is not None

    def axis(self, name: str) -> Axis:
        """The full axis of that name; LayoutError if the mesh has none."""
        if name not in self.sizes:
            known = ", ".join(self.sizes) or "no axes"
            raise LayoutError(f"mesh {self.name} has no axis {name}; it has {known}")
        return Axis(name, self.sizes[name])

    def is_full(self, axis: Axis) -> bool:
        """Whether `axis` is a whole axis of this mesh."""
        return axis.pre == 1 and self.sizes.get(axis.name) == axis.size

    def order(self, axis: Axis) -> tuple[int, int]:
        """A sort key that puts axes and their parts in mesh order."""
        return (list(self.sizes).index(axis.name), axis.pre)

    @cached_property
    def devices(self) -> NDArray[np.int64]:
        """The device numbers as an array with one dimension per axis."""
        ids = np.arange(self.size) if self.device_ids is None else np.array(self.device_ids)
        return ids.reshape([size for _, size in self.axes])

    def process_of(self, device: int) -> int:
        """The process that owns a device."""
        return device // (self.size // self.processes)

    def devices_of(self, process: int) -> tuple[int, ...]:
        """The devices that a process owns, ascending. LayoutError if there is no such process."""
        if not 0 <= process < self.processes:
            raise LayoutError(f"there is no process {process}; mesh {self.name} has {self.processes}")
        count = self.size // self.processes
        return tuple(range(process * count, (process + 1) * count))

    @property
    def local_devices(self) -> tuple[int, ...]:
        """The devices of process 0; every process has as many."""
        return self.devices_of(0)

    def rank_of(self, device: int) -> int:
        """The number under which the world knows a device."""
        return device if self.ranks is None else self.ranks[device]

    def coordinates(self, axis: Axis) -> NDArray[np.int64]:
        """Position along `axis` of every mesh position, in row-major order: int64[size]."""
        index = list(self.sizes).index(axis.name)
        full = self.sizes[axis.name]
        minor = prod(size for _, size in self.axes[index + 1 :])
        position = np.arange(self.size) // minor % full
        return position // (full // axis.end) % axis.size

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(f'{name}={size}' for name, size in self.axes)}]"


def mesh_of_ranks(name: str, axes: tuple[tuple[str, int], ...], ranks: Sequence[int]) -> Mesh:
    """The mesh at whose positions, in row-major order, stand the devices that the world knows by `ranks`.

    LayoutError if they are not one different, not negative number per position.
    """
    ascending = sorted(ranks)
    if ascending and ascending[0] < 0:
        raise LayoutError(f"{ascending[0]} is no device number")
    for one, other in pairwise(ascending):
        if one == other:
            raise LayoutError(f"device {one} is listed twice")
    device = {rank: number for number, rank in enumerate(ascending)}
    return Mesh(name, axes, tuple(device[rank] for rank in ranks), 1, tuple(ascending))
