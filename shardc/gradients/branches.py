"""if and case, backwards: the branch that was taken. What a branch needs is stored, else zeros."""

from __future__ import annotations

from typing import Any

from shardc.gradients.backward import Backward
from shardc.gradients.cotangents import NONE, Pending, zeros
from shardc.gradients.forward import Forward
from shardc.gradients.program import Plan, Program
from shardc.gradients.recording import Recorder, Writer
from shardc.gradients.values import Values
from shardc.graph import Node, Region


def forward(run: Forward, node: Node, known: dict[int, Any]) -> bool:
    """The branches, each with what its backward pass needs."""
    program, writer = run.program, run.writer
    if not any(r in program.active for r in node.results):
        return False
    plan = plan_of(program, node)
    every = [value for values in plan.saved for value in values]

    def branch(index: int, region: Region) -> Any:
        def build(_: Any) -> list[Any]:
            inner = dict(known)
            results = run.region(region, inner)
            own = plan.saved[index]
            return [*results, *(inner[v] if v in own else zeros(writer, program, v) for v in every)]

        return (), build

    regions = [branch(i, region) for i, region in enumerate(node.regions)]
    types = program.graph.types(tuple(every))
    made = run.emit(node, [known[v] for v in node.operands], regions, known, types)
    known.update(zip((v for values in plan.stored for v in values), made, strict=True))
    return True


def plan_of(program: Program, node: Node) -> Plan:
    """What the branches need, and what they add cotangents to."""
    if node.id in program.plans:
        return program.plans[node.id]
    recorder = Recorder(program.graph)
    saved: list[tuple[int, ...]] = []
    given: dict[int, Pending] = {}
    outside = _Outside(program, recorder)
    for region in node.regions:
        needed: list[int] = []

        def lacking(value: int, needed: list[int] = needed) -> int:
            needed.append(value)
            return recorder.fresh(program.graph.type(value))

        values = Values(program, recorder, region, {}, outer=outside, lacking=lacking)
        seeds = [recorder.fresh(program.graph.type(r)) for r in node.results]
        back = _back(program, recorder, node, region, values, seeds)
        saved.append(tuple(needed))
        for value in _reached(program, region, back):
            given[value] = given.get(value, NONE) | back.cotangents.pending(value)
    stored: list[tuple[int, ...]] = []
    for values in saved:
        stored.append(tuple(program.new_value(v, program.graph.type(v)) for v in values))
        for value, own in zip(stored[-1], values, strict=True):
            program.home[value] = program.home[node.results[0]]
            program.store_like(value, [own, node.operands[0]])
    plan = Plan(tuple(saved), tuple(stored), tuple(sorted(outside.read)), dict(sorted(given.items())))
    program.plans[node.id] = plan
    return plan


def backward(run: Backward, node: Node) -> None:
    """The branches backwards: each gives the cotangents of all that some branch reads."""
    program, writer = run.program, run.writer
    plan = plan_of(program, node)
    seeds = [run.cotangents.take(r) for r in node.results]
    seeds = [
        zeros(writer, program, r) if ct is None else ct for r, ct in zip(node.results, seeds, strict=True)
    ]
    given = [*plan.given]
    for value in plan.passed:  # what the branches read is made outside of them
        _ = run.values[value]

    def branch(index: int, region: Region) -> Any:
        def build(_: Any) -> list[Any]:
            stored = {v: run.values[s] for v, s in zip(plan.saved[index], plan.stored[index], strict=True)}
            values = Values(program, writer, region, stored, outer=run.values)
            back = _back(program, writer, node, region, values, seeds)
            found = [back.cotangents.take_pending(v, plan.given[v]) for v in given]
            return [
                zeros(writer, program, v) if ct is None else ct for v, ct in zip(given, found, strict=True)
            ]

        return (), build

    types = program.graph.types(tuple(given))
    if not given:
        return
    regions = [branch(i, region) for i, region in enumerate(node.regions)]
    which = run.values[node.operands[0]]
    results = writer.op(node.name, which, results=types, regions=regions)
    for value, ct in zip(given, results, strict=True):
        run.cotangents.add(value, ct, plan.given[value])


def _back(
    program: Program, writer: Writer[Any], node: Node, region: Region, values: Values, seeds: list[Any]
) -> Backward:
    back = Backward(program, writer, values, program.backward)
    back.seed(region.results, seeds, [program.over(r) for r in node.results])
    back.region(region)
    return back


def _reached(program: Program, region: Region, back: Backward) -> list[int]:
    """The values outside of a branch that it gives cotangents to."""
    return [v for v in back.cotangents.waiting() if program.home.get(v) != id(region)]


class _Outside(Values):
    """Whatever a branch reads from outside."""

    def __init__(self, program: Program, writer: Recorder) -> None:
        super().__init__(program, writer, program.region, {})
        self.read: set[int] = set()

    def __getitem__(self, value: int) -> Any:
        self.read.add(value)
        if value not in self.known:
            self.known[value] = self.writer.fresh(self.program.graph.type(value))  # pyright: ignore
        return self.known[value]
