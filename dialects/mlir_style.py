"""Printing a module as MLIR's own tools do, line by line: what FileCheck lines written for those expect.

Values are numbered, whatever the source called them: `%0`, `%1:2`, `%arg0`, `%cst`; `module` and `return`
stand without their dialect; there are no locations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.printer import Printer

from shardc.dialects.dense import DenseAttr, Literal
from shardc.dialects.float_text import float_text
from shardc.dialects.mlir_names import RESULT_NAMES, name_values
from shardc.dialects.stablehlo.control_flow import WhileOp
from shardc.dialects.stablehlo.reduce import ReduceOp, print_pairs, print_reduced
from shardc.dialects.text import ModulePrinter
from shardc.graph.attrs import Dense
from shardc.graph.types import DTYPES
from shardc.ops import func, hlo

_FLOATS = ("f16", "bf16", "f32")


def print_as_mlir(module: ModuleOp) -> str:
    """The text of a module as mlir-opt would print it."""
    stream = StringIO()
    _MLIRPrinter(stream, names=name_values(module)).print_op(module)
    return stream.getvalue() + "\n"


@dataclass(eq=False, repr=False)
class _MLIRPrinter(ModulePrinter):
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self._ssa_values.get(value) or self.names.get(value) or super().print_ssa_value(value)
        self.print_string(f"%{name}")
        return name

    def _print_results(self, op: Operation) -> None:
        if op.results:
            self.print_string(f"{self._result_list(op)} = ")

    def _result_list(self, op: Operation) -> str:
        if op.name in RESULT_NAMES:
            return ", ".join(f"%{self.names[result]}" for result in op.results)
        count = f":{len(op.results)}" if len(op.results) > 1 else ""
        return f"%{self.names[op.results[0]].partition('#')[0]}{count}"

    def print_op(self, op: Operation) -> None:
        special = _OPS.get(op.name)
        if special is None:
            super().print_op(op)
        else:
            self._print_results(op)
            special(self, op)

    def print_attr_dict(self, attr_dict: Mapping[str, Attribute]) -> None:
        super().print_attr_dict(dict(sorted(attr_dict.items())))

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, DictionaryAttr):
            self.print_attr_dict(attribute.data)
        elif isinstance(attribute, ArrayAttr):
            with self.in_square_brackets():
                self.print_list(cast("ArrayAttr[Attribute]", attribute).data, self._print_element)
        elif isinstance(attribute, FloatAttr):
            attribute.print_builtin(self)
        elif isinstance(attribute, DenseAttr):
            value, type = attribute.data.value, attribute.data.type
            super().print_attribute(DenseAttr(Literal(type, _as_splat(value))))
        else:
            super().print_attribute(attribute)

    def print_float(self, value: float, type: AnyFloat) -> None:
        name = str(type)
        _, dtype = DTYPES[name if name in _FLOATS else "f64"]
        self.print_string(float_text(dtype.type(value)))

    def _print_element(self, attribute: Attribute) -> None:
        """Without the type where it goes without saying."""
        if isinstance(attribute, IntegerAttr) and cast(Any, attribute).type == i64:
            self.print_string(str(attribute.value.data))
        elif isinstance(attribute, FloatAttr) and isinstance(cast(Any, attribute).type, Float64Type):
            attribute.print_without_type(self)
        else:
            self.print_attribute(cast(Attribute, attribute))


def _as_splat(value: Dense) -> Dense:
    """MLIR makes no difference between a list of equal elements and a splat."""
    first = value.data.reshape(-1)[:1]
    if not first.size or value.data.tobytes() != first.tobytes() * value.data.size:
        return value
    return Dense(first.reshape(()), value.shape)


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
    printer.print_string(hlo.while_.name)
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


def _reduce(printer: Printer, op: Operation) -> None:
    """As the operation prints itself, but with the reducer on a line of its own."""
    reduce = cast(ReduceOp, op)
    printer.print_string(hlo.reduce.name)
    if not print_reduced(printer, reduce):
        printer._print_new_line()  # pyright: ignore[reportPrivateUsage]
        printer.print_string(" reducer")
        print_pairs(printer, reduce.body)
        printer.print_string(" ")
        printer.print_region(reduce.body, print_entry_block_args=False, print_empty_block=False)


_OPS: dict[str, Callable[[Printer, Operation], None]] = {
    "builtin.module": _module,
    func.call.name: _call,
    func.return_.name: _return,
    hlo.reduce.name: _reduce,
    hlo.while_.name: _while,
}
