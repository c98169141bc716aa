"""Lists of axes, major to minor, as they split one dimension or factor: which extends which."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from shardc.layout import Axis, Mesh

Axes = tuple[Axis, ...]


def starts(shorter: Axes, longer: Axes) -> bool:
    """Whether `longer` begins with `shorter`, whose last axis may be a major part of its counterpart."""
    if not shorter:
        return True
    last = len(shorter) - 1
    if last >= len(longer) or shorter[:last] != longer[:last]:
        return False
    return shorter[last].is_prefix_of(longer[last])


def extends(longer: Axes, shorter: Axes) -> bool:
    """Whether `longer` begins with `shorter` and says more."""
    return longer != shorter and starts(shorter, longer)


def common(old: Axes, new: Axes, grow: bool) -> tuple[Axes, bool]:
    """The major axes on which two lists agree, and whether a third list may still make the result longer.

    Where one list ends the other goes on, if it is `old` or `grow` allows it. Where they contradict each
    other the result ends, and nothing can make it longer.

        common((x,), (x, y), True)            -> (x, y), True
        common((x,), (x, y), False)           -> (x,), False
        common((x, y), (x, z), True)          -> (x,), False
        common((x:(1)2, y), (x:(1)4,), True)  -> (x:(1)2,), False
    """
    kept: list[Axis] = []
    for place, (a, b) in enumerate(zip(old, new, strict=False)):
        if a == b:
            kept.append(a)
        elif b.is_prefix_of(a):
            if place + 1 < len(new):  # what follows b contradicts the rest of a
                return (*kept, b), False
            kept.append(a)
        elif a.is_prefix_of(b):
            if not grow or place + 1 < len(old):
                return (*kept, a), False
            kept.append(b)
        else:
            return tuple(kept), False
    kept.extend(old[len(new) :])
    if grow:
        kept.extend(new[len(old) :])
    return tuple(kept), grow


def shorten(axes: Axes, allowed: Callable[[Axis, int], Axis | None], whole_in: Mesh | None) -> Axes:
    """The list up to the first axis that is not allowed in full.

    `allowed` is told an axis and the product of the sizes before it, and says how much of the axis may stay.
    With `whole_in`, the list also ends before anything that is not a whole axis of that mesh.
    """
    size = 1
    for place, axis in enumerate(axes):
        part = allowed(axis, size)
        if part is None or (whole_in is not None and not whole_in.is_full(part)):
            return axes[:place]
        if part != axis:
            return (*axes[:place], part)
        size *= axis.size
    return axes


def dividing_part(axis: Axis, size: int) -> Axis | None:
    """The longest major part of the axis that divides `size`; None if that is nothing."""
    common_size = gcd(size, axis.size)
    if common_size == axis.size:
        return axis
    return Axis(axis.name, common_size, axis.pre) if common_size > 1 else None
