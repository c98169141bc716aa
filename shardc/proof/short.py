"""How large a program may be that is proved unasked, by a short proof: of few draws."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.graph import Graph
from shardc.proof.comparable import comparable
from shardc.proof.effort import FOUND, beyond, least, operations
from shardc.proof.kinds import kinds_of
from shardc.proof.layers import Layers, layers

SHORT_TIMES = 3
"""All draws of a short proof together may be so many times the work (effort.py) that one may be."""


class Large(Exception):
    """Programs are too large; says why. drawn: that was seen when draws had been made before."""

    def __init__(self, why: str, drawn: bool = False) -> None:
        super().__init__(why)
        self.drawn = drawn


def limit_of(full: Graph, most: int) -> int:
    """The work that one of its draws may be, where all together may be SHORT_TIMES `most`."""
    return limit_with(kinds_of(full), most)


def limit_with(kinds: Sequence[str], most: int) -> int:
    """The same of a program whose draws are of these kinds."""
    return SHORT_TIMES * most // (len(kinds) + 1)


def dealt_of(built: Layers | None) -> tuple[frozenset[int], frozenset[int]]:
    """Calls of either program whose results are not computed."""
    return built.dealt() if built else (frozenset[int](), frozenset[int]())


def prepared(full: Graph) -> int:
    """The work that is done before the first draw."""
    return FOUND * operations(full)


def least_of(whole: Graph, local: Graph) -> int:
    """The work of a draw of both programs at least, with equal layers once."""
    whole, local = comparable(whole), comparable(local)
    built = layers(whole, local)
    return _once(whole, local, built) if built is None else _once(built.whole, built.local, built)


def _once(whole: Graph, local: Graph, built: Layers | None) -> int:
    dealt = dealt_of(built)
    return least(whole, dealt[0]) + least(local, dealt[1])


def check_least(whole: Graph, local: Graph, full: Graph, built: Layers | None, limit: int) -> None:
    """Raises Large where it is seen without reduced shapes that one draw, with what is before it, is more
    work."""
    once = _once(whole, local, built) + prepared(full)
    if once > limit:
        raise Large(beyond(f"{once:,} elements or more", limit))


def check_few(work: int, count: int, limit: int) -> None:
    """Raises Large where that is seen from the `work` of the programs with few of many equal layers, of which
    the global one has `count` operations."""
    once = work + FOUND * count
    if once > limit:
        raise Large(beyond(f"about {once:,} elements", limit))
