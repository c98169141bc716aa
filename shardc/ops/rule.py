"""Factor rules: one record that says everything about how an operation may be sharded.

([i,k],[k,j])->([i,j]) with k a reduction: dimensions that move together share a factor. That one record
drives propagation, the validity check, reshard insertion, localisation, cost and explanation.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from msgspec import Struct

Dims = tuple[tuple[int, ...], ...]
"""For each dimension of one tensor the indices of its factors, major to minor."""


class Kind(Enum):
    """What it means to shard a factor."""

    PASS = "pass-through"  # every tensor alike: no communication
    REDUCTION = "reduction"  # operands only: the result is partial
    REPLICATE = "need_replication"  # the plain local operation needs it whole
    PERMUTATION = "permutation"  # results need neighbours' data


class Factor(Struct, frozen=True):
    """One factor: its size, its kind, and whether propagation through it is blocked.

    `plain` says whether every device may run the same operation on its blocks when this factor is sharded,
    where the kind (which is sdy's) does not tell: a gather's collapsed dimension is a reduction but needs
    masked indices (False), the pixels of a 1x1 convolution are a permutation that never permutes (True).
    """

    size: int
    kind: Kind = Kind.PASS
    blocked: bool = False
    plain: bool | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the plain operation on local blocks is right when this factor is sharded evenly."""
        return self.kind in (Kind.PASS, Kind.REDUCTION) if self.plain is None else self.plain


class FactorRule(Struct, frozen=True):
    """How the dimensions of operands and results correspond, and how partial results flow.

    `reduction` is how results that are partial over a REDUCTION factor combine: sum, max, min; None where
    no such combination is right (an argmax), or where an all-reduce cannot do it (prod).

    `linear`: groups of operands in which the operation is jointly linear. If every operand of one group is a
    partial sum over an axis, and the others are equal over it, the results are partial sums over it. An
    operand of a group that is whole is made partial first (one device keeps it, the others hold zeros), so
    what must count once (a bias, a reduce's init) does.

    `monotone`: the same for partial max and min, kind kept: the operation commutes with taking the maximum,
    and with taking the minimum, of all operands of the group. `antitone`: likewise, but max becomes min and
    min max. `max_only`, `min_only`: groups that commute with one of the two (a reduce by max keeps a partial
    max). Devices that hold nothing hold 0, -inf or +inf; the groups are right for those too (so not sqrt).

    `once`: operands without a REDUCTION factor that add to the result, so they must be partial over the axes
    of sharded REDUCTION factors (a reduce's init, what scatter adds to).
    """

    factors: tuple[Factor, ...]
    operands: tuple[Dims, ...]
    results: tuple[Dims, ...]
    reduction: str | None = None
    linear: tuple[frozenset[int], ...] = ()
    monotone: tuple[frozenset[int], ...] = ()
    antitone: tuple[frozenset[int], ...] = ()
    max_only: tuple[frozenset[int], ...] = ()
    min_only: tuple[frozenset[int], ...] = ()
    once: frozenset[int] = frozenset()

    def flows(self, kind: str) -> tuple[tuple[frozenset[int], str], ...]:
        """The groups of operands that partials of `kind` may flow through, each with the results' kind."""
        if kind == "sum":
            return tuple((group, "sum") for group in self.linear)
        special, other = {"max": (self.max_only, "min"), "min": (self.min_only, "max")}[kind]
        return tuple((group, kind) for group in self.monotone + special) + tuple(
            (group, other) for group in self.antitone
        )

    @property
    def tensors(self) -> tuple[Dims, ...]:
        """Operands, then results."""
        return self.operands + self.results

    def __str__(self) -> str:
        """As sdy writes it: ([i, k], [k, j])->([i, j]) {i=8, j=8, k=16} reduction={k}."""
        operands, results = (_tensors_text(group) for group in (self.operands, self.results))
        sizes = ", ".join(f"{name(i)}={factor.size}" for i, factor in enumerate(self.factors))
        kinds = "".join(
            f" {kind.value}={{{', '.join(name(i) for i, f in enumerate(self.factors) if f.kind is kind)}}}"
            for kind in (Kind.REDUCTION, Kind.REPLICATE, Kind.PERMUTATION)
            if any(f.kind is kind for f in self.factors)
        )
        blocked = [name(i) for i, factor in enumerate(self.factors) if factor.blocked]
        tail = f" blocked_propagation={{{', '.join(blocked)}}}" if blocked else ""
        return f"({operands})->({results}){f' {{{sizes}}}' if sizes else ''}{kinds}{tail}"


def name(index: int) -> str:
    """The letter sdy gives the index-th factor: i to z, then z_1, z_2, …"""
    return chr(ord("i") + index) if index < 18 else f"z_{index - 17}"


def _tensors_text(tensors: Sequence[Dims]) -> str:
    return ", ".join("[" + ", ".join("".join(map(name, dim)) for dim in dims) + "]" for dims in tensors)
