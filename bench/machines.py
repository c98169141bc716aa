"""Modelled time of shardc's plan, of the plan with the fewest bytes, and of XLA's, on every machine.

    python -m bench.machines [--seconds 120] [--machine NAME]… [--keep FILE] [--output FILE] [PREFIX…]

Nanoseconds, one operation after the other, of what one device runs. The plan with the fewest bytes is that of
`--machine bytes`, its collectives combined and in stages on the machine as shardc's own; XLA's is read from
its partitioner (bench/xla_program.py) and priced by the same functions. A bound is on all plans that the
planner knows, before collectives are combined.

Figures are kept in a file, a line of JSON for each program and machine, and those that are there are not
measured again: a run stops after some CPU seconds, and the next one goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import Struct

from bench.page import publish
from bench.suites import SUITES, lowered, programs, texts
from bench.xla_program import partitioned, price
from bench.xla_text import FLAGS
from shardc.analysis import per_device
from shardc.cache import ANEW
from shardc.compilation import by_latency, by_pass
from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read
from shardc.graph import Graph
from shardc.layout import Mesh
from shardc.options import Options
from shardc.passes.pipeline import run_to
from shardc.planning.machines import load
from shardc.planning.program import Plan
from shardc.report.times import estimate
from shardc.report.traffic import collectives

KEPT = Path(__file__).parent / "results" / "machines.jsonl"
MACHINES = ("balanced", "h100-infiniband", "tpu-v4p", "tpu-v5e")

COLUMNS = (
    *("program", "shardc us", "fewest bytes us", "XLA us"),
    *("collectives", "of fewest", "of XLA", "gap", "CPU s"),
)


class Planned(Struct, frozen=True):
    """A program as shardc plans it for one machine and runs it on another."""

    total_ns: int
    collectives: int
    bound_ns: int | None
    planned_ns: int
    seconds: float


def planned(text: str, plan_for: str, machine: str) -> Planned:
    """Plan for a machine, price on another; a plan whose seconds nobody asks for may be one that is kept."""
    ANEW.set(plan_for == machine)
    options = Options(language="mlir", machine=machine)
    plans: list[Plan] = []
    started = time.process_time()
    with collecting():
        module = read(text, options)
        told = dict(by_latency(module, options) if plan_for == machine else by_pass(options))
        more = {} if plan_for == machine else {"machine": load(plan_for)}
        told["insert-reshards"] = {**told["insert-reshards"], **more, "told": plans.append}
        run_to(make_context(), module, "local", options=told)
    took = time.process_time() - started
    program = per_device.read(snapshot(module).graph)
    found = collectives(program)
    total = estimate(load(machine), program, found, 0).total_ns
    of, proof = plans[0].time, plans[0].proof()
    least = None if of is None or proof is None else (of.work_fs + proof.ticks) // 10**6
    count = sum(each.times for each in found)
    return Planned(total, count, least, of.total_fs // 10**6 if of else total, round(took, 2))


def figures(suite: Any, program: Any, machine: str, graphs: list[Graph]) -> dict[str, Any]:
    """A row; `error` in it where something could not be measured. `graphs` has XLA's, or gets it."""
    text = lowered(suite, program)
    try:
        own, fewest = (planned(text, name, machine) for name in (machine, "bytes"))
    except ShardcError as error:
        return {"error": str(error.diagnostic.message)}
    row = {
        "ns": own.total_ns,
        "collectives": own.collectives,
        "bound_ns": own.bound_ns,
        "planned_ns": own.planned_ns,
        "seconds": own.seconds,
        "fewest_ns": fewest.total_ns,
        "fewest_collectives": fewest.collectives,
    }
    try:
        graphs[:] = graphs or [partitioned(suite, program)]
        xla = price(graphs[0], Mesh("m", (*program.mesh.items(),)), load(machine))
        return {**row, "xla_ns": xla.total_ns, "xla_collectives": xla.collectives}
    except ShardcError as error:
        return {**row, "xla_error": str(error.diagnostic.message)}


def table(known: Mapping[tuple[str, str], dict[str, Any]]) -> Iterator[str]:
    """The page: a summary and a table for each machine."""
    for machine in dict.fromkeys(machine for _, machine in known):
        rows = {name: row for (name, where), row in known.items() if where == machine and "ns" in row}
        both = [row for row in rows.values() if "xla_ns" in row]
        below = sum(row["ns"] < row["xla_ns"] for row in both)
        above = [name for name, row in rows.items() if row["ns"] > row.get("xla_ns", row["ns"])]
        worse = sum(row["ns"] > row["fewest_ns"] for row in rows.values())
        yield f"## {machine}"
        yield ""
        which = f" ({', '.join(above)})" if above else ""
        yield (
            f"{len(rows)} programs. Against XLA's plan: {below} quicker, {len(above)} slower of {len(both)}"
            f"{which}. "
            f"Against the plan with the fewest bytes: {worse} slower."
        )
        yield ""
        yield f"| {' | '.join(COLUMNS)} |"
        yield f"| --- |{' ---: |' * (len(COLUMNS) - 1)}"
        for name, row in rows.items():
            bound, plan = row["bound_ns"], row["planned_ns"]
            gap = "–" if bound is None else f"{(plan - bound) / plan if plan else 0:.1%}"
            cells = (
                name,
                _us(row["ns"]),
                _us(row["fewest_ns"]),
                _us(row["xla_ns"]) if "xla_ns" in row else "–",
                row["collectives"],
                row["fewest_collectives"],
                row.get("xla_collectives", "–"),
                gap,
                row["seconds"],
            )
            yield f"| {' | '.join(map(str, cells))} |"
        yield ""


def _us(nanoseconds: int) -> str:
    return f"{nanoseconds / 1000:.3g}"


def kept(file: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """What is known of programs and machines."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    entries = [json.loads(line) for line in lines]
    return {(entry["program"], entry["machine"]): entry["figures"] for entry in entries}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prefixes", nargs="*", default=[""])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--machine", action="append", choices=MACHINES, help="default: all of them")
    parser.add_argument("--keep", type=Path, default=KEPT)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}"
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    known = kept(given.keep)
    order = {(name, machine): None for name, _ in texts() for machine in MACHINES}
    for name, suite, program in _smallest_first(tuple(given.prefixes)):
        graphs: list[Graph] = []  # XLA's, read once
        for machine in given.machine or MACHINES:
            if (name, machine) in known or time.process_time() > given.seconds:
                continue
            known[name, machine] = row = figures(suite, program, machine, graphs)
            entry = {"program": name, "machine": machine, "figures": row}
            with given.keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
    shown = {key: known[key] for key in order if key in known}
    publish("Modelled time on machines", __doc__, table(shown), given.output)


def _smallest_first(prefixes: tuple[str, ...]) -> list[tuple[str, ModuleType, Any]]:
    """Name, suite and program, by the length of their texts."""
    found = [
        (len(lowered(suite, program)), name, suite, program)
        for suite in map(import_module, SUITES)
        for name, program in programs(suite).items()
        if name.startswith(prefixes)
    ]
    return [(name, suite, program) for _, name, suite, program in sorted(found, key=lambda each: each[:2])]


if __name__ == "__main__":
    main()
