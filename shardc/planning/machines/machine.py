"""What a device can do, and what connects devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from shardc.diagnostics import ShardcError

KINDS = ("ring", "torus", "shared")


@dataclass(frozen=True)
class Link:
    """What connects devices: bytes/s, seconds per step, and how many devices are on one (None: all).

    `each` has (title, bytes/s, seconds) of collectives that have their own on a shared link.
    """

    name: str
    kind: str
    bandwidth: float
    latency: float
    devices: int | None = None
    wraparound: int | None = None
    each: tuple[tuple[str, float, float], ...] = ()

    def rates(self, title: str) -> tuple[float, float]:
        """Bytes/s and seconds per step of a collective."""
        own = ((rate, step) for name, rate, step in self.each if name == title)
        return next(own, (self.bandwidth, self.latency))

    @property
    def best(self) -> tuple[float, float]:
        """Bytes/s and seconds per step that no collective beats."""
        rates = [rate for _, rate, _ in self.each]
        steps = [step for _, _, step in self.each]
        return max([self.bandwidth, *rates]), min([self.latency, *steps])


@dataclass(frozen=True)
class Machine:
    """Bytes, bytes/s and operations/s of a device, and the links, innermost first."""

    name: str
    source: str
    memory: int
    bandwidth: float
    flops: Mapping[str, float]
    links: tuple[Link, ...]
    axes: Mapping[str, str]

    def link(self, name: str) -> Link:
        return next(link for link in self.links if link.name == name)

    def work(self, operations: float, rate: str, bytes: float) -> float:
        """Seconds that a device takes for operations of a kind, and for reading and writing `bytes`.

        The planner and the report ask here; `rate` is the dtype of a product, else a Rate.
        """
        return operations / self.flops.get(rate, self.flops["other"]) + bytes / self.bandwidth


def with_axes(machine: Machine, axes: dict[str, str]) -> Machine:
    """The machine with links for mesh axes; ShardcError if it has no such link."""
    for axis, link in axes.items():
        if link not in [known.name for known in machine.links]:
            names = ", ".join(known.name for known in machine.links)
            raise ShardcError(
                f"{machine.name} has no link {link} for axis {axis}", hint=f"its links are {names}"
            )
    return replace(machine, axes={**machine.axes, **axes})
