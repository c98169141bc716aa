"""What exact arrays are decided by: the order of their shadows, or one that a draw has in its place."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from shardc.proof.values import INF, NAN, NEGATIVE_INF, DrawAgain, Floats, either, error, special
from shardc.semantics.arrays import Array


class Order:
    """The real order: that of the shadows, as far as they can be trusted."""

    def places(self, array: Array, beside: Array | None = None) -> tuple[Floats, Floats]:
        """Where elements are, compared with others or with literals, and how far they may be from there."""
        return array["shadow"], error(array)

    def unordered(self, array: Array) -> NDArray[np.bool_]:
        """Where elements are NaN."""
        return array["residue"] == NAN

    def equal(self, left: Array, right: Array) -> NDArray[np.bool_]:
        """Where elements are equal; NaN is not."""
        a, b = np.broadcast_arrays(left["residue"], right["residue"])
        return (a == b) & (a != NAN)

    def chosen(self, left: Array, right: Array, wanted: int, how: NDArray[np.int8] | None = None) -> Array:
        """The greater of two, where 1 is wanted, the lesser where -1 is; NaN wins. Of two at one place that
        with the larger residue. how: their order, where that is known.
        """
        how = order(left, right) if how is None else how
        how = np.where((how == 0) & (left["residue"] >= right["residue"]), wanted, how)
        return either((how == wanted) | (left["residue"] == NAN), left, right)


class _Now:
    """The order, and what it said last of which two arrays: > and = are asked of the same ones."""

    order = Order()
    last: tuple[Array, Array, NDArray[np.int8]] | None = None


@contextmanager
def ordered(by: Order) -> Generator[None]:
    """Decide by an order inside."""
    before, _Now.order, _Now.last = _Now.order, by, None
    try:
        yield
    finally:
        _Now.order, _Now.last = before, None


def places(array: Array, beside: Array | None = None) -> tuple[Floats, Floats]:
    """Where elements are in the order, compared with others or with literals, and how far they may be from
    there; below 0 where that is certain.
    """
    return _Now.order.places(array, beside)


def unordered(array: Array) -> NDArray[np.bool_]:
    """Where elements are NaN, as decisions have it."""
    return _Now.order.unordered(array)


def equal(left: Array, right: Array) -> NDArray[np.bool_]:
    """Where elements are equal, as comparisons have it."""
    return _Now.order.equal(left, right)


def chosen(left: Array, right: Array, wanted: int, how: NDArray[np.int8] | None = None) -> Array:
    """The greater of two, where 1 is wanted, the lesser where -1 is; NaN wins. how: as `order` has it."""
    return _Now.order.chosen(left, right, wanted, how)


def representative(array: Array) -> Floats:
    """A float that is special as each element is, and of a finite one the sign: -1, 0 or 1.

    Raises DrawAgain where a sign is not certain.
    """
    sign = signs(array)
    codes = array["residue"]
    return np.select([codes == INF, codes == NEGATIVE_INF, codes == NAN], [np.inf, -np.inf, np.nan], sign)


def signs(array: Array) -> Floats:
    """-1.0, 0.0 or 1.0; NaN for NaN. Zero is what has residue 0."""
    zero, nan = array["residue"] == 0, unordered(array)
    place, off = places(array)
    certain = zero | (np.abs(place) > off) | special(array) | nan
    if not certain.all():
        raise DrawAgain("the sign of a value is not certain")
    sign = np.sign(np.where(special(array), array["shadow"], place))
    return np.where(zero, 0.0, np.where(nan, np.nan, sign))


def order(left: Array, right: Array) -> NDArray[np.int8]:
    """-1, 0 or 1 where left is less, equal or greater, and 2 where one is NaN.

    Values of one residue are equal; others are in the order of their places. Raises DrawAgain where those
    are closer than their errors.
    """
    if left is right:
        return np.where(unordered(left), 2, 0).astype(np.int8)
    if _Now.last is None or _Now.last[0] is not left or _Now.last[1] is not right:
        _Now.last = left, right, _ordered(left, right)
    return _Now.last[2]


def _ordered(left: Array, right: Array) -> NDArray[np.int8]:
    a, b = np.broadcast_arrays(left, right)
    equal = a["residue"] == b["residue"]
    apart_from_all = unordered(a) | unordered(b)
    (place, off), (other, more) = places(a, b), places(b, a)
    apart = place - other
    infinite = special(a) | special(b)
    certain = equal | apart_from_all | infinite | (np.abs(apart) > off + more)
    if not certain.all():
        raise DrawAgain("two values are too close to be ordered")
    apart = np.where(infinite, np.clip(_extended(a), -2, 2) - np.clip(_extended(b), -2, 2), apart)
    return np.where(apart_from_all, 2, np.where(equal, 0, np.sign(apart))).astype(np.int8)


def _extended(array: Array) -> Floats:
    """2 and -2 for the infinities, 0 for what is finite."""
    return np.where(array["residue"] == INF, 2.0, np.where(array["residue"] == NEGATIVE_INF, -2.0, 0.0))
