"""Modelled time of a plan, and the operations that it divides less than annotations make them.

An operation that runs on fewer parts than propagation's layouts give it repeats work. A plan has such an
operation only where communication would cost more; then somebody says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from shardc.analysis.text import title
from shardc.diagnostics import warn
from shardc.planning.machines import load
from shardc.planning.program.problem import Problem, Variable
from shardc.planning.program.rates import FEMTO, Rates
from shardc.planning.program.setup import count_work

PRICED = "balanced"  # the machine that says what work costs, where it is free
LONG = 10**9  # femtoseconds of repeated work that are worth a warning then


@dataclass(frozen=True)
class PlanTime:
    """Modelled femtoseconds on a machine, nothing overlapped: `work_fs` as evenly shared out as can be,
    communication, and work that devices repeat. No plan takes fewer than `least_fs` for the last two; None
    where that is not known."""

    machine: str
    work_fs: int
    communication_fs: int
    repeated_fs: int
    least_fs: int | None = None

    @property
    def total_fs(self) -> int:
        return self.work_fs + self.communication_fs + self.repeated_fs


@dataclass(frozen=True)
class LessDivided:
    """Operations that annotations divide further: how many, the one that repeats most, femtoseconds that
    they all repeat in a run of the program, and that dividing them as annotations do would take more."""

    count: int
    worst: Variable
    repeated_fs: int
    saved_fs: int


def time_of(problem: Problem) -> PlanTime | None:
    """The plan's time; None on a machine whose work is free."""
    rates = problem.rates
    if rates.free:
        return None
    counted = [(v, v.work) for v in problem.variables if v.work is not None]
    repeated = sum(v.trips * rates.repeated(work, v.choice) for v, work in counted)
    share = sum(v.trips * rates.share(work) for v, work in counted)
    return PlanTime(rates.machine.name, share, problem.total()[0] - repeated, repeated)


def less_divided(problem: Problem) -> LessDivided | None:
    """What the plan repeats of the work that annotations divide; None if nothing."""
    found = dict(_found(problem))
    if not found:
        return None
    now, kept = problem.total()[0], {variable: variable.choice for variable in found}
    for variable in found:
        variable.choice = variable.stated or variable.choice
    saved = problem.total()[0] - now
    for variable, choice in kept.items():
        variable.choice = choice
    worst = max(found, key=lambda variable: (found[variable], -variable.node.id))
    return LessDivided(len(found), worst, sum(found.values()), saved)


def _found(problem: Problem) -> Iterator[tuple[Variable, int]]:
    """The operations, and what each repeats."""
    for variable in problem.variables:
        work, stated, choice = variable.work, variable.stated, variable.choice
        if work is None or stated is None or stated.parts <= choice.parts:
            continue
        more = problem.rates.repeated(work, choice) - problem.rates.repeated(work, stated)
        if more > 0:
            yield variable, variable.trips * more


def warn_of_repeated_work(problem: Problem) -> None:
    """Say which work devices repeat although annotations divide it."""
    if problem.rates.free:
        _warn_of_free_work(problem)
        return
    found = less_divided(problem)
    if found is None:
        return
    worst = found.worst
    others = f" and {found.count - 1} more operations" if found.count > 1 else ""
    assert worst.stated is not None
    warn(
        f"{title(worst.node)}{others} could run in {worst.stated.parts} parts and run in "
        f"{worst.choice.parts}: devices repeat {seconds_text(found.repeated_fs)} of work on "
        f"{problem.rates.machine.name}, and dividing it would take {seconds_text(found.saved_fs)} more",
        worst.node.loc,
        "on larger sizes it is divided",
    )


def _warn_of_free_work(problem: Problem) -> None:
    """Where work is free, say what is repeated for long on a machine where it is not."""
    there = replace(problem, rates=Rates(load(PRICED), problem.mesh))
    count_work(there)
    found = less_divided(there)
    if found is not None and found.repeated_fs >= LONG:
        worst = found.worst
        warn(
            f"{title(worst.node)} could run in {worst.stated.parts if worst.stated else 1} parts and runs in "
            f"{worst.choice.parts}, since that sends fewer bytes: on {PRICED} devices repeat "
            f"{seconds_text(found.repeated_fs)} of work",
            worst.node.loc,
            f"--machine {PRICED} weighs work against bytes",
        )
    for variable in problem.variables:
        variable.work = None


def seconds_text(femtoseconds: int) -> str:
    """A time in the unit that fits: 12 us."""
    for unit, size in (("s", FEMTO), ("ms", 10**12), ("us", 10**9), ("ns", 10**6)):
        if abs(femtoseconds) >= size:
            return f"{femtoseconds / size:.3g} {unit}"
    return f"{femtoseconds / 10**6:.2g} ns"
