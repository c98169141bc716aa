"""One attempt to prove two programs equal: first with shorter axes, then at full length.

What evaluates them is imported where their work is within what a proof may take.
"""

from __future__ import annotations

from shardc.graph import Graph
from shardc.proof.effort import beyond, effort, work
from shardc.proof.layers import Layers
from shardc.proof.reduced import Reduced, reduced
from shardc.proof.short import Large, dealt_of, limit_of, prepared
from shardc.proof.verdict import Proof, Verdict

ELEMENTS = 1 << 27
"""The most elements, over all operations and devices, that a proof is tried with."""


def attempt(
    whole: Graph, local: Graph, full: Graph, seed: int, most: int | None, built: Layers | None = None
) -> Proof:
    """A proof of programs, with equal layers as calls where they were `built`; what fails then is no matter.

    What is not proved with shorter axes is tried at full length. Raises Beyond, Large.
    """
    shapes = reduced(whole, local)
    found = _at(shapes, full, seed, most, built)
    again = found.verdict is not Verdict.PROVED and shapes.short
    try:
        return _at(reduced(whole, local, short=False), full, seed, most, built) if again else found
    except Large as error:
        if found.verdict is Verdict.DIFFERS and not shapes.exact:
            raise Large(f"on shorter axes, along which it sums, it differs; {error}", drawn=True) from error
        return found


def _at(shapes: Reduced, full: Graph, seed: int, most: int | None, built: Layers | None = None) -> Proof:
    """A proof of programs at reduced shapes."""
    size = work(shapes.whole) + work(shapes.local)
    if size > ELEMENTS:
        raise Large(f"even reduced it computes {size:.1e} elements")
    dealt = dealt_of(built)
    once = effort(shapes.whole, dealt[0]) + effort(shapes.local, dealt[1])
    if most is not None and (needed := once + prepared(full)) > (limit := limit_of(full, most)):
        raise Large(beyond(f"{needed:,} elements", limit))
    from shardc.proof.drawn import drawn

    return drawn(shapes, full, seed, once, size, most, built)
