"""Which operations of a module that JAX lowered are of a backward pass.

JAX says so in their names, but not inside the functions that they call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from shardc.dialects.locations import location_of
from shardc.frontend.backward import is_backward


def backward_pass(module: ModuleOp) -> set[Operation]:
    """The operations of the backward pass."""
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    inside: set[str] = set()
    while True:
        found = {op for f in functions for op in _backward(f.walk(), f.sym_name.data in inside)}
        calls: dict[str, list[bool]] = defaultdict(list)
        for function in functions:
            for op in function.walk():
                if isinstance(op, CallOp):
                    calls[op.callee.string_value()].append(op in found)
        known = {name for name, backward in calls.items() if all(backward)}
        if known == inside:
            return found
        inside = known


def _backward(ops: Iterable[Operation], inside: bool) -> Iterable[Operation]:
    return (op for op in ops if is_backward(location_of(op.location).name or "", inside))
