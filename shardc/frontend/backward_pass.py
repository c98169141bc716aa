"""Which operations of a module that JAX lowered are of a backward pass.

JAX says so in their names, but not inside the functions that they call.
"""

from __future__ import annotations

from collections import defaultdict

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from shardc.dialects.locations import location_of
from shardc.dialects.nested import nested
from shardc.frontend.backward import is_backward


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
        calls: dict[str, list[bool]] = defaultdict(list)
        for ops in names.values():
            for op, _ in ops:
                if isinstance(op, CallOp):
                    calls[op.callee.string_value()].append(op in found)
        known = {name for name, backward in calls.items() if all(backward)}
        if known == inside:
            return found
        inside = known
