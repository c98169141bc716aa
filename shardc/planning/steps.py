"""One collective of a reshard, with the attributes that the sdy operation of that name has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shardc.layout import Axis, Sharding, merge

Axes = tuple[Axis, ...]

FREE = ("all_slice", "replicated_to_unreduced", "sharded_to_unreduced")  # no communication


@dataclass(frozen=True, slots=True)
class Step:
    """`kind` names an sdy collective ("all_gather"); `result` is the global sharding after it.

    `bytes` is what a device moves. A step over several dimensions is one collective for each; an
    all_to_all or all_reduce is always a single one.
    """

    kind: str
    result: Sharding
    bytes: int

    def attributes(self, source: Sharding) -> Mapping[str, object]:
        """The sdy operation's attributes besides out_sharding, on a value with sharding `source`."""
        return ATTRIBUTES[self.kind](source, self.result)


def lost(before: Sharding, after: Sharding) -> tuple[Axes, ...]:
    """Per dimension the suffix of axes that `after` no longer has."""
    return gained(after, before)


def gained(before: Sharding, after: Sharding) -> tuple[Axes, ...]:
    """Per dimension the axes that `after` has beyond those of `before`."""
    return tuple(_beyond(b.axes, a.axes) for b, a in zip(before.dims, after.dims, strict=True))


def subtract(axes: Axes, gone: Axes) -> Axes:
    """`axes` without the parts that `gone` covers; both cover whole parts of one refinement."""
    left: list[Axis] = []
    for axis in axes:
        pieces = [axis]
        for other in gone:
            pieces = [piece for whole in pieces for piece in _minus(whole, other)]
        left += pieces
    return tuple(left)


def _beyond(short: Axes, long: Axes) -> Axes:
    """What follows the prefix `short` in `long`; nothing if it is no prefix."""
    rest = list(long)
    for axis in short:
        if not rest or not axis.is_prefix_of(rest[0]):
            return ()
        first = rest.pop(0)
        if first.size > axis.size:
            rest.insert(0, Axis(first.name, first.size // axis.size, axis.end))
    return tuple(rest)


def _minus(axis: Axis, other: Axis) -> list[Axis]:
    """The one or two parts of `axis` outside `other`."""
    if not axis.overlaps(other):
        return [axis]
    before = Axis(axis.name, other.pre // axis.pre, axis.pre) if other.pre > axis.pre else None
    after = Axis(axis.name, axis.end // other.end, other.end) if other.end < axis.end else None
    return [part for part in (before, after) if part]


def exchanged(before: Sharding, after: Sharding) -> tuple[tuple[Axes, int, int], ...]:
    """The (axes, from dimension, to dimension) of an all_to_all, by source, then in the order they arrive."""
    sources = [(axis, dim) for dim, axes in enumerate(lost(before, after)) for axis in axes]
    params: list[tuple[Axes, int, int]] = []
    for target, axes in enumerate(gained(before, after)):
        for axis in axes:
            for other, source in sources:
                part = _common(axis, other)
                if part is None:
                    continue
                if params and params[-1][1:] == (source, target):
                    params[-1] = (merge((*params[-1][0], part)), source, target)
                else:
                    params.append(((part,), source, target))
    return tuple(sorted(params, key=lambda param: param[1]))


def _common(a: Axis, b: Axis) -> Axis | None:
    """The part that both have."""
    if not a.overlaps(b) and a != b:
        return None
    pre, end = max(a.pre, b.pre), min(a.end, b.end)
    return Axis(a.name, end // pre, pre)


ATTRIBUTES: dict[str, Callable[[Sharding, Sharding], Mapping[str, object]]] = {
    "all_gather": lambda before, after: {"gathering_axes": lost(before, after)},
    "all_slice": lambda before, after: {"slicing_axes": gained(before, after)},
    "all_to_all": lambda before, after: {"params": exchanged(before, after)},
    "collective_permute": lambda before, after: {},
    "all_reduce": lambda before, after: {"reduction_axes": subtract(before.unreduced, after.unreduced)},
    "reduce_scatter": lambda before, after: {"reduce_scatter_axes": gained(before, after)},
    "replicated_to_unreduced": lambda before, after: {"axes": subtract(after.unreduced, before.unreduced)},
    "sharded_to_unreduced": lambda before, after: {"axes": lost(before, after)},
}
