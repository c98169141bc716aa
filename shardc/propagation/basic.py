"""The basic strategy: each factor on its own, and only what every tensor of the operation can take.

Of the axes that the tensors hold for a factor it finds the list on which all agree, cuts it back to what is
possible in all tensors, those without the factor included, and gives it to every tensor that holds less.
"""

from __future__ import annotations

from functools import partial

from shardc.layout import Axis, Mesh, cut
from shardc.propagation.direction import Direction, Directions
from shardc.propagation.lists import Axes, common, dividing_part, shorten
from shardc.propagation.projection import FactorSharding, Projection, TensorProjection


def basic(projection: Projection, directions: Directions, whole_in: Mesh | None = None) -> set[int]:
    """Propagate every factor, in order; the numbers of the tensors that changed. `projection` is updated."""
    changed: set[int] = set()
    tensors = projection.tensors
    for factor, direction in enumerate(directions):
        axes = agreed_axes(projection, factor, direction)
        if not axes:
            continue
        axes = shorten(axes, partial(_allowed_everywhere, projection, factor), whole_in)
        changed.update(i for i, tensor in enumerate(tensors) if tensor.expand(factor, axes))
    return changed


def agreed_axes(projection: Projection, factor: int, direction: Direction) -> Axes:
    """The axes that the tensors agree on for a factor, whether or not all can take them.

    With one direction only the tensors that it comes from can make the list longer; the others can end it.
    """
    if direction is Direction.NONE:
        return ()
    first, second = projection.operands, projection.results
    if direction is Direction.BACKWARD:
        first, second = second, first
    axes, grow = _fold((), True, first, factor)
    axes, _ = _fold(axes, grow and direction is Direction.BOTH, second, factor)
    return axes


def _fold(axes: Axes, grow: bool, tensors: list[TensorProjection], factor: int) -> tuple[Axes, bool]:
    for tensor in tensors:
        held = tensor.factors.get(factor)
        if held is not None:
            axes, grow = common(axes, held.axes, grow)
    return axes, grow


def _allowed_everywhere(projection: Projection, factor: int, axis: Axis, before: int) -> Axis | None:
    part: Axis | None = axis
    for tensor in projection.tensors:
        part = beside_others(part, tensor, factor)
        if part is not None and factor in tensor.factors:
            part = within_factor(part, tensor, tensor.factors[factor], before, projection.sizes[factor])
        if part is None:
            return None
    return part


def beside_others(axis: Axis, tensor: TensorProjection, factor: int) -> Axis | None:
    """The longest major part of the axis that no other factor of the tensor uses."""
    part: Axis | None = axis
    for other, held in tensor.factors.items():
        if other != factor and part is not None:
            part = cut(part, held.overflow + held.axes)
    return part


def within_factor(
    axis: Axis, tensor: TensorProjection, held: FactorSharding, before: int, size: int
) -> Axis | None:
    """The longest major part of the axis that may split the factor after axes of product `before`.

    What the factor holds already may stay. More needs an open dimension, and a factor that is not the
    minor-most of its dimension must be divided evenly.
    """
    part = cut(axis, tensor.replicated + tensor.unreduced)
    if part is None or any(own.contains(part) for own in held.axes):
        return part
    if not held.closed and not held.overflow:
        if held.minor_most:
            return part
        even = dividing_part(part, size // before) if size % before == 0 else None
        if even is not None:
            return even
    if held.axes and held.axes[-1].is_prefix_of(part):
        return held.axes[-1]
    return None
