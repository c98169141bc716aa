"""Where each axis of each tensor came from: which annotation, and through which operations.

    recorder = Recorder()
    result = propagate(graph, on_change=recorder)
    Provenance(result, recorder).trail(place, dim, axis)

Nothing is recorded, and nothing is paid, unless a recorder is given.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from shardc.layout import Axis, Sharding
from shardc.ops.rule import Dims
from shardc.propagation.flow import Link
from shardc.propagation.projection import project_tensor
from shardc.propagation.run import Result

ShardingChange = tuple[Link, int, "Sharding | None", Sharding]
"""A link, the tensor of it that changed, and its sharding before and after."""


class Recorder(Struct):
    """Keeps every change, in order."""

    changes: list[ShardingChange] = []

    def __call__(self, link: Link, tensor: int, before: Sharding | None, after: Sharding) -> None:
        self.changes.append((link, tensor, before, after))


class Hop(Struct, frozen=True):
    """One step of an axis: `link` gave it to dimension `dim` of `place`, along `factor`.

    `link` is None where the place is in a sharding group with the one that got it.
    """

    place: int
    dim: int
    axis: Axis
    link: Link | None = None
    factor: int = -1


class Provenance:
    """The history of one propagation."""

    def __init__(self, result: Result, recorder: Recorder) -> None:
        self.result = result
        self._changes = recorder.changes
        self._at: dict[int, list[int]] = {}
        flow = result.flow
        for number, (link, tensor, _, _) in enumerate(recorder.changes):
            place = link.tensors[tensor]
            for member in (place, *flow.peers.get(place, ())):
                self._at.setdefault(member, []).append(number)

    def trail(self, place: int, dim: int, axis: Axis) -> list[Hop]:
        """The steps by which an axis came to a dimension, last one first.

        The last element of the list has no link: it is the annotation itself.
        """
        hops: list[Hop] = []
        limit = len(self._changes)
        while not _holds(self.result.flow.start[place], dim, axis):
            number = self._gain(place, dim, axis, limit)
            if number is None:
                break
            link, tensor, _, after = self._changes[number]
            if link.tensors[tensor] != place:
                hops.append(Hop(place, dim, axis))
                place, limit = link.tensors[tensor], number + 1
                continue
            factor = _factor_with(link.rule.tensors[tensor], after, dim, axis, link)
            hops.append(Hop(place, dim, axis, link, factor))
            visit = self._visit(number)
            source = self._source(link, tensor, factor, axis, visit)
            if source is None:
                visit = number
                source = self._source(link, tensor, factor, axis, visit)
            if source is None:
                return hops
            (place, dim, axis), limit = source, visit
        return [*hops, Hop(place, dim, axis)]

    def before(self, place: int, limit: int) -> Sharding | None:
        """The sharding of a place before a change."""
        numbers = [number for number in self._at.get(place, ()) if number < limit]
        return self._changes[numbers[-1]][3] if numbers else self.result.flow.start[place]

    def _visit(self, number: int) -> int:
        """The first change of the visit that made a change."""
        link = self._changes[number][0]
        while number and self._changes[number - 1][0] is link:
            number -= 1
        return number

    def _gain(self, place: int, dim: int, axis: Axis, limit: int) -> int | None:
        """The number of the change that brought an axis to a dimension."""
        for number in self._at.get(place, ()):
            if number < limit and _holds(self._changes[number][3], dim, axis):
                return number
        return None

    def _source(
        self, link: Link, tensor: int, factor: int, axis: Axis, number: int
    ) -> tuple[int, int, Axis] | None:
        """Another tensor of a link that held the axis for the factor: its place, dimension, and part."""
        for other, place in enumerate(link.tensors):
            dims = link.rule.tensors[other]
            if other == tensor:
                continue
            sharding = seen_by(link, other, self.before(place, number))
            for dim, factors in enumerate(dims):
                held = (
                    next((a for a in sharding.dims[dim].axes if a.overlaps(axis)), None) if sharding else None
                )
                if factor in factors and held is not None:
                    return place, dim, held
        return None


def seen_by(link: Link, tensor: int, sharding: Sharding | None) -> Sharding | None:
    """A tensor's sharding as a link compares it: on the other side of a manual computation's border."""
    if link.border is not None and tensor == len(link.tensors) - 1:
        return link.border.to_sources(sharding)
    return sharding


def _holds(sharding: Sharding | None, dim: int, axis: Axis) -> bool:
    return sharding is not None and any(held.overlaps(axis) for held in sharding.dims[dim].axes)


def _factor_with(dims: Dims, sharding: Sharding, dim: int, axis: Axis, link: Link) -> int:
    """The factor of a dimension that an axis splits."""
    sizes: Sequence[int] = [factor.size for factor in link.rule.factors]
    projection = project_tensor(sharding, dims, sizes)
    for factor in dims[dim]:
        if any(held.overlaps(axis) for held in projection.factors[factor].axes):
            return factor
    return dims[dim][0]
