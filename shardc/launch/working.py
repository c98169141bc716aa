"""What a device does by itself: products, and functions of elements, and the rates fitted to their times.

The functions are run as programs are: compiled by JAX, or one operation after the other in NumPy, with
results in new memory, blocks of 1 MiB to 16 MiB, all devices at once. Operations and bytes are counted as the
planner counts them (planning/program/costs/fusion.py): what fusing saves, or its absence costs, is in the
rates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import cycle
from math import log2
from typing import Any

import numpy as np
from msgspec import Struct

from shardc.graph.types import DTYPES
from shardc.launch.fitting import Device, Timed, device
from shardc.launch.timing import Call, Clock, quickest
from shardc.ops.definition import Rate

PRODUCTS = (
    (512, 512, 512),
    (1024, 512, 1024),
    (256, 2048, 256),
    (2048, 256, 512),
    (1024, 64, 1024),
    (16, 1024, 1024),
)
"""Rows, terms and columns of the matrices that are multiplied, in units of `scale`. The last two wait for
memory: what is sums of few terms, as in attention, and few rows, as in decoding."""


class Product(Struct, frozen=True):
    """Matrices, each given as it is multiplied or with its dimensions in the other order, as gradients do."""

    dtype: str
    sizes: tuple[int, int, int]
    turned: tuple[bool, bool]

    @property
    def shapes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Of what is given."""
        m, k, n = self.sizes
        left, right = self.turned
        return ((k, m) if left else (m, k)), ((n, k) if right else (k, n))

    @property
    def counted(self) -> tuple[int, int]:
        """Operations, and bytes read and written."""
        m, k, n = self.sizes
        return 2 * m * k * n, self._itemsize * (m * k + k * n + m * n)

    @property
    def across(self) -> int:
        """Bytes of factors that are read across their order (ops/contraction/dot_general.py)."""
        m, k, _ = self.sizes
        return self._itemsize * m * k if self.turned[0] else 0

    @property
    def _itemsize(self) -> int:
        return np.dtype(DTYPES[self.dtype][1]).itemsize

    def __str__(self) -> str:
        names = (f"{rows}x{columns}" for rows, columns in self.shapes)
        return " @ ".join(
            f"({name}).T" if turned else name for name, turned in zip(names, self.turned, strict=True)
        )

    def run(self, a: Any, b: Any) -> Any:
        """The product."""
        left, right = self.turned
        return (a.T if left else a) @ (b.T if right else b)


def first_product(scale: int = 1) -> Product:
    """What processes do between collectives that are timed."""
    m, k, n = PRODUCTS[0]
    return Product("f32", (scale * m, scale * k, scale * n), (False, False))


TURNED = ((False, False), (True, False), (False, True))
"""Of a product, and of the gradients of both its factors."""

SIDES = (512, 1024, 2048)
"""Rows and columns of the f32 blocks of WORK, in units of `scale`: 1 MiB to 16 MiB."""

ORDERED_SIDES = SIDES[:2]
"""Those of ORDERED, which takes longer."""


class Function(Struct, frozen=True):
    """A function of two square blocks with the names of `xp`.

    For each of their elements: operations at a rate (of sorts for each halving), elements read and written,
    and those of them that are read across their order. `each` and `strided` are the same where operations run
    one after the other and nothing is fused; as `moved` and `across` if None. `fused`: only what fuses is to
    be measured by it. NumPy leaves 2 x.T in the order of x, where no other operand has another.
    """

    run: Callable[[Any, Any, Any], Any]
    operations: int
    moved: int
    rate: Rate = Rate.OTHER
    across: int = 0
    each: float | None = None
    strided: int | None = None
    fused: bool = False

    def counted(self, side: int) -> float:
        """The operations of blocks of so many rows."""
        return self.operations * side**2 * (log2(side) if self.rate is Rate.SORT else 1)

    def timed(self, side: int, seconds: float, fuses: bool) -> Timed:
        """What it is a sample of."""
        moved = self.moved if fuses or self.each is None else self.each
        across = self.across if fuses or self.strided is None else self.strided
        size = 4 * side**2
        return Timed(self.counted(side), moved * size, seconds, across * size)


def _shares(xp: Any, x: Any, y: Any) -> Any:
    e = x - xp.max(x, axis=1, keepdims=True)
    return e / xp.sum(e, axis=1, keepdims=True)


WORK = (
    Function(lambda xp, x, y: x + y, 1, 3),
    Function(lambda xp, x, y: x * y + x, 2, 3, each=6),
    Function(lambda xp, x, y: x * x + y - x * y, 4, 3, each=11),
    Function(lambda xp, x, y: xp.sum(x, axis=1), 1, 1),
    Function(lambda xp, x, y: xp.sum((x - y) * (x + y), axis=0), 4, 2, each=10),
    Function(_shares, 4, 3, each=6),
    Function(lambda xp, x, y: xp.concatenate((x, y)), 0, 4),
)

FUNCTIONS = (
    Function(lambda xp, x, y: xp.exp(x), 1, 2, Rate.FUNCTION),
    Function(lambda xp, x, y: xp.tanh(x), 1, 2, Rate.FUNCTION),
    Function(lambda xp, x, y: xp.sqrt(x), 1, 2, Rate.FUNCTION),
    Function(lambda xp, x, y: xp.maximum(x, y), 1, 3, Rate.CHOICE),
    Function(lambda xp, x, y: xp.where(x > 0.1, x, y), 1, 3, Rate.CHOICE, each=4.5),
)
"""Functions of elements that take longer than arithmetic. What the last chooses is always the same: masks and
signs come in long runs."""

