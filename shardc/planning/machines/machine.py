"""What a device can do, and what connects devices."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from shardc.diagnostics import ShardcError
from shardc.ops.definition import Rate

_NO_PRODUCT = frozenset(Rate)

KINDS = ("ring", "torus", "shared")


class Own(Struct, frozen=True):
    """Bytes/s and seconds per step that a collective has for itself. `strided`: bytes/s where its blocks are
    columns."""

    title: str
    bandwidth: float
    latency: float
    strided: float


class Link(Struct, frozen=True):
    """What connects devices: bytes/s, seconds per step, and how many devices are on one (None: all).

    `each` has the rates of collectives that have their own on a shared link.
    """

    name: str
    kind: str
    bandwidth: float
    latency: float
    devices: int | None = None
    wraparound: int | None = None
    each: tuple[Own, ...] = ()

    def rates(self, title: str, strided: bool) -> tuple[float, float]:
        """Bytes/s and seconds per step of a collective; `strided` if its blocks are columns."""
        for own in self.each:
            if own.title == title:
                return own.strided if strided else own.bandwidth, own.latency
        return self.bandwidth, self.latency

    @property
    def best(self) -> tuple[float, float]:
        """Bytes/s and seconds per step that no collective beats."""
        rates = [rate for own in self.each for rate in (own.bandwidth, own.strided)]
        return max([self.bandwidth, *rates]), min([self.latency, *(own.latency for own in self.each)])


class Machine(Struct, frozen=True):
    """Bytes, bytes/s and operations/s of a device, and the links, innermost first.

    `turned`: bytes/s of what is read across the order in which it lies, for which that is more time. `fuses`:
    whether chains of operations are one, as a compiler makes them; NumPy runs one after the other.
    `multiplied`: bytes/s of what products read and write, which they also bring in order (None: `bandwidth`).
    """

    name: str
    source: str
    memory: int
    bandwidth: float
    flops: Mapping[str, float]
    links: tuple[Link, ...]
    axes: Mapping[str, str]
    turned: float = inf
    fuses: bool = True
    multiplied: float | None = None

    def link(self, name: str) -> Link:
        return next(link for link in self.links if link.name == name)

    @property
    def has_latency(self) -> bool:
        """Whether a collective takes time beside that of its bytes."""
        latencies = [each.latency for link in self.links for each in (link, *link.each)]
        return any(latency > 0 for latency in latencies)

    @property
    def has_stages(self) -> bool:
        """Whether a collective may be quicker in stages: over several links, or axes on a ring with
        latency."""
        return len(self.links) > 1 or any(link.kind == "ring" and link.latency for link in self.links)

    @property
    def without_latency(self) -> Machine:
        """The same, but a collective takes no longer than its bytes."""
        links = (
            replace(link, latency=0.0, each=tuple(replace(own, latency=0.0) for own in link.each))
            for link in self.links
        )
        return replace(self, links=tuple(links))

    def work(self, operations: float, rate: str, bytes: float, turned: float = 0) -> float:
        """Seconds that a device takes for operations of a kind, and for reading and writing `bytes`, of which
        some are `turned`: read across the order in which they lie.

        The planner and the report ask here; `rate` is the dtype of a product, else a Rate.
        """
        arithmetic = operations / self.flops.get(rate, self.flops["other"])
        memory = self.bandwidth if rate in _NO_PRODUCT or self.multiplied is None else self.multiplied
        return arithmetic + bytes / memory + turned / self.turned


def with_axes(machine: Machine, axes: dict[str, str]) -> Machine:
    """The machine with links for mesh axes; ShardcError if it has no such link."""
    for axis, link in axes.items():
        if link not in [known.name for known in machine.links]:
            names = ", ".join(known.name for known in machine.links)
            raise ShardcError(
                f"{machine.name} has no link {link} for axis {axis}", hint=f"its links are {names}"
            )
    return replace(machine, axes={**machine.axes, **axes})
