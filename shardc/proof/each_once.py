"""Any order (any_order.py) in which a maximum that is taken of a value twice is what it is of it once.

    max(x)      beside      max(max(x), max(x[:4]))

There the greater of two is a product, which says how often a value was joined. Here it is the product of the
different ones: what each value was joined of is kept, which takes longer. So it is for draws that follow one
in which programs differ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import field

from shardc.proof.any_order import AnyOrder, Numbers
from shardc.proof.field import PRIME, Residues

MOST = 1 << 19
"""So many values are kept, in one run of a program; what is joined of more counts each time."""


class EachOnce(AnyOrder, frozen=True):
    """joined: by the direction (1 for the greater) and a residue, the residues that it was joined of."""

    joined: dict[tuple[int, int], frozenset[int]] = field(
        default_factory=dict[tuple[int, int], frozenset[int]]
    )

    def different(
        self, pair: Sequence[Residues], numbers: Sequence[Numbers], product: Residues, key: int, wanted: int
    ) -> Residues:
        """The products of the different values of both sides: where none is in both that is `product`."""
        if len(self.joined) > MOST:
            return product
        sides = [side.reshape(-1).tolist() for side in pair]
        literal = [np.isnan(number).reshape(-1).tolist() for number in numbers]
        factors = self.factors(np.fmax(*numbers))[0].reshape(-1)
        found = product.reshape(-1).copy()
        for place, values in enumerate(zip(*sides, strict=True)):
            left, right = (
                self.joined.get((wanted, value)) or frozenset([value] if none[place] else [])
                for value, none in zip(values, literal, strict=True)
            )
            either = left | right
            if len(either) < len(left) + len(right):
                one = int(factors[place])
                for value in either:
                    one = one * (value + key) % PRIME
                found[place] = one
            self.joined[wanted, (int(found[place]) - key) % PRIME] = either
        return found.reshape(product.shape)
