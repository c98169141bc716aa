"""What all StableHLO operations have in common: how they print, and how they are verified."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import I1, I64, DenseArrayBase, IntegerAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from shardc.dialects.stablehlo.attributes import ChannelAttr
from shardc.dialects.stablehlo.type_syntax import SameOperandsAndResultType
from shardc.dialects.verify import verify_types

Tensor: TypeAlias = TensorType[Attribute]
I64Array: TypeAlias = DenseArrayBase[I64]
BoolArray: TypeAlias = DenseArrayBase[I1]
Int: TypeAlias = IntegerAttr[I64]
Bool: TypeAlias = IntegerAttr[I1]

FUNCTIONAL = "`:` functional-type(operands, results)"
SAME_TYPE = "`:` custom<SameOperandsAndResultType>(type(operands), type(results))"


class HloOp(IRDLOperation, ABC):
    """An operation whose result types follow from its operands and attributes."""

    irdl_options = (ParsePropInAttrDict(),)

    def verify_(self) -> None:
        verify_types(self)


class PureOp(HloOp, ABC):
    """One without effects."""

    traits = traits_def(Pure())


class UnaryOp(PureOp, ABC):
    """One operand, one result of the same shape."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format: ClassVar[str | None] = f"$operand attr-dict {SAME_TYPE}"
    custom_directives = (SameOperandsAndResultType,)


class BinaryOp(PureOp, ABC):
    """Two operands and a result of the same type."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format: ClassVar[str | None] = f"$lhs `,` $rhs attr-dict {SAME_TYPE}"
    custom_directives = (SameOperandsAndResultType,)


class ChannelOp(HloOp, ABC):
    """A communication, which may carry a channel."""

    channel_handle = opt_prop_def(ChannelAttr)
