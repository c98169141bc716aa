"""Which operations of a module that JAX lowered are of a backward pass.

JAX says so in their names, but not inside the functions that they call, nor in per-device code.
"""

from __future__ import annotations

from collections import defaultdict

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from shardc.dialects.locations import location_of
from shardc.dialects.nested import nested
from shardc.frontend.backward import is_backward
from shardc.graph.marks import BACKWARD
from shardc.ops import hlo, sdy


def backward_pass(module: ModuleOp) -> set[Operation]:
    """The operations of the backward pass."""
    names = {
        op.sym_name.data: [(inner, location_of(inner.location).name or "") for inner in nested([op])]
        for op in module.body.block.ops
        if isinstance(op, FuncOp)
    }
    inside: set[str] = set()
    while True:
        found = {op for f, ops in names.items() for op, name in ops if is_backward(name, f in inside)}
        found |= {op for f in found if f.name == sdy.manual_computation.name for op in _in_body(f)}
        calls: dict[str, list[bool]] = defaultdict(list)
        for ops in names.values():
            for op, _ in ops:
                if isinstance(op, CallOp):
                    calls[op.callee.string_value()].append(op in found)
        known = {name for name, backward in calls.items() if all(backward)}
        if known == inside:
            return found
        inside = known


def _in_body(manual: Operation) -> list[Operation]:
    """The operations of per-device code of the backward pass that are of it."""
    return [op for op in nested([manual]) if is_backward(location_of(op.location).name or "", True)]


def mark_reductions(backward: set[Operation]) -> None:
    """Say of reductions over devices that they are of the backward pass: a psum's derivative is one."""
    for op in backward:
        if op.name in _REDUCTIONS:
            op.attributes[BACKWARD] = UnitAttr()


_REDUCTIONS = {hlo.all_reduce.name, hlo.reduce_scatter.name}
