"""Draws in which floats have any order: what is equal so is equal however decisions fall.

    %y = max(%x, 0.5)      beside      %y = max(%x, 0.501)

No argument need come between 0.5 and 0.501 to tell these apart. Where an element is in the order of all is a
random function of its residue, between and at the literals that the programs decide at; only literals are
where they are. So decisions are functions of what is decided on, like any other that no law is known of.

The greater of two is neither of them, but what an associative and commutative operation makes of both; so a
maximum depends on all that it is taken of. Beside other elements it is where the greater one is: that is how
argmax is found. A literal counts once however often it is joined, as where every device begins with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.proof import field
from shardc.proof.field import Residues
from shardc.proof.order import Order, order
from shardc.proof.thresholds import FAR, Interval
from shardc.proof.values import Floats, either, is_literal, make, special
from shardc.semantics.arrays import Array

Numbers = NDArray[np.float32]

_NONE = ((-2.0, 2.0),)
_UPPER, _MARK, _SMALL = map(np.uint64, (0xFFFF_FFFF_0000_0000, 0x81FF_FFFF_0000_0000, 0x3E00_0000_0000_0000))


class AnyOrder(Struct, Order, frozen=True):
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
            marks, upper = self._marks(residue), _upper(array)
            joined = (upper == _mark(marks, 1)) | (upper == _mark(marks, -1))
            known = known | joined & ~is_literal(beside) if joined.any() else known
        place = np.where(known, array["shadow"], place)
        return place, np.full(place.shape, -1.0)

    def _marks(self, residue: Residues) -> Residues:
        """Of which `_mark` takes a part for something joined."""
        return field.hashed(self.key + 4, [residue])

    def _is_joined(self, array: Array, wanted: int) -> NDArray[np.bool_]:
        return _upper(array) == _mark(self._marks(array["residue"]), wanted)

    def _numbers(self, array: Array, wanted: int) -> Numbers:
        """The literals, and the greatest literal that something is joined of, or NaN; of the opposites where
        the lesser is wanted.
        """
        inside = (array["other"].view(np.uint64) & ~_UPPER).astype(np.uint32).view(np.float32)
        inside = np.where(self._is_joined(array, wanted), inside, np.float32(np.nan))
        return np.where(is_literal(array), wanted * array["shadow"], inside).astype(np.float32)

    def factors(self, numbers: Numbers) -> tuple[Residues, Residues]:
        """The factors of literals, and their inverses; 1 where there is none."""
        found, places = np.unique(numbers, return_inverse=True)
        factors = field.hashed(self.key + 1, [found.view(np.uint32).astype(np.uint64)])
        factors = np.where(np.isnan(found), np.uint64(1), factors)
        places = places.reshape(numbers.shape)
        return factors[places], field.inverse(factors)[places]

    def equal(self, left: Array, right: Array) -> NDArray[np.bool_]:
        return order(left, right) == 0

    def chosen(self, left: Array, right: Array, wanted: int, how: NDArray[np.int8] | None = None) -> Array:
        a, b = np.broadcast_arrays(left, right)
        numbers = [is_literal(each) for each in (a, b)]
        masks = [
            number & (np.abs(each["shadow"]) > FAR) for number, each in zip(numbers, (a, b), strict=True)
        ]
        plain = special(a) | special(b) | (a["residue"] == b["residue"])
        plain |= np.logical_or(*masks) | np.logical_and(*numbers)
        if not plain.any():
            return self._joined(a, b, wanted)
        real = Order.chosen(self, a, b, wanted, how)
        return real if plain.all() else either(plain, real, self._joined(a, b, wanted))

    def _joined(self, left: Array, right: Array, wanted: int) -> Array:
        """(a + c) (b + c) - c, where literals have factors of their own, of which the greatest is one; the
        lesser is what is opposite to the greater of opposites.
        """
        key = field.hashed(self.key, [np.zeros((), np.uint64)])
        product, numbers, pair = np.ones(left.shape, np.uint64), list[Numbers](), list[Residues]()
        for each in (left, right):
            residue = np.where(special(each), np.uint64(0), each["residue"])
            residue = field.negate(residue) if wanted < 0 else residue
            number = self._numbers(each, wanted)
            own = np.where(is_literal(each), self.factors(number)[0], field.add(residue, key))
            product = field.multiply(product, own)
            numbers.append(number)
            pair.append(residue)
        twice = np.minimum(*numbers)  # NaN but where both have one
        product = field.multiply(product, self.factors(twice)[1])
        product = self.different(pair, numbers, product, int(key), wanted)
        both = field.subtract(product, key)
        residue = field.negate(both) if wanted < 0 else both
        further = np.maximum if wanted > 0 else np.minimum
        place = further(self.places(left, right)[0], self.places(right, left)[0])
        greatest = np.fmax(*numbers).view(np.uint32).astype(np.uint64)
        return make(residue, place, (_mark(self._marks(residue), wanted) | greatest).view(np.float64))

    def different(
        self, pair: Sequence[Residues], numbers: Sequence[Numbers], product: Residues, key: int, wanted: int
    ) -> Residues:
        """The product of what a pair of values are joined of, and of their greatest literals."""
        return product


def _upper(array: Array) -> Residues:
    return array["other"].view(np.uint64) & _UPPER


def _mark(marks: Residues, wanted: int) -> Residues:
    """The upper half of what stands beside the place of something joined, which is the greatest or the
    lesser; only what moves it keeps it. It makes no NaN, so 0 times it is 0.
    """
    return (marks if wanted > 0 else marks << np.uint64(32)) & _MARK | _SMALL
