"""How large a program may be that is proved unasked, by a short proof: of few draws."""

from __future__ import annotations

from shardc.graph import Graph
from shardc.proof.effort import FOUND, beyond, least, operations
from shardc.proof.kinds import kinds_of
from shardc.proof.layers import Layers

SHORT_TIMES = 3
"""All draws of a short proof together may be so many times the work (effort.py) that one may be."""


class Large(Exception):
    """Programs are too large; says why. drawn: that was seen when draws had been made before."""

    def __init__(self, why: str, drawn: bool = False) -> None:
        super().__init__(why)
        self.drawn = drawn


def limit_of(full: Graph, most: int) -> int:
    """The work that one of its draws may be, where all together may be SHORT_TIMES `most`."""
    return SHORT_TIMES * most // (len(kinds_of(full)) + 1)


def dealt_of(built: Layers | None) -> tuple[frozenset[int], frozenset[int]]:
    """Calls of either program whose results are not computed."""
    return built.dealt() if built else (frozenset[int](), frozenset[int]())


def prepared(full: Graph) -> int:
    """The work that is done before the first draw."""
    return FOUND * operations(full)


def check_least(whole: Graph, local: Graph, full: Graph, built: Layers | None, limit: int) -> None:
    """Raises Large where it is seen without reduced shapes that one draw, with what is before it, is more
    work."""
    dealt = dealt_of(built)
    once = least(whole, dealt[0]) + least(local, dealt[1]) + prepared(full)
    if once > limit:
        raise Large(beyond(f"{once:,} elements or more", limit))
