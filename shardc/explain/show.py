"""Explanations as text: a few lines about a tensor, or two tables about a program.

h: f32[16, 64] (prog.shard:5), split [data?, model?], planned as [data, model]
  data on dimension 0: from x (prog.shard:3), through dot_general (line 4, factor i) and tanh (line 5)
  no seq on dimension 1: dimension 1 is split by model, which w says at prog.shard:3 (dot_general, line 4)
"""

from __future__ import annotations

from collections.abc import Iterator

from shardc.explain.records import Explanation, Origin, OriginStep, PlanReport, Stopped, ValueReport
from shardc.planning.program import PlanTime, seconds_text

LONGEST = 20
"""Rows that a table shows; it says how many more there are."""


def value_text(report: ValueReport) -> str:
    """Everything about one tensor."""
    planned = "" if report.layout in (None, report.sharding) else f", planned as {report.layout}"
    lines = [f"{report.name}: {report.type} ({report.where}), split {report.sharding}{planned}"]
    lines += [f"  {origin_text(origin)}" for origin in report.origins]
    if not report.origins:
        lines.append("  no axis splits it" + ("" if report.stopped else ": nothing says how to split it"))
    lines += [f"  {stopped_text(stopped)}" for stopped in report.stopped]
    return "\n".join(lines)


def origin_text(origin: Origin) -> str:
    """Where an axis came from."""
    priority = f" with priority p{origin.priority}" if origin.priority else ""
    if not origin.steps:
        return f"{origin.axis} on dimension {origin.dim}: annotated at {origin.annotation}{priority}"
    way = ", ".join(map(_step_text, origin.steps))
    start = (
        f"{origin.axis} on dimension {origin.dim}: from {origin.annotated} ({origin.annotation}){priority}"
    )
    return f"{start}, through {way}"


def _step_text(step: OriginStep) -> str:
    line = step.where.rpartition(":")[2]
    where = f" (line {line}, factor {step.factor})" if step.factor and line.isdigit() else ""
    return f"{step.operation}{where}"


def stopped_text(stopped: Stopped) -> str:
    """What kept an axis away."""
    where = f" on dimension {stopped.dim}" if stopped.dim >= 0 else ""
    way = f"{stopped.operation} at {stopped.where}, from {stopped.source}"
    return f"no {stopped.axis}{where}: {stopped.text} ({way})"


def overview_text(explanation: Explanation) -> str:
    """The plan in a line, and both tables, plain."""
    lines = [*head_lines(explanation), ""]
    for title, header, rows in tables(explanation):
        lines.append(title)
        shown = [header, *rows[:LONGEST]]
        widths = [max(len(row[column]) for row in shown) for column in range(len(header))]
        for row in shown if rows else ():
            lines.append(
                "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            )
        if len(rows) > LONGEST:
            lines.append(f"  … and {len(rows) - LONGEST} more")
        lines.append("")
    return "\n".join(lines).strip() + "\n"


def head_lines(explanation: Explanation) -> list[str]:
    """The plan, and the links of axes."""
    plan = [plan_text(explanation.plan)] if explanation.plan else []
    return [*plan, *([f"links: {explanation.links}"] if explanation.links else [])]


def plan_text(plan: PlanReport) -> str:
    """What the plan sends, how far that may be from the least, and what it does to results."""
    return "\n".join([_sent_text(plan), *plan.left])


def _sent_text(plan: PlanReport) -> str:
    if plan.time is not None:
        return _time_text(plan, plan.time)
    if not plan.bytes:
        return "no bytes sent"
    sent = _bytes_text(plan)
    if plan.bound is None or plan.gap is None:
        return f"{sent}; the program is too large to say how few could do"
    if plan.bound == plan.bytes:
        return f"{sent}: no plan sends fewer ({plan.method})"
    return f"{sent}: no plan sends fewer than {plan.bound}, {plan.gap:.0%} less ({plan.method})"


def _bytes_text(plan: PlanReport) -> str:
    many = "" if plan.collectives == 1 else "s"
    return f"{plan.bytes} bytes sent per device in {plan.collectives} collective{many}"


def _time_text(plan: PlanReport, time: PlanTime) -> str:
    """The same for a machine whose work takes time."""
    sent = f"{_bytes_text(plan)}, {seconds_text(time.total_fs)} on {time.machine}"
    if time.least_fs is None:
        return f"{sent}; the program is too large to say how quick a plan could be"
    if time.least_fs >= time.communication_fs + time.repeated_fs:
        return f"{sent}: no plan is quicker ({plan.method})"
    least = time.work_fs + time.least_fs
    gap = (time.total_fs - least) / time.total_fs
    return f"{sent}: no plan is quicker than {seconds_text(least)}, {gap:.1%} less ({plan.method})"


Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]


def tables(explanation: Explanation) -> Iterator[Table]:
    """Title, header and rows of each table."""
    conflicts = [
        (stopped.where, stopped.operation, stopped.axis, stopped.source, stopped.text)
        for stopped in explanation.conflicts
    ]
    yield (
        "conflicts" if conflicts else "no conflicts",
        ("where", "operation", "axis", "of", "stopped because"),
        conflicts,
    )
    whole = [
        (report.name, report.type, _size(report.bytes), report.where, _why_whole(report))
        for report in explanation.replicated
    ]
    yield (
        "whole on every device" if whole else "no tensor is whole on every device",
        ("tensor", "type", "size", "where", "because"),
        whole,
    )


def _why_whole(report: ValueReport) -> str:
    return report.stopped[0].text if report.stopped else "nothing says how to split it"


def _size(count: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
