"""Which branch an operation takes whose index or condition is a constant, or computed of constants.

    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = "stablehlo.case"(%c) ({ … }, { … }) : (tensor<i32>) -> tensor<8xf32>      ->      the second

`jax.lax.platform_dependent`, which `jnp.diagonal` and others of JAX's functions call, is lowered to these;
so is what libraries ask of numbers that are known as they are traced.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from shardc.ops import hlo
from shardc.rewrite.known_elements import known_element

_CHOICES = (hlo.case.name, hlo.if_.name)


def known_branch(op: Operation) -> Block | None:
    """The block of the branch that is always taken; None where data decide, or there are no branches."""
    number = _number(op.operands[0]) if op.name in _CHOICES else None
    if number is None:
        return None
    blocks = [region.block for region in op.regions]
    if op.name == hlo.if_.name:
        return blocks[0 if number else 1]
    return blocks[int(number) if 0 <= number < len(blocks) else -1]


def _number(value: SSAValue) -> Any:
    """What a scalar is known to be."""
    known = known_element(value)
    return None if known is None or known.dtype.kind not in "biu" else known
