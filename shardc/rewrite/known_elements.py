"""What a value is everywhere, where operations on constants alone make it.

    %0 = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>     // constants
    %1 = stablehlo.reduce(%0 init: %false) applies stablehlo.or across dimensions = []
    %2 = stablehlo.convert %1 : (tensor<i1>) -> tensor<i32>                          // 0 or 1

Nothing is rewritten by these: who asks is told before constants are computed. What a program becomes must not
depend on which floats it has (graph/any_number.py), so only those count that have a meaning of their own.

The last pass may depend on them. There a decision on floats is made, if each of them is rounded once, as IEEE
754 says, from those before:

    %0 = stablehlo.multiply %ten, %three_tenths      // 3.00000012
    %1 = stablehlo.compare LE, %0, %ten              // true
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.types import type_of
from shardc.graph.any_number import is_any
from shardc.graph.types import is_float
from shardc.layout.limits import finfo
from shardc.ops import hlo
from shardc.rewrite.constants import EXACT, element_made, repeated, splat_of

_IDEMPOTENT = (hlo.and_.name, hlo.or_.name, hlo.maximum.name, hlo.minimum.name)


def known_element(value: SSAValue, given: Mapping[SSAValue, Any] | None = None) -> Any:
    """The element of a value, of NumPy's type; None where data decide, or a float that is any number, or it
    is rounded. `given` has those of values that nothing else tells, as of the arguments of a region."""
    constants = list[Any]()
    element = _element(value, dict(given or {}), constants, rounded=False)
    return None if any(map(is_any, constants)) else element


def decided(op: Operation, builder: IRBuilder) -> SSAValue | None:
    """A constant in the place of what constants decide: integers or truth values of floats, rounded or not;
    None of all else."""
    element = _element(op.results[0], {}, [], rounded=True) if _decides(op) else None
    return None if element is None else repeated(op, element, builder)


def decided_with(op: Operation) -> list[Any]:
    """The numbers on which it depends what `decided` gives in place of an operation."""
    constants = list[Any]()
    if _decides(op):
        _element(op.results[0], {}, constants, rounded=True)
    return constants


def _decides(op: Operation) -> bool:
    if op.name not in EXACT or is_float(type_of(op.results[0].type).dtype):
        return False
    return any(is_float(type_of(operand.type).dtype) for operand in op.operands)


def _element(value: SSAValue, known: dict[SSAValue, Any], constants: list[Any], rounded: bool) -> Any:
    """The element of a value, of which `known` has those of some; the constants that make it are added."""
    left = [value]
    while left:
        if left[-1] in known:
            left.pop()
            continue
        element, op = splat_of(left[-1]), left[-1].owner
        if element is not None:
            constants.append(element)
        else:
            computes = _computes(op) if isinstance(op, Operation) else None
            if computes is None or not isinstance(op, Operation):
                return None
            unknown = [operand for operand in op.operands if operand not in known]
            if unknown:
                left += unknown
                continue
            element = element_made(computes, [known[operand] for operand in op.operands], rounded)
            if element is None or (rounded and not _is_certain(element)):
                return None
        known[left.pop()] = element
    return known[value]


def _is_certain(element: NDArray[Any]) -> bool:
    """Whether every processor has this number: a float that is too small to be normal may be 0."""
    if element.dtype.kind in "biu":
        return True
    return element.dtype.kind != "c" and not 0 < abs(element) < float(finfo(element.dtype).tiny)


def _computes(op: Operation) -> Operation | None:
    """The operation on the elements of an operation's operands; None of what is not exact."""
    computes = _combination(op) if op.name == hlo.reduce.name else op
    return computes if computes is not None and computes.name in EXACT else None


def _combination(op: Operation) -> Operation | None:
    """The operation by which elements are combined, if twice the same is that again."""
    combine, end = op.regions[0].block.first_op, op.regions[0].block.last_op
    some = len(op.results) == 1 and type_of(op.operands[0].type).size
    if not some or combine is None or end is None or combine.name not in _IDEMPOTENT:
        return None
    plain = set(combine.operands) == set(op.regions[0].block.args) and [*end.operands] == [*combine.results]
    return combine if plain else None
