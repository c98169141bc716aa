"""What a propagation did, visit by visit: which tensor of an operation gave which axis to which others.

for visit in history(result, recorder): visit.step, visit.link, visit.gains
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from shardc.layout import Axis, Sharding
from shardc.ops.rule import Dims
from shardc.propagation.flow import Flow, Link
from shardc.propagation.provenance import ShardingChange, seen_by


class Gain(Struct, frozen=True):
    """`axis` came to `tensor` from `source` (numbers of tensors, operands first), where it was `held`."""

    axis: Axis
    tensor: int
    source: int
    held: Axis


class RecordedVisit(Struct):
    """One visit of a link that changed something, and when: `step` counts such visits."""

    step: int
    link: Link
    old: list[Sharding | None]
    gains: list[Gain] = []


def history(flow: Flow, changes: Iterable[ShardingChange]) -> list[RecordedVisit]:
    """All visits that changed something, in order."""
    now = list(flow.start)
    visits: list[RecordedVisit] = []
    last = -1
    for link, tensor, before, after in changes:
        if not visits or visits[-1].link is not link or tensor <= last:
            old = [before if number == tensor else now[p] for number, p in enumerate(link.tensors)]
            visits.append(RecordedVisit(len(visits), link, old))
        last = tensor
        visit = visits[-1]
        started = [flow.start[place] for place in link.tensors]  # priorities hide some of it at first
        seen = [seen_by(link, i % len(started), s) for i, s in enumerate(visit.old + started)]
        visit.gains += _gains(link.rule.tensors, visit.old[tensor], seen, tensor, after)
        place = link.tensors[tensor]
        for member in (place, *flow.peers.get(place, ())):
            now[member] = after
    return visits


def _gains(
    rule: Sequence[Dims],
    before: Sharding | None,
    old: Sequence[Sharding | None],
    tensor: int,
    after: Sharding,
) -> Iterator[Gain]:
    for dim, new in enumerate(after.dims):
        had = () if before is None else before.dims[dim].axes
        same = len(had) if new.axes[: len(had)] == had else max(len(had) - 1, 0)
        for axis in new.axes[same:]:
            source = _source(rule, old, axis, rule[tensor][dim])
            if source is not None:
                yield Gain(axis, tensor, *source)


def _source(
    rule: Sequence[Dims], old: Sequence[Sharding | None], axis: Axis, factors: tuple[int, ...]
) -> tuple[int, Axis] | None:
    """The first tensor that had an axis, or a part of it or a whole that it is a part of.

    Dimensions that share a factor with the one that got it come first. `old` are the shardings before the
    visit, and then those that the tensors started with.
    """
    held = [
        (held != axis, set(factors).isdisjoint(rule[number % len(rule)][dim]), number, held)
        for number, sharding in enumerate(old)
        for dim, own in enumerate(sharding.dims if sharding else ())
        for held in own.axes
        if held.overlaps(axis)
    ]
    if not held:
        return None
    _, _, number, found = min(held, key=lambda candidate: candidate[:3])
    return number % len(rule), found


def origins(flow: Flow, visits: Iterable[RecordedVisit], stated: dict[int, dict[Axis, str]]) -> None:
    """Complete what is `stated`, by place and axis, with what came along in the visits."""
    for visit in visits:
        if visit.link in flow.returns:
            continue
        for gain in visit.gains:
            known = stated.get(visit.link.tensors[gain.source], {})
            parts = (origin for axis, origin in known.items() if axis.overlaps(gain.axis))
            origin = known.get(gain.held) or next(parts, None)
            if origin is not None:
                stated.setdefault(visit.link.tensors[gain.tensor], {})[gain.axis] = origin
