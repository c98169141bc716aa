"""Constants: their text is their value and its type."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, prop_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from shardc.dialects.base import PureOp
from shardc.dialects.dense import DenseAttr
from shardc.ops import hlo


@irdl_op_definition
class ConstantOp(PureOp):
    """`stablehlo.constant dense<0.0> : tensor<4xf32>`."""

    name = hlo.constant.name
    value = prop_def(DenseAttr)
    output = result_def(TensorType)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        value = parser.parse_attribute()
        if not isinstance(value, DenseAttr):
            parser.raise_error("a constant is written dense<...> : type")
        return cls.create(result_types=[value.get_type()], properties={"value": value}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)
