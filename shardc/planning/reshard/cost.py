"""What a reshard costs on each device: bytes sent, collectives, and peak memory.

Bytes are what the collectives' definitions say (ops/collective/: ring algorithms), in terms of
the block of the smaller side: an all-gather's operand, a reduce-scatter's result.
"""

from __future__ import annotations

from typing import NamedTuple

from shardc.ops import OpDef, spmd


class ReshardCost(NamedTuple):
    """Bytes a device sends, number of collectives, the most bytes alive at once; compared in that order."""

    bytes: int = 0
    steps: int = 0
    peak: int = 0

    def then(self, other: ReshardCost) -> ReshardCost:
        """The cost of one after the other."""
        return ReshardCost(self.bytes + other.bytes, self.steps + other.steps, max(self.peak, other.peak))


def all_reduce(block: int, n: int) -> int:
    """Bytes to combine `block` bytes over n devices."""
    return _sent(spmd.all_reduce, block, n)


def all_gather(block: int, n: int) -> int:
    """Bytes to collect the n blocks of `block` bytes on every device."""
    return _sent(spmd.all_gather, block, n)


def reduce_scatter(block: int, n: int) -> int:
    """Bytes to combine n blocks over n devices, each keeping one of `block` bytes."""
    return _sent(spmd.reduce_scatter, n * block, n)


def all_to_all(block: int, n: int) -> int:
    """Bytes to send one of n blocks of `block` bytes to each of n devices."""
    return _sent(spmd.all_to_all, n * block, n)


def collective_permute(block: int) -> int:
    """Bytes to send the whole local block elsewhere."""
    return _sent(spmd.collective_permute, block, 2)


def _sent(collective: OpDef, operand: int, n: int) -> int:
    """Bytes sent for an operand of so many bytes in a group of n devices."""
    assert collective.sends is not None
    return collective.sends(operand, n)
