"""Calls that stay calls: of functions with a derivative of their own, and of those computed again."""

from __future__ import annotations

from typing import Any

from shardc.gradients.backward import Backward
from shardc.gradients.cotangents import zeros
from shardc.gradients.forward import Forward
from shardc.gradients.inlining import Inliner
from shardc.gradients.program import Custom, Plan, Program
from shardc.gradients.values import Values
from shardc.graph import Node
from shardc.ops import hlo


def forward(run: Forward, node: Node, known: dict[int, Any]) -> bool:
    """The forward function of a custom derivative, which gives residuals too."""
    program = run.program
    custom = program.customs.get(str(node.attrs["callee"]))
    if custom is None or not any(r in program.active for r in node.results):
        return False
    plan = plan_of(program, node, custom)
    region = Inliner(program.graph, ()).copy(custom.forward)
    inner = dict(zip(region.args, (known[v] for v in node.operands), strict=True))
    results = run.region(region, inner)
    known.update(zip((*node.results, *plan.stored[0]), results, strict=True))
    return True


def plan_of(program: Program, node: Node, custom: Custom) -> Plan:
    """The residuals."""
    if node.id not in program.plans:
        residuals = custom.forward.results[custom.results :]
        stored = tuple(program.new_value(v, program.graph.type(v)) for v in residuals)
        for value in stored:
            program.home[value] = program.home[node.results[0]]
            program.store_like(value, (*node.operands, *node.results))
        program.plans[node.id] = Plan((residuals,), (stored,))
    return program.plans[node.id]


def backward(run: Backward, node: Node) -> None:
    """The backward function of a custom derivative, or the function again and then backwards."""
    program, writer = run.program, run.writer
    custom = program.customs.get(str(node.attrs["callee"]))
    cts = [run.cotangents.take(r) for r in node.results]
    if custom is None:
        _again(run, node, cts)
        return
    plan = plan_of(program, node, custom)
    full = [zeros(writer, program, r) if ct is None else ct for r, ct in zip(node.results, cts, strict=True)]
    region = Inliner(program.graph, ()).copy(custom.backward)
    args = [*(run.values[v] for v in plan.stored[0]), *full]
    results = Forward(program, writer, {}).region(region, dict(zip(region.args, args, strict=True)))
    for operand, at in zip(node.operands, custom.args, strict=True):
        if at is not None and operand in program.active:
            run.cotangents.add(operand, results[at])


def _again(run: Backward, node: Node, cts: list[Any]) -> None:
    """Nothing was stored: behind a barrier, the function once more."""
    program, writer = run.program, run.writer
    inner = program.region_of(node)
    wanted = [i for i, v in enumerate(node.operands) if v in program.active]
    inner.activate([inner.region.args[i] for i in wanted])
    inner.backward, inner.forward = program.backward, program.forward
    operands = [run.values[v] for v in node.operands]
    present = [ct for ct in cts if ct is not None]
    held = writer.op(
        hlo.optimization_barrier.name,
        *operands,
        *present,
        results=[writer.type_of(v) for v in (*operands, *present)],
    )
    rest = iter(held[len(operands) :])
    fresh = [None if ct is None else next(rest) for ct in cts]
    known = dict(zip(inner.region.args, held, strict=False))
    Forward(inner, writer, program.forward).region(inner.region, known)
    values = Values(inner, writer, inner.region, known)
    back = Backward(inner, writer, values, inner.backward)
    back.seed(inner.region.results, fresh, [program.over(r) for r in node.results])
    back.region(inner.region)
    for i in wanted:
        ct, pending = back.cotangents.take_common(inner.region.args[i])
        if ct is not None:
            run.cotangents.add(node.operands[i], ct, pending)
