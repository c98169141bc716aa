"""Axes of a mesh as arguments: psum(x, data), psum(x, (data, model))."""

from __future__ import annotations

from shardc.diagnostics import listed, warn
from shardc.frontend.text import syntax as s
from shardc.frontend.text.logical import items_of
from shardc.frontend.text.scope import DeviceScope, Scope
from shardc.layout.axes import Axis


def mesh_axes(scope: Scope, name: str, expr: s.Expr, *, outside: bool = False) -> tuple[Axis, ...]:
    """An axis_name argument: axes of the mesh that this per-device code is manual over.

    `outside`: the axes of the program's mesh may be named in all code.
    """
    if scope.manual is None and not (outside and scope.program.meshes):
        raise scope.e.error(
            f"{name} is per-device code, and this function is not",
            "put @shard_map above the function; outside, the compiler finds the communication",
            expr.pos,
        )
    mesh, manual = scope.manual or _whole_mesh(scope, expr)
    if outside:
        manual = tuple(mesh.sizes)
    axes: list[Axis] = []
    for item in items_of(scope.e, expr, scope.program.types.logical):
        if not isinstance(item, s.Name | s.String):
            raise scope.e.error(f"{name}: axis_name is an axis or a tuple of them", pos=item.pos)
        axis = item.id if isinstance(item, s.Name) else item.value
        if axis not in mesh.sizes:
            hint = listed(axis, mesh.sizes, f"the axes of {mesh.name} are")
            raise scope.e.error(f"mesh {mesh.name} has no axis {axis}", hint, item.pos)
        if axis not in manual:
            raise scope.e.error(
                f"axis {axis} is not manual in this function",
                f"@shard_map(axes=({', '.join((*manual, axis))})) makes it so",
                item.pos,
            )
        if any(chosen.name == axis for chosen in axes):
            raise scope.e.error(f"axis {axis} stands twice", pos=item.pos)
        axes.append(mesh.axis(axis))
    if name in _COUNTED_BY_JAX and axes != sorted(axes, key=mesh.order):
        written, inside = (", ".join(a.name for a in some) for some in (axes, sorted(axes, key=mesh.order)))
        warn(
            f"{name} over ({written}) counts positions in that order, as axis_index does; JAX's counts them "
            f"in the order of the mesh, ({inside})",
            scope.e.place(expr.pos),
            f"over ({inside}) both are the same",
        )
    if not axes:
        raise scope.e.error(f"{name} over no axis", pos=expr.pos)
    return tuple(axes)


_COUNTED_BY_JAX = ("ppermute", "pshuffle")
"""Collectives whose positions JAX counts otherwise than axis_index does."""


def _whole_mesh(scope: Scope, expr: s.Expr) -> DeviceScope:
    """The mesh that the axes are of, and all of its axes; the first mesh if none has them."""
    items = tuple(items_of(scope.e, expr, scope.program.types.logical))
    named = {item.id for item in items if isinstance(item, s.Name)}
    named |= {item.value for item in items if isinstance(item, s.String)}
    meshes = list(scope.program.meshes.values())
    mesh = next((mesh for mesh in meshes if named <= set(mesh.sizes)), meshes[0])
    return mesh, tuple(mesh.sizes)
