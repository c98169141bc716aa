"""One draw: its random functions, the inputs, and what was decided in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from shardc.graph import FOUR_BITS, Graph, Node, TensorType
from shardc.proof import values
from shardc.proof.any_integers import any_integers
from shardc.proof.any_order import AnyOrder
from shardc.proof.each_once import EachOnce
from shardc.proof.effort import Budget
from shardc.proof.exponents import Exponents
from shardc.proof.field import key_of
from shardc.proof.kinds import KINDS
from shardc.proof.lost import LostLast
from shardc.proof.narrow import Known
from shardc.proof.order import Order
from shardc.proof.rounding import Moved
from shardc.proof.thresholds import Thresholds
from shardc.semantics.arrays import Array, integer_ends

NEGATIVE = "negative"
"""Below zero: one more draw where there are decisions, since a maximum with 0 is 0 then."""

PEAKS, LONGEST = "peaks", 16
"""In every line of up to LONGEST elements, along any dimension, another is the greatest by far in each of so
many draws, and another the least: what a maximum may wrongly take or leave is seen where it wins.
"""

THRESHOLDS = "thresholds"
"""At and between the numbers at which decisions of the two programs change (thresholds.py)."""

ANY_ORDER = "any order"
"""With any order in the place of the real one (any_order.py)."""

CASTS_KEPT = "any order but of casts"
"""The same with casts to 8 bits as the identity: that the greater of two casts is the cast of the greater
holds in the real order only.
"""

EACH_ONCE = "any order, each once"
"""With any order in which a maximum may be taken of a value twice (each_once.py)."""

ORDERLESS = (ANY_ORDER, CASTS_KEPT, EACH_ONCE)

ALL = (*KINDS, NEGATIVE, PEAKS, THRESHOLDS, *ORDERLESS)

_UNBOUNDED = ("tied", THRESHOLDS, *ORDERLESS)
"""Elements may be equal in these, or decisions be others: they have no part in the bound on a miss."""

Place = tuple[int, int]
"""The number of the program, as they were run, and the node."""


class Draw(Struct):
    """The random choices of one run of both programs; `seed` and `kind` give them all.

    divides: whether 1 / x is the field's inverse, not one more random function. What is equal with any
    function in its place is equal, and has no denominators.
    near: what a draw of THRESHOLDS has its values from, and one of any order the places.
    """

    seed: int
    kind: str = "mixed"
    divides: bool = True
    near: Thresholds = field(default_factory=Thresholds)
    decisions: dict[Place, set[bool]] = {}
    places: dict[Place, str] = {}
    hashed: dict[str, Counter[Place]] = {}
    programs: int = 0
    pending: set[bool] = set()
    pending_hashes: Counter[str] = field(default_factory=Counter[str])
    exponents: Exponents | None = None
    budget: Budget | None = None
    """What may be computed yet, in all draws; None: all there is."""
    known: dict[str, Known] = {}
    """The numbers of dtypes of 8 bits."""
    as_f64: bool = False
    """Whether casts to 8 bits round, and f64 decides what has no place in the real order (lost.py)."""
    moved: Moved | None = None
    """Numbers that are not where they are, but rounded (rounding.py)."""
    denominators: bool = False
    """Whether something was divided by what is no constant."""

    @property
    def uniform(self) -> bool:
        """Whether residues are uniform, and decisions real."""
        return self.kind not in _UNBOUNDED

    def order(self) -> Order:
        """What decisions are made by."""
        if self.kind in ORDERLESS:
            kind = AnyOrder if self.kind == ANY_ORDER else EachOnce
            return kind(self.key("order"), self.near.literals)
        return LostLast() if self.as_f64 else Order()

    def key(self, name: str, *attrs: object) -> int:
        """The key of a random function."""
        return key_of(self.seed, name, *attrs)

    def narrow(self, dtype: str) -> Known:
        """The numbers of a dtype of 8 bits, so far."""
        return self.known.setdefault(dtype, Known())

    def hashes(self, function: str, count: int) -> None:
        """The operation that is computed applied a random function to so many elements."""
        self.pending_hashes[function] += count

    def decided(self, outcomes: NDArray[np.bool_]) -> None:
        """The operation that is computed decided so on its elements."""
        if outcomes.size:
            self.pending.update((bool(outcomes.all()), bool(outcomes.any())))

    def settled(self, node: Node) -> None:
        """What was decided and hashed since the last call was so by this node of the program that runs."""
        key = (self.programs, node.id)
        if self.pending_hashes:
            for function, count in self.pending_hashes.items():
                self.hashed.setdefault(function, Counter())[key] += count
            self.pending_hashes.clear()
        if self.pending:
            self.places[key] = f"{node.name} in line {node.loc.line}"
            self.decisions.setdefault(key, set()).update(self.pending)
            self.pending.clear()

    def inputs(self, whole: Graph, full: Graph) -> list[Array]:
        """Arguments of the global program; `full` is the same before sizes were reduced.

        Shadows of matrices are as small as their sums are long, so that sums stay of the size of 1.
        """
        rng = np.random.default_rng(self.seed)
        types, sizes = (graph.types(graph.main.body.args) for graph in (whole, full))
        scales = [1 / max(type.shape) if type.rank > 1 else 1.0 for type in sizes]
        most = largest(types)
        return [
            _any(rng, type) if free and self.kind == "mixed" else self._input(rng, type, scale, most)
            for type, scale, free in zip(types, scales, any_integers(full), strict=True)
        ]

    def _input(self, rng: np.random.Generator, type: TensorType, scale: float, most: int) -> Array:
        dtype = values.stands_for(type.dtype)
        if dtype == values.COMPLEX:
            real, imaginary = (self._input(rng, type.with_dtype("f64"), scale, most) for _ in range(2))
            return values.pair(real, imaginary)
        if dtype != values.EXACT:
            return _integers(rng, type, self.kind, most)
        if self.kind == "tied":
            return values.whole(rng.choice([-1.0, 0.0, 0.0, 1.0, 2.0], type.shape))
        if self.kind == THRESHOLDS:
            return self._near(rng, type.shape)
        if self.kind == PEAKS:
            shadow = rng.standard_normal(type.shape) + _peaks(type.shape, self.seed, min(most, LONGEST))
        elif self.kind in ("mixed", *ORDERLESS):
            shadow = rng.standard_normal(type.shape)
        else:
            shadow = 0.25 + rng.random(type.shape) / 2
        return values.draw(rng, type.shape, shadow * (-scale if self.kind == NEGATIVE else scale))

    def like(self, rng: np.random.Generator, shape: tuple[int, ...], shadow: NDArray[np.float64]) -> Array:
        """Random values of the size and the signs of those that were seen."""
        if self.kind == THRESHOLDS:
            return self._near(rng, shape)
        if self.kind != PEAKS:
            return values.alike(rng, self.kind, shape, shadow)
        peaks = _peaks(shape, self.seed, LONGEST)
        normal = rng.standard_normal(shape)
        return values.draw(
            rng, shape, normal + peaks if (shadow < 0).any() else np.abs(normal) + np.abs(peaks)
        )

    def _near(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Values in the intervals, in turn; the draw of the next seed goes on where this one ends. With an
        odd seed lines along a dimension are each in one interval, and so are their maxima and means.
        """
        along = self.seed // 2 % len(shape) if self.seed % 2 and shape else -1
        lines = tuple(1 if dim == along else size for dim, size in enumerate(shape))
        size = int(np.prod(lines))
        places = rng.permutation((self.seed * size + np.arange(size)) % len(self.near.intervals))
        turns = np.broadcast_to(places.reshape(lines), shape)
        low, high = (np.array(ends)[turns] for ends in zip(*self.near.intervals, strict=True))
        shadow = low + (high - low) * (0.25 + 0.5 * rng.random(shape))
        return np.where(low == high, values.whole(low), values.draw(rng, shape, shadow))


