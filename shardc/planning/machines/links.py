"""How long a collective takes over the links of a machine.

For n positions, S bytes of the whole array (along the axes), link bandwidth B, latency a:

ring     all-reduce 2(n-1)a + 2(n-1)/n S/B; all-gather, reduce-scatter, all-to-all (n-1)a + (n-1)/n S/B;
         permute a + S/B. With a as 0 these are the "perfect" times of nccl-tests, doc/PERFORMANCE.md. A group
         that spans several inner links is as fast as all its devices on one inner link send out together.
torus    W = 2B, both directions. All-gather and reduce-scatter max(S / sum of W, a * sum of |X|/2) over
         rings X; a line takes (n-1)/n S/B; all-reduce twice that, all-to-all a quarter (a line: S/4B).
         "How to Scale Your Model", the chapter on sharding.
shared   as a ring, with the bandwidth divided among all devices: they copy through one memory. A collective
         may have a bandwidth and a latency of its own, and another bandwidth where it gathers or scatters the
         last dimension of several: blocks are then columns, whose elements go between those of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.diagnostics import ShardcError
from shardc.graph import UNKNOWN
from shardc.layout import Axis, Mesh
from shardc.layout.distinct import distinct
from shardc.ops import definitions
from shardc.planning.machines.machine import Link, Machine


class Sent(Protocol):
    """A collective, as far as its time goes: `op` is its definition's title; the group's axes and
    positions; what a device sends, and its operand, in bytes; a permute's (from, to); whether its blocks are
    columns."""

    @property
    def op(self) -> str: ...
    @property
    def over(self) -> tuple[Axis, ...]: ...
    @property
    def group(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def operand_bytes(self) -> int: ...
    @property
    def pairs(self) -> tuple[tuple[int, int], ...]: ...
    @property
    def strided(self) -> bool: ...


class Exchange(Struct, frozen=True):
    """A collective that nobody has written yet."""

    op: str
    over: tuple[Axis, ...]
    group: int
    bytes: int
    operand_bytes: int
    pairs: tuple[tuple[int, int], ...] = ()
    strided: bool = False


def is_strided(shape: Sequence[int], dim: int) -> bool:
    """Whether blocks that are gathered or scattered along `dim` are columns: it is the last of several."""
    return prod(shape[:dim]) != 1 and prod(shape[dim + 1 :]) == 1


def link_of(machine: Machine, mesh: Mesh, axes: tuple[Axis, ...]) -> Link:
    """The outermost of the links that [axes] name, and of the first that reaches whole groups over the axes
    which they do not name."""
    named = [machine.link(machine.axes[axis.name]) for axis in axes if axis.name in machine.axes]
    others = tuple(axis for axis in axes if axis.name not in machine.axes)
    if others or not named:
        named.append(_reaching(machine, mesh, others))
    return max(named, key=machine.links.index)


def _reaching(machine: Machine, mesh: Mesh, axes: tuple[Axis, ...]) -> Link:
    for link in machine.links:
        if link.devices is None or _stays_inside(mesh, axes, link.devices):
            return link
    raise ShardcError(f"no link of {machine.name} reaches all devices", UNKNOWN)


@lru_cache(maxsize=65536)
def _stays_inside(mesh: Mesh, axes: tuple[Axis, ...], count: int) -> bool:
    """Whether each group over the axes is among `count` devices that one link connects."""
    groups = devices_of(mesh, axes)
    return bool(np.all(groups // count == groups[:, :1] // count))


@lru_cache(maxsize=65536)
def _together(mesh: Mesh, axes: tuple[Axis, ...], count: int) -> int:
    """How many positions of a group over the axes are among `count` devices that one link connects."""
    groups = devices_of(mesh, axes)
    return groups.shape[1] // len(distinct(groups[0] // count))


def devices_of(mesh: Mesh, axes: tuple[Axis, ...]) -> NDArray[np.int64]:
    """The device numbers of each group over the axes, one a row, in order of position."""
    place = np.zeros(mesh.size, np.int64)
    rest = np.arange(mesh.size)
    for axis in axes:
        place = place * axis.size + mesh.coordinates(axis)
        names = list(mesh.sizes)
        minor = prod(mesh.sizes[name] for name in names[names.index(axis.name) + 1 :])
        rest = rest - mesh.coordinates(axis) * (mesh.sizes[axis.name] // axis.end) * minor
    order = np.lexsort((place, rest))
    return mesh.devices.reshape(-1)[order].reshape(-1, prod(axis.size for axis in axes))


def seconds(machine: Machine, link: Link, mesh: Mesh, collective: Sent) -> float:
    """One run of a collective over a link."""
    if link.kind == "torus":
        return _torus(link, mesh, collective)
    bandwidth, latency = link.rates(collective.op, collective.strided)
    if link.kind == "shared":
        bandwidth /= mesh.size
    else:
        bandwidth = _through(machine, link, mesh, collective.over)
    return _STEPS[collective.op](collective.group) * latency + collective.bytes / bandwidth


_STEPS = {definition.title: definition.steps for definition in definitions() if definition.steps}
"""Steps of the ring over n positions, by title."""


def _through(machine: Machine, link: Link, mesh: Mesh, axes: tuple[Axis, ...]) -> float:
    """Bytes/s of a device in a ring over a link: positions on one inner link send out side by side."""
    at = machine.links.index(link)
    bandwidth = link.bandwidth
    if at and not all(axis.name in machine.axes for axis in axes):
        inner = machine.links[at - 1]
        together = _together(mesh, axes, inner.devices or mesh.size)
        bandwidth = min(inner.bandwidth, link.bandwidth * max(1, together))
    return bandwidth


def _torus(link: Link, mesh: Mesh, collective: Sent) -> float:
    op, n, held = collective.op, collective.group, collective.operand_bytes
    rings = [_is_ring(link, mesh, axis) for axis in collective.over]
    if op == "permute":
        hops = _hops(collective, all(rings))
        return max(hops * held / link.bandwidth, hops * link.latency)
    whole = held * n if op in ("all-gather", "all-to-all") else held
    sizes = [(a.size, ring) for a, ring in zip(collective.over, rings, strict=True) if a.size > 1]
    if not sizes:
        return 0.0
    if op == "all-to-all":
        rate = sum(4 * link.bandwidth * (2 if ring else 1) for _, ring in sizes)
    else:
        rate = sum(link.bandwidth * (2 if ring else size / (size - 1)) for size, ring in sizes)
    hops = sum(size / 2 if ring else size - 1 for size, ring in sizes)
    return (2 if op in ("all-reduce", "broadcast") else 1) * max(whole / rate, hops * link.latency)


def _is_ring(link: Link, mesh: Mesh, axis: Axis) -> bool:
    return link.wraparound is not None and mesh.is_full(axis) and axis.size % link.wraparound == 0


@lru_cache(maxsize=32)
def farthest(pairs: tuple[tuple[int, int], ...], count: int) -> tuple[tuple[int, int], ...]:
    """Of a permute's pairs over so many positions those that say how long it takes: with the longest way
    along a line, and around a ring."""
    if not pairs:
        return ()
    ways = np.abs(np.subtract(*np.array(pairs).T))
    return tuple(dict.fromkeys([pairs[np.argmax(ways)], pairs[np.argmax(np.minimum(ways, count - ways))]]))


def _hops(collective: Sent, ring: bool) -> int:
    """The longest way of a permute's pairs."""
    n = collective.group
    ways = [min(abs(a - b), n - abs(a - b)) if ring else abs(a - b) for a, b in collective.pairs]
    return max(ways, default=0)
