"""Attributes that hold one Python value: what xDSL's `irdl_attr_definition` does for a class of them."""

from __future__ import annotations

from typing import Any, TypeVar

from xdsl.ir import Data
from xdsl.irdl import check_attr_name
from xdsl.utils.runtime_final import runtime_final

Defined = TypeVar("Defined", bound=type[Data[Any]])


def data_attribute(cls: Defined) -> Defined:
    """Define an attribute that holds one value. PyRDLAttrDefinitionError if its name is none.

    irdl_attr_definition does the same, but asks first whether the class has parameters. Python answers by a
    look at every class that has some, and keeps two objects for each pair of classes it looked at.
    """
    check_attr_name(cls)
    return runtime_final(cls)
