"""Operations on constants of one element everywhere -> the constants that they give.

%0 = stablehlo.constant dense<3> : tensor<4xi32>      ->    %1 = stablehlo.constant dense<3.0> : tensor<4xf32>
%1 = stablehlo.convert %0 : (tensor<4xi32>) -> tensor<4xf32>

Likewise slices of them, and what else only moves elements.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.dense import DenseAttr
from shardc.dialects.types import type_of
from shardc.graph import Dense, Op, TensorType
from shardc.graph.types import is_float, is_integer
from shardc.ops import chlo, hlo, meaning, spmd

EXACT = frozenset(
    definition.name
    for definition in (
        hlo.abs_,
        hlo.add,
        hlo.and_,
        hlo.ceil,
        hlo.compare,
        hlo.convert,
        hlo.divide,
        hlo.floor,
        hlo.is_finite,
        hlo.maximum,
        hlo.minimum,
        hlo.multiply,
        hlo.negate,
        hlo.not_,
        hlo.or_,
        hlo.round_nearest_afz,
        hlo.round_nearest_even,
        hlo.select,
        hlo.shift_left,
        hlo.shift_right_arithmetic,
        hlo.shift_right_logical,
        hlo.sign,
        hlo.subtract,
        hlo.xor,
        chlo.next_after,
    )
)
"""What gives the same everywhere."""

_MOVED = {
    hlo.concatenate.name: 0,
    hlo.dynamic_slice.name: 1,
    hlo.dynamic_update_slice.name: 2,
    hlo.pad.name: 2,
    hlo.reshape.name: 1,
    hlo.reverse.name: 1,
    hlo.slice_.name: 1,
    hlo.transpose.name: 1,
    spmd.all_slice.name: 1,
}
"""What has no other elements than these first operands, all for 0."""

_RATIONAL: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    hlo.add.name: operator.add,
    hlo.divide.name: lambda x, y: x / y,
    hlo.multiply.name: operator.mul,
    hlo.subtract.name: operator.sub,
}
"""What rational numbers tell exactly of floats."""


def computed(op: Operation, builder: IRBuilder) -> SSAValue | None:
    """A new constant before an operation on such constants, in its place; None for all others, and where
    the result is rounded: 1 / 12 is said as it is, and exact to whoever reads it.
    """
    if op.name not in EXACT:
        return None
    held = list[Any]()
    for value in op.operands:
        element = splat_of(value)
        if element is None:
            return None
        held.append(element)
    found = element_made(op, held)
    return None if found is None else repeated(op, found, builder)


def element_made(op: Operation, held: Sequence[Any], rounded: bool = False) -> Any:
    """What an operation makes of operands that have these elements everywhere; None where it is rounded,
    unless that will do, and of operations that are not exact.
    """
    computes = meaning(op.name) if op.name in EXACT else None
    if computes is None:
        return None
    types = [TensorType((), type_of(value.type).dtype) for value in (*op.operands, *op.results)]
    attrs = {key: python_of(attr) for key, attr in op.properties.items()}
    count = len(op.operands)
    arrays = [np.asarray(value) for value in held]
    (found,) = computes(Op(op.name, tuple(types[:count]), tuple(types[count:]), attrs), arrays)
    exact = rounded or not is_float(types[-1].dtype) or _is_exact(op.name, arrays, np.asarray(found))
    return np.asarray(found)[()] if exact else None


def computed_with(op: Operation, replacement: SSAValue | None) -> list[Any]:
    """The numbers on which it depends whether `computed` gives that in place of an operation, and itself."""
    held = [splat_of(value) for value in op.operands] if op.name in EXACT else [None]
    if any(value is None for value in held):
        return []
    return held if replacement is None else [*held, splat_of(replacement)]


def moved(op: Operation, builder: IRBuilder) -> SSAValue | None:
    """A new constant in the place of what moves, joins or pads one number that is everywhere."""
    count = _MOVED.get(op.name)
    if count is None:
        return None
    held = [splat_of(value) for value in (op.operands[:count] if count else op.operands)]
    if any(value is None for value in held):
        return None
    return repeated(op, held[0], builder) if len({value.tobytes() for value in held}) == 1 else None


def no_remainder(op: Operation, builder: IRBuilder) -> SSAValue | None:
    """The zero that integers leave when they are divided by one."""
    if op.name != hlo.remainder.name or not is_splat(op.operands[1], 1):
        return None
    type = type_of(op.results[0].type)
    return repeated(op, np.zeros((), type.numpy), builder) if is_integer(type.dtype) else None


def repeated(op: Operation, element: object, builder: IRBuilder) -> SSAValue:
    """One of an operation's type with this element everywhere, before it."""
    type = type_of(op.results[0].type)
    builder.before(op)
    return builder.one(hlo.constant.name, result=type, value=Dense(np.asarray(element), type.shape))


def _is_exact(name: str, arrays: Sequence[NDArray[Any]], found: NDArray[Any]) -> bool:
    """Whether a float is what the operation gives of these numbers, without rounding."""
    numbers = [float(array) for array in (*arrays, found) if array.dtype.kind != "c"]
    if name not in _RATIONAL and name != hlo.convert.name:
        return True
    if len(numbers) != len(arrays) + 1 or not all(map(isfinite, numbers)):
        return True
    *given, result = map(Fraction, numbers)
    if name == hlo.convert.name:
        return given[0] == result
    return not (name == hlo.divide.name and not given[1]) and _RATIONAL[name](given[0], given[1]) == result


def value_of(op: Operation) -> Attribute:
    """What a constant holds."""
    return op.properties["value"] if "value" in op.properties else op.attributes["value"]


def constant_of(value: SSAValue) -> Dense | None:
    """The constant that a value is; those of one element say it as a splat."""
    if not isinstance(value, OpResult) or value.op.name != hlo.constant.name:
        return None
    held = value_of(value.op)
    return held.data.value if isinstance(held, DenseAttr) and held.data.value.is_splat else None


def is_splat(value: SSAValue, element: object) -> bool:
    """Whether a value is one constant everywhere."""
    held = splat_of(value)
    return held is not None and bool(held == element)


def splat_of(value: SSAValue) -> Any:
    """The element of a value that is one constant everywhere, of NumPy's type; None of others."""
    while isinstance(value, OpResult) and value.op.name in _REPEATED:
        value = value.op.operands[0]
    held = constant_of(value)
    return None if held is None else held.data[()]


_REPEATED = {hlo.broadcast_in_dim.name, hlo.reshape.name}
"""What has one element everywhere if its operand has."""
