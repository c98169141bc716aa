"""What a collective of a device's program sends.

Bytes each device sends in the ring algorithms (Thakur, Rabenseifner and Gropp, 2005), for n positions and b
bytes of operand: all-reduce 2b(n-1)/n, all-gather b(n-1), reduce-scatter and all-to-all b(n-1)/n, permute b.
"""

from __future__ import annotations

from collections.abc import Callable

SENT: dict[str, Callable[[int, int], int]] = {
    "spmd.all_reduce": lambda b, n: -(-2 * b * (n - 1) // n),
    "spmd.all_gather": lambda b, n: b * (n - 1),
    "spmd.reduce_scatter": lambda b, n: -(-b * (n - 1) // n),
    "spmd.all_to_all": lambda b, n: -(-b * (n - 1) // n),
    "spmd.collective_permute": lambda b, n: b,
}


def sent(name: str, operand_bytes: int, positions: int) -> int:
    """Bytes that a device sends in collective `name`."""
    return SENT[name](operand_bytes, positions)
