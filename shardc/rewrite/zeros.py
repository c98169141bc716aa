"""The sign of a zero: what tells -0.0 from 0.0, and what does not.

sqrt(nu + 0.0) + 1e-8      ->  sqrt(nu) + 1e-8: -0.0 becomes 0.0 in the sum, but is lost when 1e-8 is added
1 / (x + 0.0)              stays: 1 / -0.0 is -inf
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from shardc.dialects.convert import python_of
from shardc.ops import hlo
from shardc.rewrite.constants import splat_of

_DEEPEST = 8
"""So many operations are looked through."""


def is_negative_zero(value: SSAValue) -> bool:
    """Whether a value is -0.0 everywhere; of a complex one, either part of it."""
    element = splat_of(value)
    if element is None or element != 0:
        return False
    return bool(np.signbit(np.real(element)) or np.signbit(np.imag(element)))


def ignores_sign_of_zero(value: SSAValue, depth: int = _DEEPEST) -> bool:
    """Whether the program computes the same with -0.0 and with 0.0 in a real value's place."""
    return depth > 0 and all(_ignores(use.operation, use.index, depth - 1) for use in value.uses)


def _ignores(op: Operation, index: int, depth: int) -> bool:
    if op.name in _SAME:
        return True
    if op.name == hlo.compare.name:
        kind = op.properties.get("compare_type") or op.attributes.get("compare_type")
        return kind is None or python_of(kind) != "TOTALORDER"
    if op.name in _SUMS:
        other = splat_of(op.operands[1 - index])
        if other is not None and bool(other != 0):
            return True
    zero_stays = op.name in _ZERO_STAYS or (op.name == hlo.divide.name and index == 0)
    return zero_stays and ignores_sign_of_zero(op.results[0], depth)


_SUMS = {hlo.add.name, hlo.subtract.name}

_SAME = {definition.name for definition in (hlo.abs_, hlo.cosine, hlo.exponential, hlo.is_finite, hlo.log)}
"""What gives the same for both zeros."""

_ZERO_STAYS = _SUMS | {
    definition.name
    for definition in (
        hlo.broadcast_in_dim,
        hlo.cbrt,
        hlo.maximum,
        hlo.minimum,
        hlo.multiply,
        hlo.negate,
        hlo.reshape,
        hlo.slice_,
        hlo.sqrt,
        hlo.tanh,
        hlo.transpose,
    )
}
"""Whose results for both zeros differ in the sign of a zero at most."""
