"""Where a block lies in an array, from the numbers of its elements: 64 * data + 16 * i + j."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf, prod

from msgspec import Struct

from shardc.backend.python.draws.elements import Affine, Symbol


class Block(Struct, frozen=True):
    """The shape of the whole array, and the mesh axes that split each dimension, major to minor."""

    shape: tuple[int, ...]
    split: tuple[tuple[str, ...], ...]


def block_of(number: Affine, places: Sequence[Symbol]) -> Block | None:
    """The block whose element at some places has this number in row-major order; None if it is none.

    Where blocks of several arrays have these numbers, it is one of them.
    """
    factors = dict(number.terms)
    axes = {factor: symbol for symbol, factor in number.terms if symbol[0] == "axis"}
    dims: list[tuple[int, tuple[Symbol, ...]]] = []
    stride = 1
    for dim in reversed(range(len(places))):
        step, names = stride * places[dim][2], list[Symbol]()
        before = next((factors[p] for p in reversed(places[:dim]) if p in factors), inf)
        while step in axes and step < before:
            names.insert(0, axes.pop(step))
            step *= names[0][2]
        known = dim > 0 and places[dim - 1] in factors
        size = int(before) // stride if known else step // stride
        dims.insert(0, (size, tuple(names)))
        stride *= size
    same = _numbers(dims, places) == factors and number.constant == 0
    split = tuple(tuple(name for _, name, _ in names) for _, names in dims)
    return Block(tuple(size for size, _ in dims), split) if same else None


def _numbers(
    dims: Sequence[tuple[int, tuple[Symbol, ...]]], places: Sequence[Symbol]
) -> Mapping[Symbol, int]:
    """The factors of the numbers that a block has, whose dimensions have these sizes and axes."""
    found: Counter[Symbol] = Counter()
    stride = 1
    for (size, names), place in reversed(list(zip(dims, places, strict=True))):
        if -(-size // prod(name[2] for name in names)) != place[2]:
            return {}
        if place[2] > 1:
            found[place] += stride
        step = stride * place[2]
        for name in reversed(names):
            found[name] += step
            step *= name[2]
        stride *= size
    return dict(found)
