"""What is told of a program, as plain data in the terms of its source: names, lines, dimensions."""

from __future__ import annotations

from msgspec import Struct

from shardc.planning.program import PlanTime


class OriginStep(Struct, frozen=True):
    """An axis went through `operation` (at `where`) along `factor`, from tensor `source`."""

    operation: str
    where: str
    factor: str
    source: str


class Origin(Struct, frozen=True):
    """`axis` splits dimension `dim` because an annotation at `annotation` says so, of tensor `annotated`.

    `steps` lead from there to the tensor; none if the annotation is its own. `priority` is the annotation's.
    """

    axis: str
    dim: int
    annotation: str
    annotated: str
    priority: int
    steps: tuple[OriginStep, ...]


class Stopped(Struct, frozen=True):
    """`axis` could have come to dimension `dim` through `operation` from `source`, and did not.

    `reason` is one of propagation.stops.Reason, "no rule" or "priority"; `text` says it in full. `by` is the
    annotation that was in the way, if one was.
    """

    axis: str
    dim: int
    operation: str
    where: str
    source: str
    reason: str
    text: str
    by: str | None = None


class ValueReport(Struct, frozen=True):
    """One tensor. `sharding` is what propagation found, `layout` what the planner made of it, where known."""

    name: str
    type: str
    where: str
    bytes: int
    sharding: str
    layout: str | None
    origins: tuple[Origin, ...]
    stopped: tuple[Stopped, ...]


class PlanReport(Struct, frozen=True):
    """What a device sends under the plan: `bytes` in `collectives`, loops counted as often as they run.

    No plan sends fewer than `bound` bytes, by `method`; None where the program is too large to know. `left`
    says of results that propagation left whole how they are split, as an argument of their type is. `time`
    is of a plan for a machine that has work to do; then `bound` is None, and `time` has the least.
    """

    bytes: int
    collectives: int
    bound: int | None = None
    method: str | None = None
    left: tuple[str, ...] = ()
    time: PlanTime | None = None

    @property
    def gap(self) -> float | None:
        """By what part of its bytes the plan may be above the least."""
        if self.bound is None:
            return None
        return (self.bytes - self.bound) / self.bytes if self.bytes else 0.0


class Explanation(Struct, frozen=True):
    """Reports on the tensors asked for, or on all with something to tell: `conflicts` are the axes that
    another annotation kept away, `replicated` the tensors that are whole on every device, largest first, and
    `plan` what is sent, `links` which axes were put on which links, if that was looked for."""

    values: tuple[ValueReport, ...] = ()
    conflicts: tuple[Stopped, ...] = ()
    replicated: tuple[ValueReport, ...] = ()
    plan: PlanReport | None = None
    links: str | None = None
