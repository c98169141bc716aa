"""Integers of 4 bits: operations move them, choose among them, compare and convert them.

    x.astype(i8) + 1      # and not x + 1, where x is i4[8]

That is what quantised weights need. Arithmetic in 4 bits wraps soon, and neither NumPy nor processors
have it: a program converts to i8, or to a float, before it computes.
"""

from __future__ import annotations

from shardc.ops import chlo, hlo
from shardc.ops.definition import Trait
from shardc.ops.registry import has

_TAKEN = frozenset((hlo.convert.name, hlo.select.name, hlo.compare.name))
"""Elementwise operations that make no new numbers."""

_ORDERS = frozenset((hlo.sort.name, chlo.top_k.name, chlo.ragged_dot.name))


def computes(name: str) -> bool:
    """Whether an operation makes new numbers of its operands, or orders them. What has a region does what the
    region's operations do; collectives put together what devices have parts of, by sums too.
    """
    if name in _TAKEN:
        return False
    return name in _ORDERS or has(name, Trait.ELEMENTWISE, Trait.PRODUCT, Trait.RANDOM)