def largest(types: Sequence[TensorType]) -> int:
    """The largest dimension of tensors."""
    return max((size for type in types for size in type.shape), default=0)


def _peaks(shape: tuple[int, ...], seed: int, period: int) -> NDArray[np.float64]:
    """High and low ones, each at one place in turn of so many along every dimension."""
    places = np.indices(shape).sum(0) if shape else np.zeros((), np.int64)
    turns = (places + seed) % max(period, 2)
    return 16.0 * (turns == 0) - 16.0 * (turns == max(period, 2) // 2)


def _any(rng: np.random.Generator, type: TensorType) -> Array:
    """Numbers of all sizes that the dtype has, of each length in bits as many."""
    if type.dtype in FOUR_BITS:
        return rng.integers(*integer_ends(type.numpy), type.shape, endpoint=True).astype(type.numpy)
    bounds = np.iinfo(type.numpy)
    drawn = rng.integers(bounds.min, bounds.max, type.shape, type.numpy, endpoint=True)
    return np.right_shift(drawn, rng.integers(0, bounds.bits, type.shape).astype(type.numpy))


def _integers(rng: np.random.Generator, type: TensorType, kind: str, most: int) -> Array:
    """Small numbers, which are good indices; in a tied draw some outside of any dimension too, in a positive
    one those of the largest dimension, so that indices meet the blocks of all devices.
    """
    if type.dtype == "bool":
        return rng.integers(0, 2, type.shape).astype(np.bool_)
    low = -2 if kind == "tied" and not type.dtype.startswith("u") else 0
    _, largest = integer_ends(type.numpy)
    high = min(max(8, most) if kind == "positive" else 8, largest)
    return rng.integers(low, high, type.shape).astype(type.numpy)


def one_way(draws: Sequence[Draw]) -> tuple[int, list[str]]:
    """How many decisions the draws had, and where those are that fell only one way."""
    seen: dict[Place, set[bool]] = {}
    for draw in draws:
        for key, outcomes in draw.decisions.items():
            seen.setdefault(key, set()).update(outcomes)
    places = {key: place for draw in draws for key, place in draw.places.items()}
    return len(seen), [places[key] for key, outcomes in seen.items() if len(outcomes) == 1]
