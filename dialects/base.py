"""What all operations whose classes are derived or written here have in common: how they are verified."""

from __future__ import annotations

from abc import ABC
from typing import TypeAlias

from xdsl.dialects.builtin import I1, I64, DenseArrayBase, IntegerAttr
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, traits_def
from xdsl.traits import Pure

from shardc.dialects.verify import verify_types

I64Array: TypeAlias = DenseArrayBase[I64]
Bool: TypeAlias = IntegerAttr[I1]


class HloOp(IRDLOperation, ABC):
    """An operation whose result types follow from its operands and attributes."""

    irdl_options = (ParsePropInAttrDict(),)
    __hash__ = object.__hash__  # IRDLOperation's is as good, and a call of Python

    def verify_(self) -> None:
        verify_types(self)


class PureOp(HloOp, ABC):
    """One without effects."""

    traits = traits_def(Pure())
