"""An axis of one mesh in the axes of another one over the same devices in the same order.

ring[r=8] beside pod[data=2, model=4]: r is (data, model), and data is r:(1)2.
"""

from __future__ import annotations

from shardc.layout.axes import Axis
from shardc.layout.mesh import LayoutError, Mesh


def translate(axis: Axis, source: Mesh, target: Mesh) -> tuple[Axis, ...]:
    """The axes of `target`, major to minor, that split the devices as `axis` of `source` does.

    LayoutError if the meshes are not over the same devices in the same order, or if the borders of the axes
    do not line up (6 as 2 x 3 and as 3 x 2).
    """
    if not _same_devices(source, target):
        raise LayoutError(f"mesh {source.name} and mesh {target.name} have other devices or another order")
    low, high = _span(axis, source)
    parts: list[Axis] = []
    for name, size in target.axes:
        start, end = _span(Axis(name, size), target)
        first, last = max(low, start), min(high, end)
        if first >= last:
            continue
        if last % first or end % last or first % start:
            raise LayoutError(
                f"axis {axis.name} of mesh {source.name} has no counterpart in mesh {target.name}"
            )
        parts.append(Axis(name, last // first, end // last))
    return tuple(parts)


def _same_devices(one: Mesh, other: Mesh) -> bool:
    return (one.size, one.device_ids, one.processes, one.ranks) == (
        other.size,
        other.device_ids,
        other.processes,
        other.ranks,
    )


def _span(axis: Axis, mesh: Mesh) -> tuple[int, int]:
    """How many positions lie between neighbours along the axis, and that times its size."""
    stride = 1
    for name, size in reversed(mesh.axes):
        if name == axis.name:
            high = stride * size // axis.pre
            return high // axis.size, high
        stride *= size
    raise LayoutError(f"mesh {mesh.name} has no axis {axis.name}")
