"""What a collective costs: bytes per device by the ring model, how many of them, and the peak memory.

Bytes follow NCCL's bus-bandwidth factors (nccl-tests, doc/PERFORMANCE.md), n devices in a group: an
all-reduce of B bytes moves 2(n-1)/n B; all-gather, reduce-scatter and all-to-all move (n-1)/n of their full
per-device buffer; a permute moves B. The full buffer is n blocks, so all but the all-reduce are whole
numbers of bytes; the all-reduce is rounded up.
"""

from __future__ import annotations

from typing import NamedTuple


class Cost(NamedTuple):
    """Bytes a device moves, how many collectives, the most bytes alive at once; compared in that order."""

    bytes: int = 0
    steps: int = 0
    peak: int = 0

    def then(self, other: Cost) -> Cost:
        """The cost of one after the other."""
        return Cost(self.bytes + other.bytes, self.steps + other.steps, max(self.peak, other.peak))


def all_reduce(block: int, n: int) -> int:
    """Bytes to combine `block` bytes over n devices."""
    return -(-2 * (n - 1) * block // n)


def all_gather(block: int, n: int) -> int:
    """Bytes to collect the n blocks of `block` bytes on every device."""
    return (n - 1) * block


def reduce_scatter(block: int, n: int) -> int:
    """Bytes to combine n blocks over n devices, each keeping one of `block` bytes."""
    return (n - 1) * block


def all_to_all(block: int, n: int) -> int:
    """Bytes to send one of n blocks of `block` bytes to each of n devices."""
    return (n - 1) * block


def collective_permute(block: int) -> int:
    """Bytes to send the whole local block elsewhere."""
    return block
