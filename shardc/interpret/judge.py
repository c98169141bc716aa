"""Judges one result of the devices by the program in f64, and by what the single-device program gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shardc.graph import TensorType
from shardc.interpret.compared import Array, Compared
from shardc.interpret.decisions import Decision
from shardc.interpret.tolerance import allowed
from shardc.semantics.arrays import is_whole


class Judge:
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
        self.integers = is_whole(own.dtype)
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
