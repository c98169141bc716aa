"""A cost as text: for people, and as JSON.

The JSON has the fields of report.cost.Cost and what is in it, in their order: bytes, operations and
nanoseconds as integers. `schema` is 1; fields may be added under the same number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from msgspec import to_builtins

from shardc.analysis.text import readable
from shardc.report.cost import Cost
from shardc.report.repeated import RepeatedWork
from shardc.report.traffic import Collective, Removal

SCHEMA = 1
_INTERNAL = ("over", "pairs")
SHOWN = 4
"""Operations that repeat work, of those that the text names."""
COLUMNS = ("collective", "over", "operand", "sends", "times", "in all", "line")


def json_text(cost: Cost) -> str:
    """The cost as JSON."""
    data: dict[str, Any] = {"schema": SCHEMA, **to_builtins(cost)}
    data["axes"] = dict(cost.axes)
    data["work"]["matmul_by_dtype"] = dict(cost.work.matmul_by_dtype)
    for entry, collective in zip(data["collectives"], cost.collectives, strict=True):
        for key in _INTERNAL:
            del entry[key]
        entry["total"] = collective.total
    return json.dumps(data, indent=2) + "\n"


def text(cost: Cost) -> str:
    """The whole report, plain."""
    return "\n".join([*head(cost), *table(cost), *tail(cost)]) + "\n"


def head(cost: Cost) -> Iterator[str]:
    """On what, and how much is sent."""
    names = ", ".join(f"{name}={size}" for name, size in cost.axes)
    yield f"per device, of {cost.devices} ({names})" if cost.axes else "one device"
    count = sum(collective.times for collective in cost.collectives)
    plural = "" if count == 1 else "s"
    least = "at least " if cost.at_least else ""
    yield f"sends {least}{amount(cost.bytes)} in {count} collective{plural}"


def rows(cost: Cost) -> list[tuple[str, ...]]:
    """The cells of the table."""
    return [
        (
            title(entry),
            ", ".join(entry.axes) + f" ({entry.group})",
            entry.operand,
            amount(entry.bytes),
            f"{entry.times}{'+' if entry.at_least else ''}",
            amount(entry.total),
            entry.where,
            *((duration(cost.time.collectives[i].total_ns),) if cost.time else ()),
        )
        for i, entry in enumerate(cost.collectives)
    ]


def columns(cost: Cost) -> tuple[str, ...]:
    return (*COLUMNS, "time") if cost.time else COLUMNS


def table(cost: Cost) -> Iterator[str]:
    """The collectives, aligned, each with its reason and what would remove it."""
    if not cost.collectives:
        return
    shown = [columns(cost), *rows(cost)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(shown[0]))]
    lines = ["  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip() for row in shown]
    yield ""
    yield lines[0]
    for line, entry in zip(lines[1:], cost.collectives, strict=True):
        yield line
        yield from (f"    {note}" for note in notes(cost, entry))
    yield ""


def notes(cost: Cost, entry: Collective) -> Iterator[str]:
    """Why a collective is there, and what would remove it."""
    yield entry.reason
    if entry.from_source:
        return
    if entry.removals is None:
        yield "what would remove it was not looked for, or not found within --tries"
    elif not entry.removals:
        yield "no change of a single annotation removes it and sends less"
    else:
        yield from (f"gone with {removal_text(cost, removal)}" for removal in entry.removals)


def removal_text(cost: Cost, removal: Removal) -> str:
    """argument w2: f32[256, 64] replicated (then 0 B in all, matmuls x1.33)"""
    then = [f"{amount(removal.bytes)} sent"]
    if removal.matmul_flops != cost.work.matmul:
        then.append(f"{removal.matmul_flops} matmul FLOPs")
    if removal.argument_bytes != cost.memory.arguments:
        then.append(f"{amount(removal.argument_bytes)} of arguments")
    return f"{removal.what}: {removal.annotation} (then {', '.join(then)})"


def tail(cost: Cost) -> Iterator[str]:
    """Memory, work and time."""
    memory, work = cost.memory, cost.work
    where = f" in {memory.peak_where}" if memory.peak_where else ""
    yield f"memory: {amount(memory.arguments)} of arguments, {amount(memory.outputs)} of outputs,"
    yield f"        at most {amount(memory.peak)} at once{where}"
    least = "at least " if work.at_least else ""
    yield f"work:   {least}{work.matmul} FLOPs in matmuls, {work.all} operations in all"
    if cost.repeated is not None:
        yield from _repeated(cost.repeated)
    if cost.time is not None:
        time = cost.time
        sending, working = duration(time.communication_ns), duration(time.work_ns)
        both, hidden = duration(time.total_ns), duration(time.overlapped_ns)
        matmul = duration(time.matmul_ns)
        yield f"time:   {sending} in collectives, {working} in operations, {matmul} of it in matmuls;"
        yield f"        {both} one after the other, {hidden} overlapped"
        fits = "fits" if time.fits else "does not fit"
        yield f"        on {time.machine}: {fits} into {amount(time.memory)}"
        yield f"        numbers: {time.source}"
        yield f"        formulas: {time.formulas}"
    if cost.placement is not None:
        yield f"links:  {cost.placement.text}"


def _repeated(found: RepeatedWork) -> Iterator[str]:
    """The work that annotations divide and the plan does not."""
    rest = len(found.operations) - SHOWN
    more, hint = ("more", "") if found.saved_ns >= 0 else ("less", f" (--machine {found.machine})")
    yield f"repeated: {duration(found.repeated_ns)} of work on {found.machine} that annotations divide;"
    yield f"        dividing it takes {duration(abs(found.saved_ns))} {more} there{hint}"
    for each in found.operations[:SHOWN]:
        took = duration(each.repeated_ns)
        yield f"        {took} by {each.operation}, in {each.parts} of {each.could} parts"
    if rest > 0:
        yield f"        and {rest} more operations"


def title(entry: Collective) -> str:
    """all-reduce, all-reduce max"""
    return entry.op if entry.kind in (None, "sum") else f"{entry.op} {entry.kind}"


def amount(count: int) -> str:
    """6 KiB (6144): as in the written program, and exactly."""
    short = readable(count)
    return short if short == f"{count} B" else f"{short} ({count})"


def duration(nanoseconds: int) -> str:
    """377 us, 1.25 ms: three digits."""
    value = float(nanoseconds)
    for unit in ("ns", "us", "ms"):
        if value < 999.5:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} s" if value < 1000 else f"{value:.0f} s"
