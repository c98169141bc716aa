"""Attributes that hold one Python value.

    @data_attribute
    class MeshAttr(ValueAttr[MeshRef]):
        name = "sdy.mesh"
        …

xDSL asks of every class of attributes whether it is a subclass of some others. Python answers by a look at
all their subclasses, and keeps two objects for each pair of classes that it looked at: what defines and loads
the attributes here asks for no more of that than it must.
"""

from __future__ import annotations

from abc import ABC
from typing import Any, TypeVar

from xdsl.ir import Data
from xdsl.irdl import check_attr_name
from xdsl.utils.runtime_final import runtime_final

Held = TypeVar("Held")
Defined = TypeVar("Defined", bound=type[Data[Any]])


class ValueAttr(Data[Held], ABC):
    """An attribute that holds one value."""

    @classmethod
    def __subclasshook__(cls, subclass: type) -> bool:
        """Whether it was derived from this one, which its bases tell without a look at other subclasses."""
        return cls in subclass.__mro__


def data_attribute(cls: Defined) -> Defined:
    """Define an attribute that holds one value. PyRDLAttrDefinitionError if its name is none.

    irdl_attr_definition does the same, but asks first whether the class has parameters.
    """
    check_attr_name(cls)
    return runtime_final(cls)
