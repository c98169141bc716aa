"""How long a collective takes on a machine, and how long the blocks that go around in its place.

`shardc --overlap auto --machine …` decides by it. The formulas are those of planning/machines/links.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from shardc.layout import Axis, Mesh
from shardc.ops import spmd
from shardc.planning.machines import Exchange, Machine, Stages, Wanted, link_of, seconds
from shardc.planning.overlap.times import LAUNCH, Times


class MachineTimes(Struct, frozen=True):
    """On a machine, along the axes of a mesh, with products of a dtype."""

    machine: Machine
    mesh: Mesh
    axes: tuple[Axis, ...]
    dtype: str
    launch: float = LAUNCH

    @property
    def flops(self) -> float:
        return self.machine.flops.get(self.dtype, self.machine.flops["other"])

    def collective(self, operation: str, devices: int, block_bytes: int) -> float:
        """In the quickest way: at once, or in stages."""
        scatters = operation == spmd.reduce_scatter.title
        op, size = (
            (spmd.reduce_scatter, devices * block_bytes) if scatters else (spmd.all_gather, block_bytes)
        )
        kind = "sum" if scatters else None
        return Stages(self.machine, self.mesh).seconds(Wanted(op, self.axes, (size,), 1, 0, kind))

    def send(self, devices: int, block_bytes: int) -> float:
        """A torus has a link each way; on others both blocks go through what the device sends by."""
        both = 1 if link_of(self.machine, self.mesh, self.axes).kind == "torus" else 2
        ring = tuple((i, (i + 1) % devices) for i in range(devices))
        collective = Exchange("permute", self.axes, devices, both * block_bytes, both * block_bytes, ring)
        return seconds(self.machine, link_of(self.machine, self.mesh, self.axes), self.mesh, collective)


def times_on(machine: Machine) -> Callable[[Mesh, tuple[Axis, ...], str], Times]:
    """(mesh, axes, dtype of the product) -> what it takes on the machine."""
    return lambda mesh, axes, dtype: MachineTimes(machine, mesh, axes, dtype)


def pass_options(when: str, machine: Machine | None) -> dict[str, Any]:
    """Options of the pass overlap."""
    return {"when": when, "times": times_on(machine)} if machine else {"when": when}
