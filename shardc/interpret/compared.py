"""What a comparison with f64 says of one result of the devices, and how it reads."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.graph import TensorType
from shardc.interpret.decisions import Decision
from shardc.semantics.arrays import is_whole

Array = NDArray[np.generic]

_NOISE = 0.1
"""From this error of the single-device program on, a comparison says little."""


class Compared(Struct, frozen=True):
    """One result of the devices, and how far it is from the truth.

    error, own, allowed: the largest of the devices, of one device, and what the former may be; parts of the
    largest element, where one device gives a number. wrong: elements that are further off, or integers that
    differ. open: elements that are not compared, since they hang on `decisions`. equal: whether it is to the
    bit what one device gives. hidden: elements other than zero that are smaller than what is allowed; lost:
    those that are numbers in f64 and none on one device; spilled: those that are none on the devices alone,
    which are right where these compute in f64. wide: the same where the devices compute in f64; alike:
    whether the programs have the same literals, so what differs there is wrong.
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
    wide: Compared | None = None
    alike: bool = True

    @property
    def same(self) -> bool:
        return self.wrong == 0 and not (self.alike and self._wrong_in_f64())

    def _wrong_in_f64(self) -> bool:
        return self.wide is not None and self.wide.wrong > 0

    def __str__(self) -> str:
        lines = [f"result {self.index}: {self.type}, {self._errors()}{self._verdict()}"]
        lines += [f"    {decision}" for decision in self.decisions[:3]]
        lines += [f"    {note}" for note in self._notes()]
        return "\n".join(lines)

    def _errors(self) -> str:
        if self.equal and self.own == 0:
            return "equal"
        if is_whole(self.type.numpy):
            return (
                f"{self.wrong + self.open} of {self.type.size} elements differ" if not self.equal else "equal"
            )
        both = f"off by {self.error:.1e} of the largest element, one device by {self.own:.1e}"
        return f"equal, {both}" if self.equal else both

    def _verdict(self) -> str:
        if self.wrong:
            limit = f", {self.allowed:.1e} is allowed" if self.allowed else ""
            return f" -- DIFFERS from the single-device program{limit}"
        if self.alike and self._wrong_in_f64():
            return f" -- DIFFERS from the single-device program in f64: {self._off_in_f64()}"
        if self.open:
            return f"; {self.open} of {self.type.size} elements not compared, since decisions fall otherwise"
        return ""

    def _off_in_f64(self) -> str:
        assert self.wide is not None
        return f"off by {self.wide.error:.1e}, {self.wide.allowed:.1e} is allowed"

    def _notes_in_f64(self) -> list[str]:
        if self.wide is None:
            return []
        if self.wide.wrong and not self.alike:
            why = f"a term that {self.type.dtype} does not show, or another literal"
            return [f"in f64 {self._off_in_f64()}: {why}"]
        left = f"in f64 {self.wide.open} of {self.type.size} elements are not compared, since"
        why = self.wide.decisions[:3] if self.wide.open else ()
        return [f"{left} {decision}" for decision in why]

    def _notes(self) -> list[str]:
        size = self.type.size
        finest = self.wide or self
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
        if 2 * finest.hidden > size:
            below = f"smaller than the error allowed, {finest.allowed:.1e}"
            notes.append(f"{finest.hidden} of {size} elements are {below}: that shows little")
        if self.own > _NOISE:
            notes.append("the single-device program is itself far from f64: that shows little")
        return [*notes, *self._notes_in_f64()]


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
