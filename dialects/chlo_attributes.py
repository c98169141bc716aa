"""The attributes of the chlo dialect."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Attribute

from shardc.dialects.data_attribute import data_attribute
from shardc.dialects.stablehlo.enums import EnumAttr, TextAttr
from shardc.ops import chlo


@data_attribute
class RaggedDotAttr(TextAttr):
    """Which dimensions of ragged_dot's operands go together, kept as text."""

    name = chlo.ragged_dot.name


@data_attribute
class PrecisionAttr(EnumAttr):
    """How exactly a product is computed."""

    name = "chlo.precision"
    cases: ClassVar = ("DEFAULT", "HIGH", "HIGHEST")


ATTRIBUTES: list[type[Attribute]] = [RaggedDotAttr, PrecisionAttr]
