"""Operations and those in their bodies, as a list: xDSL's walk passes each through a generator for every body
around it, which takes several times as long."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation


def nested(ops: Iterable[Operation]) -> list[Operation]:
    """The operations and those in their bodies, in program order: as walk, of all of them."""
    every: list[Operation] = []
    for op in ops:
        every.append(op)
        for region in op.regions:
            for block in region.blocks:
                every += nested(block.ops)
    return every
