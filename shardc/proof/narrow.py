"""Casts to floats of 8 bits: random functions, since a number that is cast so is soon another one.

    astype(x / s, f8e4m3fn) * s

Were such a cast the identity, this would be x with any scale s. What is equal with any function in the place
of the cast is equal with the real one. Known of it are that it is odd, that numbers of the dtype stay as they
are, and what it makes of literals.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from shardc.graph.types import DTYPES
from shardc.proof.field import Residues, distinct, hashed, negate
from shardc.proof.values import make, special, whole
from shardc.semantics.arrays import Array, quiet


class Known(Struct):
    """The residues that are numbers of a dtype, in one draw."""

    parts: list[Residues] = []

    def add(self, residues: Residues) -> None:
        """These, of numbers, and their opposites."""
        self.parts = [distinct(np.concatenate([*self.parts, residues, negate(residues)]))]

    def has(self, residues: Residues) -> Array:
        """Which are such numbers."""
        return np.isin(residues, self.parts[0]) if self.parts else np.zeros(residues.shape, np.bool_)


@quiet
def narrowed(operand: Array, dtype: str, key: int, known: Known, rounds: bool = False) -> Array:
    """Numbers cast to a dtype of 8 bits, by the random function of a key. rounds: shadows become such
    numbers, too, of which many are equal; else they stay, since more is known of their order.
    """
    residue = operand["residue"]
    opposite = negate(np.where(special(operand), np.uint64(0), residue))
    drawn = hashed(key, [np.minimum(residue, opposite)])
    drawn = np.where(residue <= opposite, drawn, negate(drawn))
    kept = special(operand) | known.has(residue)
    shadows = [operand["shadow"], operand["other"]]
    if rounds:
        shadows = [each.astype(DTYPES[dtype][1]).astype(np.float64) for each in shadows]
    result = make(np.where(kept, residue, drawn), *shadows)
    single = operand["shadow"].astype(np.float32)
    literal = ~special(operand) & np.isfinite(single)
    literal &= whole(np.where(literal, single, 0.0))["residue"] == residue
    if literal.any():
        result[literal] = whole(single[literal].astype(DTYPES[dtype][1]).astype(np.float64))
    known.add(result["residue"][~special(result)])
    return result
