"""exp(a + b) = exp(a) exp(b): exponents live modulo 2^60 - 1, results modulo p = 2^61 - 1.

p - 1 is 2 (2^60 - 1), so there is an h of order 2^60 - 1 modulo p, and exp(x) = h^x is a homomorphism. A draw
runs both programs twice: first with all residues modulo 2^60 - 1, which leaves the exponents, then modulo p,
where every exp is a power of h. Shadows are the same both times, and so are decisions. An exponent that
follows from another exp has no law: there exp is one more random function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import prod

import numpy as np
from msgspec import Struct, field

from shardc.graph import Graph, walk
from shardc.ops import hlo
from shardc.proof.field import PRIME, Residues, multiply
from shardc.proof.values import Beyond

ORDER_BITS = 60
FACTORS = (9, 25, 7, 11, 13, 31, 41, 61, 151, 331, 1321)
"""What 2^60 - 1 is the product of."""

_DIGIT = 15


def has_exp(graph: Graph) -> bool:
    """Whether there is an exp in a program, to which the law may apply."""
    nodes = (node for function in graph.functions.values() for node in walk(function.body))
    return any(node.name == hlo.exponential.name for node in nodes)


class Exponents(Struct):
    """The arguments of every exp, in the order in which a program comes to them; by the program's number."""

    recorded: dict[int, list[Residues]] = {}
    replays: bool = False
    at: Counter[int] = field(default_factory=Counter[int])

    def note(self, program: int, residues: Residues) -> None:
        self.recorded.setdefault(program, []).append(residues)

    def next(self, program: int, shape: tuple[int, ...]) -> Residues:
        """The exponents of the next exp. Raises Beyond where the programs did not run alike."""
        known, at = self.recorded.get(program, []), self.at[program]
        self.at[program] += 1
        if at >= len(known) or known[at].shape != shape:
            raise Beyond("exponents of a program that runs in another way each time")
        return known[at]


def power_of_h(exponents: Residues) -> Residues:
    """h^e, digit by digit of 15 bits."""
    result = np.ones_like(exponents)
    for place, table in enumerate(_tables()):
        digits = (exponents >> np.uint64(place * _DIGIT)) & np.uint64((1 << _DIGIT) - 1)
        result = multiply(result, table[digits.astype(np.int64)])
    return result


@cache
def _tables() -> Sequence[Residues]:
    """h^(d 2^(15 k)) for every digit d, for k = 0, 1, 2, 3."""
    tables: list[Residues] = []
    for place in range(ORDER_BITS // _DIGIT):
        base = pow(_h(), 1 << (place * _DIGIT), PRIME)
        table = np.ones(1, np.uint64)
        for bit in range(_DIGIT):
            factor = np.uint64(pow(base, 1 << bit, PRIME))
            table = np.concatenate([table, multiply(table, np.asarray(factor))])
        tables.append(table)
    return tables


@cache
def _h() -> int:
    """A square modulo p whose order is all of 2^60 - 1."""
    order = (PRIME - 1) // 2
    primes = [3, 5, *FACTORS[2:]]
    return next(
        h
        for h in (pow(r, 2, PRIME) for r in range(2, 1000))
        if all(pow(h, order // f, PRIME) != 1 for f in primes)
    )


def meeting(degree: int) -> float:
    """The chance that two exponents of such a degree that are not the same meet modulo 2^60 - 1."""
    return prod(min(1.0, degree / (3 if f == 9 else 5 if f == 25 else f)) for f in FACTORS)
