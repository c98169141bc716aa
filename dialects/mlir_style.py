"""Printing a module as MLIR's own tools do, line by line: what FileCheck lines written for those expect.

Values are numbered, whatever the source called them: `%0`, `%1:2`, `%arg0`, `%cst`; `module` and `return`
stand without their dialect; there are no locations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import cast

from xdsl.dialects.builtin import ComplexType, IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.printer import Printer

from shardc.dialects.dense import DenseAttr
from shardc.dialects.stablehlo.control_flow import WhileOp
from shardc.dialects.text import ModulePrinter


def print_as_mlir(module: ModuleOp) -> str:
    """The text of a module as mlir-opt would print it."""
    stream = StringIO()
    _MLIRPrinter(stream, names=name_values(module)).print_op(module)
    return stream.getvalue() + "\n"


@dataclass(frozen=True, slots=True)
class _Scope:
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
            special = _result_name(op)
            if special:
                self._names[op.results[0]] = self._unique(special)
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


def _result_name(op: Operation) -> str:
    if op.name not in ("stablehlo.constant", "chlo.constant"):
        return ""
    element = getattr(op.results[0].type, "element_type", None)
    return "c" if isinstance(element, IntegerType) else "cst"


@dataclass(eq=False, repr=False)
class _MLIRPrinter(ModulePrinter):
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self._ssa_values.get(value) or self.names.get(value) or super().print_ssa_value(value)
        self.print_string(f"%{name}")
        return name

    def _print_results(self, op: Operation) -> None:
        if op.results:
            name = self.names[op.results[0]].partition("#")[0]
            count = f":{len(op.results)}" if len(op.results) > 1 else ""
            self.print_string(f"%{name}{count} = ")

    def print_op(self, op: Operation) -> None:
        special = _OPS.get(op.name)
        if special is None:
            super().print_op(op)
        else:
            self._print_results(op)
            special(self, op)

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, DenseAttr) and _is_float_splat(attribute):
            self.print_string("dense<")
            value, element = attribute.data.value.data.reshape(-1)[0], attribute.data.type.element_type
            self.print_float(float(value), element)  # pyright: ignore[reportArgumentType]
            self.print_string("> : ")
            self.print_attribute(attribute.data.type)
        else:
            super().print_attribute(attribute)


def _is_float_splat(attribute: DenseAttr) -> bool:
    element = attribute.data.type.element_type
    whole = isinstance(element, (IntegerType, ComplexType))
    return attribute.data.value.is_splat and not whole


def _module(printer: Printer, op: Operation) -> None:
    module = cast(ModuleOp, op)
    printer.print_string("module")
    if module.sym_name is not None:
        printer.print_string(f" @{module.sym_name.data}")
    printer.print_op_attributes(module.attributes, print_keyword=True)
    printer.print_string(" ")
    printer.print_region(module.body, print_entry_block_args=False, print_empty_block=False)


def _call(printer: Printer, op: Operation) -> None:
    """The dialect goes without saying right in a function only."""
    printer.print_string("call " if isinstance(op.parent_op(), FuncOp) else "func.call ")
    printer.print_attribute(op.properties["callee"])
    with printer.in_parens():
        printer.print_list(op.operands, printer.print_ssa_value)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_function_type(op.operand_types, op.result_types)


def _return(printer: Printer, op: Operation) -> None:
    printer.print_string("return")
    if op.operands:
        _listed(printer, " ", op.operands, printer.print_ssa_value)
        _listed(printer, " : ", op.operand_types, printer.print_attribute)


def _listed(
    printer: Printer,
    before: str,
    items: Sequence[SSAValue] | Sequence[Attribute],
    show: Callable[..., object],
) -> None:
    printer.print_string(before)
    printer.print_list(items, show)


def _while(printer: Printer, op: Operation) -> None:
    """As the operation prints itself, but with the conditions on lines of their own."""
    loop = cast(WhileOp, op)
    args = loop.cond.block.args
    printer.print_string("stablehlo.while")
    with printer.in_parens():
        for number, (arg, operand) in enumerate(zip(args, op.operands, strict=True)):
            printer.print_string(", " if number else "")
            printer.print_ssa_value(arg)
            printer.print_string(" = ")
            printer.print_ssa_value(operand)
    if args:
        _listed(printer, " : ", op.operand_types, printer.print_attribute)
    printer.print_op_attributes(op.attributes, print_keyword=True)
    printer._print_new_line()  # pyright: ignore[reportPrivateUsage]
    printer.print_string("cond ")
    printer.print_region(loop.cond, print_entry_block_args=False, print_empty_block=False)
    printer.print_string(" do ")
    names = printer._ssa_values  # pyright: ignore[reportPrivateUsage]
    for cond, body in zip(args, loop.body.block.args, strict=True):
        names[body] = cast(_MLIRPrinter, printer).names[cond]
    printer.print_region(loop.body, print_entry_block_args=False, print_empty_block=False)


_OPS: dict[str, Callable[[Printer, Operation], None]] = {
    "builtin.module": _module,
    "func.call": _call,
    "func.return": _return,
    "stablehlo.while": _while,
}
