"""Which change of one annotation would remove a collective: found by trying, so what is said is true.

A trial drops an axis of the collective from an annotation, moves it to another dimension, adds it, or accepts
a result as partial; the program is compiled with it. A collective is gone if the line that it came from has
none of its kind over its axes, and the whole program sends less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from shardc.analysis.text import sharded_text
from shardc.graph import TensorType
from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.report.cost import Cost
from shardc.report.traffic import Collective, Removal
from shardc.report.tries import Tries

MOST = 3
"""Removals that are kept for a collective."""


class Annotation(Protocol):
    """What a program states, or leaves open, about one tensor (dialects.annotations)."""

    @property
    def kind(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def type(self) -> TensorType: ...
    @property
    def sharding(self) -> Sharding | None: ...
    @property
    def line(self) -> int: ...


class Trial(Struct, frozen=True):
    """Another sharding for one of the annotations, by number."""

    annotation: int
    sharding: Sharding


Price = Callable[[Trial], Cost | None]
"""What the program costs with a change; None if it is wrong then."""


def with_removals(
    cost: Cost, mesh: Mesh, annotations: Sequence[Annotation], price: Price, tries: Tries
) -> Cost:
    """The cost, its collectives with what would remove them, after as many compilations as `tries` allows.

    Collectives that send most come first. Where trials ran out before one helped, `removals` is None.
    """
    prices: dict[Trial, Cost | None] = {}
    found: dict[Collective, list[tuple[Trial, Cost]]] = {}
    open: set[Collective] = set()
    for collective in sorted(cost.collectives, key=lambda c: -c.total):
        if collective.from_source:
            continue
        for trial in _trials(collective, mesh, annotations):
            if trial not in prices:
                if not tries.more():
                    open.add(collective)
                    break
                with tries.one():
                    prices[trial] = price(trial)
                if trial not in prices:  # it takes more than was left
                    open.add(collective)
                    break
    for trial, then in prices.items():
        for collective in cost.collectives:
            if then is not None and then.bytes < cost.bytes and _gone(collective, then):
                found.setdefault(collective, []).append((trial, then))
    return replace(
        cost,
        collectives=tuple(
            collective
            if collective.from_source or (collective in open and collective not in found)
            else replace(collective, removals=_best(found.get(collective, []), annotations))
            for collective in cost.collectives
        ),
    )


def _best(found: list[tuple[Trial, Cost]], annotations: Sequence[Annotation]) -> tuple[Removal, ...]:
    """Those with the least work, then the fewest bytes, then the least memory."""
    removals = [
        Removal(
            annotations[trial.annotation].title,
            written(annotations[trial.annotation].type, trial.sharding),
            cost.bytes,
            cost.work.matmul,
            cost.memory.arguments,
        )
        for trial, cost in found
    ]
    removals.sort(key=lambda r: (r.matmul_flops, r.bytes, r.argument_bytes, r.what, r.annotation))
    return tuple(removals[:MOST])


def written(type: TensorType, sharding: Sharding) -> str:
    """The type as a .shard program writes it: f32[16@data, 64], f32[16, 64] replicated."""
    text = sharded_text(type, sharding)
    split = any(dim.axes for dim in sharding.dims) or sharding.unreduced
    return text if split or not type.rank else f"{text} replicated"


def _gone(collective: Collective, then: Cost) -> bool:
    return not any(
        other.op == collective.op
        and other.where == collective.where
        and any(mine.overlaps(axis) for mine in collective.over for axis in other.over)
        for other in then.collectives
    )


def _trials(collective: Collective, mesh: Mesh, annotations: Sequence[Annotation]) -> Iterator[Trial]:
    """The changes worth a try, the likeliest first."""
    line = int(collective.where.rpartition(":")[2] or 0) if ":" in collective.where else 0
    ranked: list[tuple[tuple[int, int, int], Trial]] = []
    for number, annotation in enumerate(annotations):
        own = annotation.sharding
        if not annotation.type.rank or (own is not None and own.mesh != mesh):
            continue
        away = abs(annotation.line - line)
        for likely, sharding in _variations(annotation, mesh, collective):
            if sharding != own and not sharding.uneven(annotation.type.shape):
                ranked.append(((likely, away, number), Trial(number, sharding)))
    ranked.sort(key=lambda entry: entry[0])
    return (trial for _, trial in ranked)


def _variations(annotation: Annotation, mesh: Mesh, collective: Collective) -> Iterator[tuple[int, Sharding]]:
    """(0 for the likeliest, …; sharding)"""
    given = annotation.sharding or Sharding(mesh, (Dim(),) * annotation.type.rank)
    own = [dim.axes for dim in given.dims]
    for axis in collective.over:
        holders = [d for d, axes in enumerate(own) if axis in axes]
        without = [tuple(a for a in axes if a != axis) for axes in own]
        if not holders and any(a.overlaps(axis) for axes in own for a in axes):
            continue
        reduces = collective.kind is not None
        if annotation.kind == "result" and reduces and axis not in given.unreduced:
            partial = (*given.unreduced, axis)
            if not given.unreduced or given.kind == collective.kind:
                yield 0, _sharding(mesh, without, partial, collective.kind or "sum")
        if holders and any(own):
            yield 0, _sharding(mesh, without, given.unreduced, given.kind)
        for dim in range(len(own)):
            if dim not in holders and axis not in given.unreduced:
                moved = [(*axes, axis) if d == dim else axes for d, axes in enumerate(without)]
                yield (
                    1 if holders or annotation.kind == "result" else 2,
                    _sharding(mesh, moved, given.unreduced, given.kind),
                )


def _sharding(mesh: Mesh, dims: Sequence[tuple[Axis, ...]], partial: tuple[Axis, ...], kind: str) -> Sharding:
    """Closed, as a type with an annotation is; one that only says what is partial leaves dimensions open."""
    open = bool(partial) and not any(dims)
    return Sharding(mesh, tuple(Dim(axes, open) for axes in dims), unreduced=partial, kind=kind)
