"""The aggressive strategy: each tensor takes what it can, and conflicts are decided instead of avoided.

Tensors of one operation may end with different axes for a factor. When two factors want the same axis in one
tensor, the factor whose axes come from the larger tensor gets it.
"""

from __future__ import annotations

from functools import partial
from math import prod

from shardc.layout import Axis, Mesh, size_of
from shardc.propagation.basic import agreed_axes, beside_others, within_factor
from shardc.propagation.direction import Directions
from shardc.propagation.lists import Axes, extends, shorten, starts
from shardc.propagation.projection import Projection, TensorProjection


def aggressive(
    projection: Projection, directions: Directions, whole_in: Mesh | None = None, elementwise: bool = False
) -> set[int]:
    """Propagate all factors at once; the numbers of the tensors that changed. `projection` is updated.

    In an elementwise operation an operand never takes more than the results took: a neighbour's axes are of
    no use to it if the result cannot have them.
    """
    wanted = [agreed_axes(projection, factor, way) for factor, way in enumerate(directions)]
    if not any(wanted):
        return set()
    order = _order(projection, wanted, elementwise)
    changed: set[int] = set()
    count = len(projection.operands)
    limits = projection.results if elementwise else []
    for number, tensor in enumerate(projection.results):
        if _propagate(tensor, order, wanted, projection.sizes, whole_in, []):
            changed.add(count + number)
    for number, tensor in enumerate(projection.operands):
        if _propagate(tensor, order, wanted, projection.sizes, whole_in, limits):
            changed.add(number)
    return changed


def _order(projection: Projection, wanted: list[Axes], elementwise: bool) -> list[int]:
    """The factors, strongest claim first."""
    sources = _sources(projection, wanted)

    def claim(factor: int) -> tuple[int, int, int, int]:
        size, tensor = sources[factor]
        return (-size, -size_of(wanted[factor]) if elementwise else 0, tensor, factor)

    return sorted(range(len(wanted)), key=claim)


def _sources(projection: Projection, wanted: list[Axes]) -> list[tuple[int, int]]:
    """For each factor the size and number of the largest tensor that holds all its axes already."""
    sources = [(-1, -1)] * len(wanted)
    for number, tensor in enumerate(projection.tensors):
        size = prod(projection.sizes[factor] for factor in tensor.factors)
        for factor, held in tensor.factors.items():
            if wanted[factor] and size > sources[factor][0] and starts(wanted[factor], held.axes):
                sources[factor] = (size, number)
    return sources


def _propagate(
    tensor: TensorProjection,
    order: list[int],
    wanted: list[Axes],
    sizes: tuple[int, ...],
    whole_in: Mesh | None,
    limits: list[TensorProjection],
) -> bool:
    changed = False
    for factor in order:
        axes = _possible(tensor, factor, wanted[factor], sizes[factor], whole_in)
        for limit in limits:
            held = limit.factors.get(factor)
            if axes and held is not None and extends(axes, held.axes):
                axes = held.axes
        changed = (bool(axes) and tensor.expand(factor, axes)) or changed
    return changed


def _possible(tensor: TensorProjection, factor: int, axes: Axes, size: int, whole_in: Mesh | None) -> Axes:
    """As much of `axes` as the tensor can take for a factor as it is now; () if that is nothing new."""
    held = tensor.factors.get(factor)
    if held is None or not axes:
        return ()
    axes = shorten(axes, lambda axis, before: within_factor(axis, tensor, held, before, size), whole_in)
    if not extends(axes, held.axes):
        return ()
    return shorten(axes, partial(_free, tensor, factor), whole_in)


def _free(tensor: TensorProjection, factor: int, axis: Axis, before: int) -> Axis | None:
    return beside_others(axis, tensor, factor)