CHANNELS = 32
"""Of the images that are convolved, before and after."""

ORDERED = (
    Function(lambda xp, x, y: xp.cumsum(x, axis=0), 1, 2, Rate.SERIAL, strided=1),
    Function(lambda xp, x, y: xp.cumsum(x, axis=1), 1, 2, Rate.SERIAL),
    Function(lambda xp, x, y: xp.argmax(x, axis=0), 1, 1, Rate.ARGMAX, strided=1),
    Function(lambda xp, x, y: xp.argmax(x, axis=1), 1, 1, Rate.ARGMAX),
    Function(lambda xp, x, y: xp.sort(x, axis=0, stable=True), 1, 2, Rate.SORT, strided=2),
    Function(lambda xp, x, y: xp.sort(x, axis=1, stable=True), 1, 2, Rate.SORT),
    Function(lambda xp, x, y: xp.added(x, places(len(x)), y), 1, 3, Rate.SCATTER),
    Function(lambda xp, x, y: xp.convolved(*_images(x, y)), 2 * 9 * CHANNELS, 2, Rate.CONVOLUTION),
)
"""Functions whose elements wait for each other, or are looked up. `added` gives x with rows of y added to
those at some places, `convolved` the sums of an image's 3 x 3 windows with a kernel."""

ACROSS = (
    Function(lambda xp, x, y: 2.0 * x.T, 1, 2, across=1, fused=True),
    Function(lambda xp, x, y: y - 0.1 * x.T, 2, 3, across=1, each=5),
    Function(lambda xp, x, y: xp.sum(x.T * y, axis=1), 2, 2, across=1, each=4),
)
"""Functions that read an operand across its order, as programs do that transpose gradients."""


def _images(x: Any, y: Any) -> tuple[Any, Any]:
    """Blocks as images of 16 x 16 [number, row, column, channel], and a kernel."""
    size = 9 * CHANNELS**2
    kernel = y[: -(-size // len(y))].reshape(-1)[:size].reshape(3, 3, CHANNELS, CHANNELS)
    return x.reshape(-1, 16, 16, CHANNELS), kernel


@cache
def places(size: int) -> Any:
    """Numbers of rows, in no order, some of them several times."""
    return np.random.default_rng(size).integers(0, size, size, np.int32)


def blocks(side: int) -> tuple[Any, Any]:
    """Square blocks for a function: numbers in no order, from 0.25 to 0.75."""
    rng = np.random.default_rng(side)
    x, y = (0.25 + 0.5 * rng.random((side, side), np.float32) for _ in range(2))
    return x, y


_APART = 96 << 20
"""Bytes that are read before the same are read again: more than a processor's share of most caches."""


def copies(side: int, copy: Callable[[Any], Any]) -> Iterator[tuple[Any, Any]]:
    """Pairs of equal blocks, each in memory of its own, again and again: in a program, what an operation
    reads was seldom read just before."""
    x, y = blocks(side)
    count = -(-_APART // (x.nbytes + y.nbytes))
    return cycle([(copy(x), copy(y)) for _ in range(count)])


def measured(
    product: Callable[[Product], Call],
    functions: Callable[[int], Callable[[Function], Call]],
    dtypes: tuple[str, ...],
    clock: Clock,
    scale: int = 1,
    fuses: bool = True,
) -> Device:
    """The rates of this device. `product` makes what is run, and `functions`, given the rows of blocks, what
    makes it, on matrices `scale` times as large in every dimension. Blocks of one size are in memory at a
    time. `fuses`: whether what runs functions makes one of several operations.

    Where nothing fuses, the smallest blocks are left out: in a program what one operation writes is seldom in
    the cache when the next one reads it. Everything else may wait for memory alone; products of dtypes that
    are not listed have its rate too, so it is at most that of products. What products read and write has a
    bandwidth of its own: they also bring it in the order that they want.
    """
    sizes = [(scale * m, scale * k, scale * n) for m, k, n in PRODUCTS]
    products = [Product(dtype, size, turned) for dtype in dtypes for size in sizes for turned in TURNED]
    times = iter(quickest([*map(product, products)], clock))
    samples: dict[str, list[Timed]] = {}
    for one in products:
        across = one.across if fuses else 0
        samples.setdefault(one.dtype, []).append(Timed(*one.counted, next(times), across))
    shapes = {
        dtype: _range({str(one): timed for one, timed in zip(of, samples[dtype], strict=True)})
        for dtype in dtypes
        for of in [[one for one in products if one.dtype == dtype]]
    }
    first = 0 if fuses else 1
    for side in SIDES[first:]:
        chosen = (*WORK, *FUNCTIONS, *(ORDERED if side in ORDERED_SIDES else ()), *ACROSS)
        found = [f for f in chosen if fuses or not f.fused]
        for f, seconds in zip(found, _timed(functions, scale * side, found, clock), strict=True):
            samples.setdefault(f.rate, []).append(f.timed(scale * side, seconds, fuses))
    return device(samples, dtypes, shapes, fuses)


def _timed(
    functions: Callable[[int], Callable[[Function], Call]], side: int, found: Sequence[Function], clock: Clock
) -> list[float]:
    """Seconds of functions on blocks of so many rows, which go when they are timed."""
    return quickest([*map(functions(side), found)], clock)


def _range(found: Mapping[str, Timed]) -> str:
    """What the slowest and the quickest reach, memory included."""
    each = {name: timed.operations / timed.seconds for name, timed in found.items()}
    ends = min(each, key=lambda name: each[name]), max(each, key=lambda name: each[name])
    return " to ".join(f"{each[name]:.2g} ({name})" for name in ends)
