"""The names that MLIR's own tools give to values: `%0`, `%1:2`, `%arg0`, `%cst`, `%values, %indices`."""

from __future__ import annotations

from msgspec import Struct
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from shardc.dialects.stablehlo.control_flow import WhileOp
from shardc.ops import chlo, hlo

RESULT_NAMES = {
    chlo.top_k.name: ("values", "indices"),
    hlo.batch_norm_grad.name: ("grad_operand", "grad_scale", "grad_offset"),
    hlo.batch_norm_training.name: ("output", "batch_mean", "batch_var"),
    hlo.rng_bit_generator.name: ("output_state", "output"),
}
"""Operations whose results have names of their own."""


class _Scope(Struct, frozen=True):
    """What names are taken where a region begins, and the numbers that come next."""

    used: frozenset[str] = frozenset()
    value: int = 0
    argument: int = 0
    conflict: int = 0


def name_values(module: ModuleOp) -> dict[SSAValue, str]:
    """MLIR's names: a region's own values are numbered before those of the regions in it."""
    names: dict[SSAValue, str] = {}
    waiting: list[tuple[Region, _Scope]] = [(region, _Scope()) for region in module.regions]
    while waiting:
        region, scope = waiting.pop()
        numbering = _Numbering(scope, names)
        for block in region.blocks:
            numbering.block(block)
        inner = numbering.scope()
        for block in region.blocks:
            for op in block.ops:
                own = _Scope() if isinstance(op, FuncOp) else inner
                waiting.extend((nested, own) for nested in op.regions)
    return names


class _Numbering:
    """Names the values of one region."""

    def __init__(self, scope: _Scope, names: dict[SSAValue, str]) -> None:
        self._names = names
        self._used = set(scope.used)
        self._value, self._argument, self._conflict = scope.value, scope.argument, scope.conflict

    def scope(self) -> _Scope:
        """Where a region inside this one begins."""
        return _Scope(frozenset(self._used), self._value, self._argument, self._conflict)

    def block(self, block: Block) -> None:
        carried = isinstance(block.parent_op(), WhileOp)
        for arg in block.args:
            name = "iterArg" if carried else f"arg{self._argument}"
            self._argument += not carried
            self._names[arg] = self._unique(name)
        for op in block.ops:
            special = _result_names(op)
            if special:
                for result, name in zip(op.results, special, strict=True):
                    self._names[result] = self._unique(name)
            elif op.results:
                for number, result in enumerate(op.results):
                    part = f"#{number}" if len(op.results) > 1 else ""
                    self._names[result] = f"{self._value}{part}"
                self._value += 1

    def _unique(self, name: str) -> str:
        found = name
        while found in self._used:
            found = f"{name}_{self._conflict}"
            self._conflict += 1
        self._used.add(found)
        return found


def _result_names(op: Operation) -> tuple[str, ...]:
    if op.name not in (hlo.constant.name, "chlo.constant"):
        return RESULT_NAMES.get(op.name, ())
    element = getattr(op.results[0].type, "element_type", None)
    return ("c",) if isinstance(element, IntegerType) else ("cst",)
