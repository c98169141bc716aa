"""Draws in which floats have any order: what is equal so is equal however decisions fall.

    %y = max(%x, 0.5)      beside      %y = max(%x, 0.501)

No argument need come between 0.5 and 0.501 to tell these apart. Where an element is in the order of all is a
random function of its residue, between and at the literals that the programs decide at; only literals are
where they are. So decisions are functions of what is decided on, like any other that no law is known of.

The greater of two is neither of them, but what an associative and commutative operation makes of both; so a
maximum depends on all that it is taken of. Beside other elements it is where the greater one is: that is how
argmax is found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardc.proof import field
from shardc.proof.field import Residues
from shardc.proof.thresholds import FAR, Interval
from shardc.proof.values import Floats, Order, is_literal, make, order, special
from shardc.semantics.arrays import Array

_NONE = ((-2.0, 2.0),)


@dataclass(frozen=True, slots=True)
class AnyOrder(Order):
    """The order of one draw. intervals: where elements may be."""

    key: int
    intervals: tuple[Interval, ...]

    def places(self, array: Array, beside: Array | None = None) -> tuple[Floats, Floats]:
        """Where elements are, which is certain; opposite ones are at opposite places. Something joined is
        where the greatest is beside what is no literal, since it seldom would be close to a literal.
        """
        residue = np.asarray(array["residue"])
        opposite = field.negate(residue)
        drawn = field.hashed(self.key, [np.minimum(residue, opposite)])
        low, high = (np.array(ends) for ends in zip(*(self.intervals or _NONE), strict=True))
        turn = (drawn % np.uint64(low.size)).astype(np.int64)
        part = (drawn >> np.uint64(20)) / 2.0 ** (field.BITS - 20)
        place = low[turn] + (high - low)[turn] * (0.25 + 0.5 * part)
        place = np.where(opposite < residue, -place, place)
        known = is_literal(array)
        if beside is not None:
            known = known | (array["other"].view(np.uint64) == self._mark(residue)) & ~is_literal(beside)
        place = np.where(known, array["shadow"], place)
        return place, np.full(place.shape, -1.0)

    def _mark(self, residue: Residues) -> Residues:
        """What stands beside the place of something joined, which only what moves it keeps."""
        return field.hashed(self.key + 1, [residue])

    def equal(self, left: Array, right: Array) -> NDArray[np.bool_]:
        return order(left, right) == 0

    def chosen(self, left: Array, right: Array, wanted: int) -> Array:
        a, b = np.broadcast_arrays(left, right)
        numbers = [is_literal(each) for each in (a, b)]
        masks = [
            number & (np.abs(each["shadow"]) > FAR) for number, each in zip(numbers, (a, b), strict=True)
        ]
        plain = special(a) | special(b) | (a["residue"] == b["residue"])
        plain |= np.logical_or(*masks) | np.logical_and(*numbers)
        if not plain.any():
            return self._joined(a, b, wanted)
        real = Order.chosen(self, a, b, wanted)
        return real if plain.all() else np.where(plain, real, self._joined(a, b, wanted))

    def _joined(self, left: Array, right: Array, wanted: int) -> Array:
        """(a + c) (b + c) - c; the lesser is what is opposite to the greater of opposites."""
        one, two = (np.where(special(x), np.uint64(0), x["residue"]) for x in (left, right))
        if wanted < 0:
            one, two = field.negate(one), field.negate(two)
        key = field.hashed(self.key, [np.zeros((), np.uint64)])
        both = field.subtract(field.multiply(field.add(one, key), field.add(two, key)), key)
        residue = field.negate(both) if wanted < 0 else both
        further = np.maximum if wanted > 0 else np.minimum
        place = further(self.places(left, right)[0], self.places(right, left)[0])
        return make(residue, place, self._mark(residue).view(np.float64))
