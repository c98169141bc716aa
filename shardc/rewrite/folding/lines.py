"""Layers, counted alike in all stretches of a block.

The forward pass of a model runs its layers in their order, the backward pass in the other: its turns are
layers counted down. What the stretches read of each other says which turn of one is which turn of the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

Edge = tuple[int, int, int, int]
"""(stretch, other, sign, shift): turn t reads turn sign * t + shift of the other stretch."""


def lines_of(lengths: Sequence[int], edges: Iterable[Edge]) -> dict[int, tuple[int, int]] | None:
    """Stretch -> (sign, offset): its turn t is layer sign * t + offset. None if some contradict.

    The stretch of the greatest of these lengths counts its turns; those that pass values to it or get some
    follow.
    """
    beside: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for number, other, sign, shift in edges:
        beside[number].append((other, sign, shift))
        beside[other].append((number, sign, -shift * sign))
    root = max(range(len(lengths)), key=lambda i: (lengths[i], -i))
    lines, waiting = {root: (1, 0)}, [root]
    while waiting:
        number = waiting.pop(0)
        sign, offset = lines[number]
        for other, direction, shift in beside[number]:
            if other not in lines:
                lines[other] = sign * direction, offset - sign * direction * shift
                waiting.append(other)
            elif lines[other][0] != sign * direction:
                return None
    return lines
