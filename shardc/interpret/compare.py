"""The per-device program on emulated devices, against the single-device program in f64.

Both errors are measured against f64: that of the devices, and that of the single-device program in the
program's own dtypes. How far the devices may be off is said by tolerance.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardc.graph import Graph, TensorType
from shardc.interpret.decisions import SAMPLES, Decision, nearby
from shardc.interpret.reference import Reference
from shardc.interpret.run import run
from shardc.interpret.tolerance import allowed, bounds
from shardc.interpret.wide import run_wide

Array = NDArray[np.generic]

_NOISE = 0.1
"""From this error of the single-device program on, a comparison says little."""


@dataclass(frozen=True)
class Compared:
    """One result of the devices, and how far it is from the truth.

    error, own, allowed: the largest of the devices, of one device, and what the former may be; parts of the
    largest element, where one device gives a number. wrong: elements that are further off, or integers that
    differ. open: elements that are not compared, since they hang on `decisions`. equal: whether it is to the
    bit what one device gives. hidden: elements other than zero that are smaller than what is allowed; lost:
    those that are numbers in f64 and none on one device; spilled: those that are none on the devices alone,
    which are right where these compute in f64.
    """

    index: int
    type: TensorType
    array: Array
    error: float
    own: float
    allowed: float
    wrong: int
    open: int
    equal: bool
    decisions: tuple[Decision, ...] = ()
    hidden: int = 0
    lost: int = 0
    spilled: int = 0

    @property
    def same(self) -> bool:
        return self.wrong == 0

    def __str__(self) -> str:
        lines = [f"result {self.index}: {self.type}, {self._errors()}{self._verdict()}"]
        lines += [f"    {decision}" for decision in self.decisions[:3]]
        lines += [f"    {note}" for note in self._notes()]
        return "\n".join(lines)

    def _errors(self) -> str:
        if self.equal and self.own == 0:
            return "equal"
        if self.type.numpy.kind in "iub":
            return (
                f"{self.wrong + self.open} of {self.type.size} elements differ" if not self.equal else "equal"
            )
        both = f"off by {self.error:.1e} of the largest element, one device by {self.own:.1e}"
        return f"equal, {both}" if self.equal else both

    def _verdict(self) -> str:
        if self.wrong:
            limit = f", {self.allowed:.1e} is allowed" if self.allowed else ""
            return f" -- DIFFERS from the single-device program{limit}"
        if self.open:
            return f"; {self.open} of {self.type.size} elements not compared, since decisions fall otherwise"
        return ""

    def _notes(self) -> list[str]:
        size = self.type.size
        found, none = _plain(self.array), _numberless(self.array)
        notes = [f"all {size} elements are {found}: that shows little"] if found else []
        if not found and 2 * none >= size > 0:
            notes.append(f"{none} of {size} elements are NaN or infinite: that shows little")
        if self.lost:
            notes.append(
                f"{self.lost} of {size} elements are numbers in f64 that {self.type.dtype} does not hold"
            )
        if self.spilled:
            notes.append(
                f"{self.spilled} of {size} elements are sums whose parts {self.type.dtype} does not hold; "
                "in f64 the devices have them right"
            )
        if 2 * self.hidden > size:
            notes.append(
                f"{self.hidden} of {size} elements are smaller than the error allowed, {self.allowed:.1e}: "
                "that shows little"
            )
        if self.own > _NOISE:
            notes.append("the single-device program is itself far from f64: that shows little")
        return notes


def _plain(array: Array) -> str:
    """NaN, zero or a number where all of several elements are that; else nothing."""
    if array.size < 2 or array.dtype.kind == "b":
        return ""
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64).reshape(-1)
    if bool(np.isnan(wide).all()):
        return "NaN"
    return f"{wide[0]:g}" if bool((wide == wide[0]).all()) else ""


def _numberless(array: Array) -> int:
    """How many elements are NaN or infinite."""
    return int(np.sum(~np.isfinite(array))) if array.dtype.kind in "fcV" else 0


def compare(
    reference: Reference, local: Graph, arrays: Sequence[Array], got: Sequence[Array] | None = None
) -> list[Compared]:
    """Run the reference and the per-device program on the same arguments; one entry per result.

    `got` are the per-device program's results where it was run elsewhere.
    """
    exact = reference.exact(arrays)
    own, decisions = reference.own(arrays)
    got = run(local, arrays) if got is None else got
    types = local.types(local.main.body.results)
    limits = bounds(local)
    judges = [
        _Judge(index, type, *three, limit, decisions.get(index, []))
        for index, (type, three, limit) in enumerate(
            zip(types, zip(exact, own, got, strict=True), limits, strict=True)
        )
    ]
    if any(judge.doubtful for judge in judges):
        for seed in range(SAMPLES):
            results, found = reference.own(nearby(arrays, seed))
            for judge, sample in zip(judges, results, strict=True):
                judge.learn(sample, found.get(judge.index, []))
    if any(judge.spills.any() for judge in judges):
        for judge, wide in zip(judges, run_wide(local, arrays), strict=True):
            judge.spilled = judge.spills & judge.near(wide)
    return [judge.verdict() for judge in judges]


class _Judge:
    """Compares one result; `learn` is told what the single-device program gives on arguments nearby."""

    def __init__(
        self,
        index: int,
        type: TensorType,
        exact: Array,
        own: Array,
        got: Array,
        limit: float,
        decisions: Sequence[Decision],
    ) -> None:
        self.index, self.type, self.exact, self.own, self.got, self.limit = (
            index,
            type,
            exact,
            own,
            got,
            limit,
        )
        self.decisions = list(decisions)
        self.fits = own.shape == got.shape and own.dtype == got.dtype
        self.integers = own.dtype.kind in "iub"
        finite = np.abs(exact[np.isfinite(exact)]) if exact.dtype.kind in "fc" else np.ones(1)
        self.scale = float(finite.max(initial=0.0)) or 1.0
        self.apart = self._apart(own)
        self.lost = self._lost(own)
        self.moved = np.zeros(exact.shape, np.bool_)
        self.spilled = np.zeros(exact.shape, np.bool_)

    @property
    def doubtful(self) -> bool:
        """Whether one run of the single-device program is not enough to judge by."""
        return self.fits and (bool(self._wrong().any()) or bool(self.decisions))

    @property
    def spills(self) -> NDArray[np.bool_]:
        """Elements that only the devices do not have as numbers: parts of a sum may be larger than it."""
        if self.integers or not self.fits:
            return np.zeros(self.exact.shape, np.bool_)
        return np.isfinite(self.exact) & np.isfinite(self.own) & ~np.isfinite(self.got)

    def near(self, array: Array) -> NDArray[np.bool_]:
        """Which elements are as near to f64 as they may be."""
        return self._apart(array) <= self._allowed()

    def learn(self, sample: Array, decisions: Sequence[Decision]) -> None:
        """An element hangs on a decision if it jumps: by more than most elements are off."""
        known = {decision.node.id for decision in self.decisions}
        self.decisions += [decision for decision in decisions if decision.node.id not in known]
        apart = self._apart(sample)
        self.moved |= apart > allowed(self._usual(self.apart), self.limit)
        self.apart = np.maximum(self.apart, apart)

    def verdict(self) -> Compared:
        if not self.fits:
            wrong = max(1, self.type.size)
            inf = float("inf")
            return Compared(self.index, self.type, self.got, inf, 0.0, 0.0, wrong, 0, False)
        wrong = self._wrong()
        unsure = wrong & self._unsure()
        errors = self._apart(self.got)
        open = int(unsure.sum())
        decisions = self.decisions if open or self.decisions else []
        return Compared(
            self.index,
            self.type,
            self.got,
            float(errors[~self.lost & ~self.spilled].max(initial=0.0)),
            self._largest(),
            0.0 if self.integers else self._allowed(),
            int(wrong.sum()) - open,
            open,
            self.got.tobytes() == self.own.tobytes(),
            tuple(decisions),
            self._hidden(),
            int(self.lost.sum()),
            int(self.spilled.sum()),
        )

    def _hidden(self) -> int:
        """Elements other than zero that could be anything of their size, or zero."""
        if self.integers or self.exact.dtype.kind not in "fc":
            return 0
        sizes = np.abs(self.exact) / self.scale
        return int(np.sum((sizes > 0) & (sizes <= self._allowed())))

    def _unsure(self) -> NDArray[np.bool_]:
        if not self.decisions:
            return np.zeros(self.exact.shape, np.bool_)
        return self.moved | (self.apart > allowed(self._usual(self.apart), self.limit))

    def _lost(self, own: Array) -> NDArray[np.bool_]:
        """Elements that overflow: numbers in f64, infinite or NaN on one device."""
        if self.integers or not self.fits:
            return np.zeros(self.exact.shape, np.bool_)
        return np.isfinite(self.exact) & ~np.isfinite(own)

    def _wrong(self) -> NDArray[np.bool_]:
        """Elements that are further off than they may be; what one device gives, to the bit, is right.

        Where one device overflows, the devices may in another way: infinity less infinity is NaN.
        """
        same = (self.got == self.own) | (_nan(self.got) & _nan(self.own))
        if self.lost.any():
            same |= self.lost & ~np.isfinite(self.got)
        return ~same & ~self.spilled & ~self.near(self.got)

    def _allowed(self) -> float:
        if self.integers:
            return 0.0
        return allowed(self._largest(), self.limit)

    def _largest(self) -> float:
        """The error of one device, where no decision is in the way."""
        sure = self.apart[~self._unsure() & np.isfinite(self.apart)]
        return float(sure.max(initial=0.0))

    def _usual(self, apart: NDArray[np.float64]) -> float:
        finite = apart[np.isfinite(apart)]
        return float(np.quantile(finite, 0.75)) if finite.size and not self.integers else 0.0

    def _apart(self, array: Array) -> NDArray[np.float64]:
        """How far each element is from f64, as a part of the largest; 0 for equal infinities and two NaNs."""
        kind = np.complex128 if self.exact.dtype.kind == "c" else np.float64
        if self.integers:
            return (array != self.exact).astype(np.float64)
        wide, exact = array.astype(kind), self.exact.astype(kind)
        with np.errstate(all="ignore"):
            apart = np.abs(wide - exact) / self.scale
        apart = np.where((wide == exact) | (np.isnan(wide) & np.isnan(exact)), 0.0, apart)
        return np.where(np.isnan(apart), np.inf, apart)


def _nan(array: Array) -> NDArray[np.bool_]:
    return np.isnan(array) if array.dtype.kind in "fcV" else np.zeros(array.shape, np.bool_)
