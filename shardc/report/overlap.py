"""How long a collective takes on a machine, and how long the blocks that go around in its place.

`shardc --overlap auto --machine …` decides by it. The formulas are those of planning/machines/links.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shardc.layout import Axis, Mesh
from shardc.planning.machines import Exchange, Machine, link_of, seconds
from shardc.planning.overlap.times import RingMachine, Times


@dataclass(frozen=True)
class MachineTimes:
    """On a machine, along the axes of a mesh, with products of a dtype."""

    machine: Machine
    mesh: Mesh
    axes: tuple[Axis, ...]
    dtype: str
    launch: float = RingMachine.launch

    @property
    def flops(self) -> float:
        return self.machine.flops.get(self.dtype, self.machine.flops["other"])

    def collective(self, operation: str, devices: int, block_bytes: int) -> float:
        held = block_bytes * (devices if operation == "reduce-scatter" else 1)
        return self._seconds(operation, devices, held, (devices - 1) * block_bytes)

    def send(self, devices: int, block_bytes: int) -> float:
        """A torus has a link each way; on others both blocks go through what the device sends by."""
        both = 1 if link_of(self.machine, self.mesh, self.axes).kind == "torus" else 2
        ring = tuple((i, (i + 1) % devices) for i in range(devices))
        return self._seconds("permute", devices, both * block_bytes, both * block_bytes, ring)

    def _seconds(
        self, operation: str, devices: int, held: int, sent: int, pairs: tuple[tuple[int, int], ...] = ()
    ) -> float:
        collective = Exchange(operation, self.axes, devices, sent, held, pairs)
        return seconds(self.machine, link_of(self.machine, self.mesh, self.axes), self.mesh, collective)


def times_on(machine: Machine) -> Callable[[Mesh, tuple[Axis, ...], str], Times]:
    """(mesh, axes, dtype of the product) -> what it takes on the machine."""
    return lambda mesh, axes, dtype: MachineTimes(machine, mesh, axes, dtype)


def pass_options(when: str, machine: Machine | None) -> dict[str, Any]:
    """Options of the pass overlap."""
    return {"when": when, "times": times_on(machine)} if machine else {"when": when}
