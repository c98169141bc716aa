"""Which of some global values the devices hold, and in which layout.

   devices hold f32[4, 8] blocks; the global layer takes f32[8, 8] and makes f32[8, 8]
-> the first that it makes, with {"x"} along dimension 0
"""

from __future__ import annotations

from collections.abc import Sequence

from shardc.interpret.devices import Blocks
from shardc.layout import Mesh, Sharding
from shardc.proof import values
from shardc.proof.later import Later
from shardc.proof.loop_layouts import holds, layout
from shardc.semantics.arrays import Array

Source = tuple[bool, int, Sharding]
"""Whether the global layer makes it, else takes it; its number there; and how the devices hold it."""


def held_of(blocks: Blocks, among: Sequence[Blocks]) -> Source | None:
    """What the blocks are known to be."""
    held = blocks.held if isinstance(blocks, Later) else None
    if held is None:
        return None
    return next(((False, n, held.sharding) for n, value in enumerate(among) if value is held.value), None)


def found_among(
    mesh: Mesh, blocks: Blocks, makes: bool, among: Sequence[Blocks], tried: Source | None
) -> Source | None:
    """Which of the global values the blocks are, and how: first what an earlier draw found, then those that
    agree in the first element.
    """
    if tried is not None and tried[0] == makes and holds(tried[2], among[tried[1]][0], blocks):
        return tried
    first = blocks[0]
    fitting = [
        (number, value[0])
        for number, value in enumerate(among)
        if value[0].dtype == first.dtype and value[0].ndim == first.ndim
    ]
    equal = [each for each in fitting if first.size and _starts_alike(each[1], first)]
    for number, array in (*equal, *(each for each in fitting if values.is_exact(first))):
        sharding = layout(mesh, ((array, blocks),))
        if sharding is not None:
            return makes, number, sharding
    return None


def _starts_alike(left: Array, right: Array) -> bool:
    return left.size > 0 and bool(values.same(left.reshape(-1)[:1], right.reshape(-1)[:1]).all())
