"""Modelled time of a plan, and the operations that it divides less than annotations make them.

An operation that runs on fewer parts than propagation's layouts give it repeats work. A plan has such an
operation only where communication would cost more; then somebody says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import cast

from msgspec import Struct

from shardc.analysis.text import title
from shardc.diagnostics import warn
from shardc.graph.marks import TIMES
from shardc.planning.machines import load
from shardc.planning.program.costs.rates import FEMTO, Rates
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.setup import count_work
from shardc.planning.program.problem.variables import Variable

PRICED = "balanced"  # the machine that says what work costs, where it is free
LONG = 10**9  # femtoseconds of repeated work that are worth a warning: less is the time of toy sizes


class PlanTime(Struct, frozen=True):
    """Modelled femtoseconds on a machine, nothing overlapped: `work_fs` as evenly shared out as can be,
    communication, and work of a nanosecond or longer beyond that share. No plan takes fewer than `least_fs`
    for the last two; None where that is not known. Of the last `apart_fs` are no work done twice: each device
    holds a partial sum of its own, or needs all of the weights for its rows."""

    machine: str
    work_fs: int
    communication_fs: int
    repeated_fs: int
    least_fs: int | None = None
    apart_fs: int = 0

    @property
    def twice_fs(self) -> int:
        """Of work that several devices do."""
        return self.repeated_fs - self.apart_fs

    @property
    def total_fs(self) -> int:
        return self.work_fs + self.communication_fs + self.repeated_fs


class Repeated(Struct, frozen=True):
    """An operation that runs in fewer `parts` than it could; the femtoseconds that it repeats in a run."""

    variable: Variable
    parts: int | Fraction
    could: int | Fraction
    repeated_fs: int


class LessDivided(Struct, frozen=True):
    """Operations that annotations divide further, those that repeat most first; the femtoseconds on `machine`
    that dividing them as annotations do would take more. `weighed`: the plan was made for that machine."""

    machine: str
    operations: tuple[Repeated, ...]
    saved_fs: int
    weighed: bool

    @property
    def repeated_fs(self) -> int:
        return sum(operation.repeated_fs for operation in self.operations)


def time_of(problem: Problem) -> PlanTime | None:
    """The plan's time; None on a machine whose work is free."""
    rates = problem.rates
    if rates.free:
        return None
    counted = [(v, v.work) for v in problem.variables if v.work is not None]
    repeated = sum(v.trips * rates.repeated(work, v.choice) for v, work in counted)
    work = sum(v.trips * rates.alone(work, v.choice) for v, work in counted)
    ticks, apart = problem.total()[0], problem.total()[5]
    return PlanTime(rates.machine.name, work - repeated, ticks - repeated, repeated, apart_fs=apart)


def without_latency(problem: Problem) -> int:
    """Femtoseconds of the plan on a machine with latency if no collective had any: about what is left of it,
    however many become one."""
    rates = problem.rates.without_latency()
    took = sum(v.trips * rates.form(v.choice) for v in problem.variables)
    took += sum(v.trips * rates.alone(v.work, v.choice) for v in problem.variables if v.work is not None)
    for value in problem.values:
        needs = problem.needs(value)
        if needs:
            type, phase = problem.graph.type(value), problem.context(value).phase
            sent = [rates.sent(type, copy, phase) for copy in problem.copies(value, needs)]
            took += problem.trips(value) * sum(sent)
    return took


def less_divided(problem: Problem) -> LessDivided | None:
    """What the plan repeats of the work that annotations divide; None if nothing.

    Where work is free: what is repeated for long on PRICED.
    """
    if not problem.rates.free:
        return _less_divided(problem, weighed=True)
    there = problem.changed(rates=Rates(load(PRICED), problem.mesh))
    count_work(there)
    found = _less_divided(there, weighed=False)
    for variable in problem.variables:
        variable.work = None
    return found if found is not None and found.repeated_fs >= LONG else None


def _less_divided(problem: Problem, weighed: bool) -> LessDivided | None:
    found = sorted(_found(problem), key=lambda each: (-each.repeated_fs, each.variable.node.id))
    if not found:
        return None
    changed, kept = [each.variable for each in found], [each.variable.choice for each in found]
    now = problem.cost(changed)[0]
    for variable in changed:
        variable.choice = variable.stated or variable.choice
    saved = problem.cost(changed)[0] - now
    for variable, choice in zip(changed, kept, strict=True):
        variable.choice = choice
    return LessDivided(problem.rates.machine.name, tuple(found), saved, weighed)


def _found(problem: Problem) -> Iterator[Repeated]:
    """The operations, and what each repeats."""
    for variable in problem.variables:
        work, stated, choice = variable.work, variable.stated, variable.choice
        if work is None or stated is None or stated.parts <= choice.parts:
            continue
        if work.only_reads:
            continue
        more = problem.rates.repeated(work, choice) - problem.rates.repeated(work, stated)
        if more > 0:
            yield Repeated(variable, choice.parts, stated.parts, variable.trips * more)


def warn_of_repeated_work(problem: Problem) -> None:
    """Say which work devices repeat although annotations divide it, if it takes long."""
    found = less_divided(problem)
    if found is None or found.repeated_fs < LONG:
        return
    worst, nodes = found.operations[0], [each.variable.node for each in found.operations]
    count = sum(cast("int", node.attrs.get(TIMES, 1)) for node in nodes)
    others = f" and {count - 1} more operations" if count > 1 else ""
    repeated = f"devices repeat {seconds_text(found.repeated_fs)} of work"
    could = f"{title(worst.variable.node)}{others} could run in {worst.could} parts"
    loc = worst.variable.node.loc
    if found.weighed:
        divided = f"dividing it would take {seconds_text(found.saved_fs)} more"
        message = f"{could} and run in {worst.parts}: {repeated} on {found.machine}, and {divided}"
        warn(message, loc, "on larger sizes it is divided")
    else:
        message = (
            f"{could} and run in {worst.parts}, since that sends fewer bytes: on {found.machine} {repeated}"
        )
        warn(message, loc, f"--machine {found.machine} weighs work against bytes")


def seconds_text(femtoseconds: int) -> str:
    """A time in the unit that fits: 12 us."""
    for unit, size in (("s", FEMTO), ("ms", 10**12), ("us", 10**9), ("ns", 10**6)):
        if abs(femtoseconds) >= size:
            return f"{femtoseconds / size:.3g} {unit}"
    return f"{femtoseconds / 10**6:.2g} ns"
