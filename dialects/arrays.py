"""Attributes of xDSL that are generic, told apart with their parameters: isinstance forgets these."""

from __future__ import annotations

from typing import TypeGuard

from xdsl.dialects.builtin import ArrayAttr, TensorType
from xdsl.ir import Attribute


def is_array(attribute: object) -> TypeGuard[ArrayAttr[Attribute]]:
    """Whether it is an array of attributes."""
    return isinstance(attribute, ArrayAttr)


def is_tensor(attribute: object) -> TypeGuard[TensorType[Attribute]]:
    """Whether it is the type of a tensor."""
    return isinstance(attribute, TensorType)
