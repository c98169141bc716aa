"""What a proof came to, and what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from shardc.proof.draws import Draw
    from shardc.proof.failure import Difference
    from shardc.proof.induction import Note, Plan
    from shardc.proof.reduced import Reduced
    from shardc.semantics.arrays import Array


class Verdict(Enum):
    """What a proof came to."""

    PROVED = "proved"
    DIFFERS = "differs"
    NOT_PROVED = "not proved"


class Proof(Struct, frozen=True):
    """The verdict, and what it rests on.

    chance: of a miss, by degrees and pairs of hashed values. one_way: decisions that fell only one way.
    taken: lines of per-device code that the global program has, too. loops: by induction, for each draw.
    unfit: an emitted text that could not be read, since its shapes do not fit. law: by that of exp.
    more: draws that were added since the chance of a miss was too high. layers: of each kind that was proved
    once, how many there are, of how many operations, and the line of the first; layers_made: for each draw.
    in_full: the same of equal layers that were found and are run in full.
    results: what makes those of each draw. as_local: an emitted text is equal to the per-device program.
    undrawn: the programs are too large, which was seen before anything was drawn; it does not depend on which
    floats are in them, but where these tell that absolute values are none.
    """

    verdict: Verdict
    reason: str = ""
    shapes: Reduced | None = None
    draws: tuple[Draw, ...] = ()
    results: tuple[Callable[[], Iterable[Array]], ...] = ()
    chance: float = 1.0
    one_way: tuple[str, ...] = ()
    decisions: int = 0
    sampled: tuple[str, ...] = ()
    difference: Difference | None = None
    again: tuple[str, ...] = ()
    taken: tuple[int, ...] = ()
    loops: tuple[tuple[Note, ...], ...] = ()
    plan: Plan | None = None
    unfit: bool = False
    law: bool = False
    more: int = 0
    layers: tuple[tuple[int, int, int], ...] = ()
    in_full: tuple[tuple[int, int, int], ...] = ()
    layers_made: tuple[Mapping[int, tuple[Array, ...]], ...] = ()
    as_local: bool = False
    undrawn: bool = False

    @property
    def fails(self) -> bool:
        """Whether the program is not to be used: it differs, or does not fit."""
        return self.unfit or self.verdict is Verdict.DIFFERS
