"""Which values the forward pass computes with itself; others are computed for the backward pass alone.

h = jnp.tanh(h)          # line 5 of model.py, in a scan

    %1 = stablehlo.tanh %h            // carried to the next turn
    %2 = stablehlo.subtract %one, %1  // of the same line: put on a stack that the backward pass takes
    stablehlo.return %1, %stack
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from shardc.dialects.nested import nested
from shardc.ops import hlo

_HANDED_ON = frozenset((hlo.broadcast_in_dim.name, hlo.dynamic_update_slice.name, hlo.reshape.name))
"""What only puts a value on a stack, as far as can be seen."""

_Seen = tuple[SSAValue, tuple[CallOp, ...]]
"""A value in a function, and the calls that lead there, the innermost last."""


class ForwardPass:
    """The operations of a module that are not of its backward pass."""

    def __init__(self, module: ModuleOp, backward: Container[Operation]) -> None:
        self._backward = backward
        self._functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
        self._calls: dict[str, list[CallOp]] = defaultdict(list)
        for op in nested([module]):
            if isinstance(op, CallOp):
                self._calls[op.callee.string_value()].append(op)

    def computes_with(self, value: SSAValue) -> bool:
        """Whether an operation does more with a value than to hand it on, or the module returns it."""
        todo: list[_Seen] = [(value, ())]
        seen = set(todo)
        while todo:
            value, calls = todo.pop()
            for use in value.uses:
                if use.operation in self._backward:
                    continue
                becomes = self._becomes(use.operation, use.index, calls)
                if becomes is None:
                    return True
                todo += [one for one in becomes if one not in seen]
                seen.update(becomes)
        return False

    def _becomes(self, op: Operation, index: int, calls: tuple[CallOp, ...]) -> list[_Seen] | None:
        """What an operand is after an operation that hands it on; None where one computes with it."""
        if op.has_trait(IsTerminator):
            return self._yielded(op, index, calls)
        if isinstance(op, CallOp):
            function = self._functions.get(op.callee.string_value())
            known = function is not None and function.body.blocks and op not in calls
            return [(function.body.block.args[index], (*calls, op))] if function and known else None
        if op.name == hlo.while_.name:
            return [(value, calls) for value in _carried(op, index)]
        return [(value, calls) for value in op.results] if op.name in _HANDED_ON else None

    def _yielded(self, op: Operation, index: int, calls: tuple[CallOp, ...]) -> list[_Seen] | None:
        around = op.parent_op()
        if isinstance(around, FuncOp):
            callers = calls[-1:] or self._calls[around.sym_name.data]
            return [(call.results[index], calls[:-1]) for call in callers] or None
        if around is None or around.name != hlo.while_.name or op.parent_region() is around.regions[0]:
            return None
        return [(value, calls) for value in _carried(around, index)]


def _carried(loop: Operation, index: int) -> list[SSAValue]:
    return [*(region.block.args[index] for region in loop.regions), loop.results[index]]
