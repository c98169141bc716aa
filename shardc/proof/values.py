"""Exact arrays: what stands for a tensor of floats.

An element is a record of a residue modulo p, which decides equality, and a shadow, which is the real value in
f64 and decides order. They are the two components of a product of rings, so an identity of rational functions
holds in both. The residues above p are inf, -inf and NaN. Being NumPy arrays of records, exact arrays are
cut, joined, gathered and sent by the code that does so with any other. Integers and truth values stand for
themselves. A complex number is a pair of such records: p is 3 modulo 4, so -1 has no root modulo p, and pairs
with i * i = -1 are the field of p^2 elements.

How far a shadow can be trusted is found by a second one, from inputs a little off (Vignes, "A stochastic
arithmetic for reliable scientific computation", 1993): a bound carried along grows with the depth of a
program, the distance of two runs only with its condition.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardc.graph import is_float
from shardc.graph.types import DTYPES
from shardc.graph.types import is_complex as is_complex_dtype
from shardc.proof import field
from shardc.proof.field import PRIME, Residues
from shardc.semantics.arrays import Array, is_whole, quiet

EXACT = np.dtype([("residue", np.uint64), ("shadow", np.float64), ("other", np.float64)])

COMPLEX = np.dtype([("re", EXACT), ("im", EXACT)])

_BYTES = {each: np.dtype((np.void, each.itemsize)) for each in (EXACT, COMPLEX)}
"""What records are as bytes: NumPy takes several times as long to choose among records, and to stack them."""

INF, NEGATIVE_INF, NAN = (np.uint64(PRIME + code) for code in (1, 2, 3))

_ZERO = np.uint64(0)

OFF = 2.0**-36
"""How far, as a part of itself, an input of the second shadow is from that of the first."""

Floats = NDArray[np.float64]


class DrawAgain(Exception):
    """A draw that decides nothing: a zero denominator, or values too close for their shadows to order."""


class Beyond(Exception):
    """The proof does not cover what the program does."""


class Refused(Exception):
    """An emitted text does what Python, NumPy or JAX refuse: who runs it gets an error, or other arrays."""


class Unfit(Exception):
    """Shapes in an emitted text do not fit; NumPy may still compute something."""


def is_exact(array: Array) -> bool:
    return array.dtype == EXACT


def is_complex(array: Array) -> bool:
    return array.dtype == COMPLEX


def parts(array: Array) -> list[Array]:
    """The exact arrays that an array is made of: itself, or its real and its imaginary part."""
    if is_complex(array):
        return [array["re"], array["im"]]
    return [array] if is_exact(array) else []


def pair(real: Array, imaginary: Array) -> Array:
    """A complex array of its parts."""
    result = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), COMPLEX)
    result["re"], result["im"] = real, imaginary
    return result


def make(residue: Residues, shadow: Floats, other: Floats) -> Array:
    """An exact array of its parts."""
    result = np.empty(np.shape(residue), EXACT)
    result["residue"], result["shadow"], result["other"] = residue, shadow, other
    return result


def either(condition: NDArray[np.bool_], left: Array, right: Array) -> Array:
    """np.where of arrays of one type."""
    if left.dtype not in _BYTES:
        return np.where(condition, left, right)
    plain = _BYTES[left.dtype]
    return np.where(condition, left.view(plain), right.view(plain)).view(left.dtype)


def stack(arrays: Sequence[Array]) -> Array:
    """np.stack of arrays of one type and shape, along a first dimension."""
    dtype = arrays[0].dtype
    if dtype not in _BYTES:
        return np.array(arrays)
    return np.array([array.view(_BYTES[dtype]) for array in arrays]).view(dtype)


@quiet
def error(array: Array) -> Floats:
    """How far the real value may be from the shadow; without bound where that is no number."""
    shadow = array["shadow"]
    found = 4 * np.abs(shadow - array["other"]) + 2.0**-50 * np.abs(shadow)
    return np.where(np.isnan(found), np.inf, found)


def is_literal(array: Array) -> NDArray[np.bool_]:
    """Which elements are the numbers that their shadows are, as those of constants."""
    alike = array["shadow"] == array["other"]
    if not alike.any():
        return alike
    return alike & (whole(array["shadow"])["residue"] == array["residue"])


def whole(values: Array) -> Array:
    """Integers, truth values, floats or complex numbers as the numbers that they are."""
    if values.dtype.kind == "c":
        return pair(whole(np.real(values)), whole(np.imag(values)))
    wide = np.asarray(values, np.float64)
    if is_whole(values.dtype):
        return make(field.of_integers(values), wide, wide)
    if wide.size == 1 and isfinite(one := wide.item()):
        return make(np.full(wide.shape, field.of_float(one)), wide, wide)
    result = make(field.of_floats(np.where(np.isfinite(wide), wide, 0.0)), wide, wide)
    for code, where in ((INF, wide == np.inf), (NEGATIVE_INF, wide == -np.inf), (NAN, np.isnan(wide))):
        result["residue"][where] = code
    return result


def exact(array: Array) -> Array:
    """The array, integers and plain floats taken as the numbers that they are."""
    return array if is_exact(array) or is_complex(array) else whole(array)


def special(array: Array) -> NDArray[np.bool_]:
    """Where elements are inf, -inf or NaN."""
    return array["residue"] > np.uint64(PRIME)


def any_special(*arrays: Array) -> bool:
    return any(np.maximum.reduce(array["residue"], axis=None, initial=_ZERO) > PRIME for array in arrays)


def has_special(array: Array) -> bool:
    """Whether there are infinities or NaN in an array of any type but a complex one."""
    return is_exact(array) and any_special(array)


def same(left: Array, right: Array) -> NDArray[np.bool_]:
    """Where two arrays hold equal elements; NaN is equal to NaN."""
    if left.dtype.names is None or right.dtype.names is None:
        return np.asarray(left == right)
    if is_exact(left) and is_exact(right):
        return left["residue"] == right["residue"]
    found = [same(left[name], right[name]) for name in left.dtype.names]
    return np.logical_and.reduce(found)


def key(array: Array) -> Hashable:
    """The same for arrays of one type that hold the same elements."""
    elements = [part["residue"] for part in parts(array)] or [array]
    return (array.shape, *(np.ascontiguousarray(each).tobytes() for each in elements))


def draw(rng: np.random.Generator, shape: tuple[int, ...], shadow: Floats) -> Array:
    """Uniform residues beside the shadows that are given."""
    return make(field.random(rng, shape), shadow, shadow * (1 + OFF * rng.standard_normal(shape)))


def alike(rng: np.random.Generator, kind: str, shape: tuple[int, ...], shadow: Floats) -> Array:
    """Random values of the size and the signs of those that were seen, in a draw of a kind."""
    negative = bool((shadow < 0).any())
    if kind == "tied":
        return whole(rng.choice([-1.0, 0.0, 1.0, 2.0] if negative else [1.0, 2.0], shape))
    size = float(np.sqrt(np.mean(np.square(shadow)))) if shadow.size and np.isfinite(shadow).all() else 1.0
    drawn = rng.standard_normal(shape) if negative else 0.5 + rng.random(shape)
    return draw(rng, shape, (size or 1.0) * drawn)


IDENTITIES: Mapping[str, float] = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}


def identity(kind: str) -> Array:
    """The element that changes nothing in a combination by `kind`."""
    return whole(np.asarray(IDENTITIES[kind]))


def stands_for(dtype: str) -> np.dtype[Any]:
    """The NumPy type of the arrays that stand for tensors of a dtype. Raises Beyond where there is none."""
    if is_float(dtype):
        return EXACT
    if is_complex_dtype(dtype):
        return COMPLEX
    if dtype not in DTYPES or not is_whole(DTYPES[dtype][1]):
        raise Beyond(f"numbers of type {dtype}")
    return DTYPES[dtype][1]
