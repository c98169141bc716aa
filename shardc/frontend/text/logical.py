"""Logical names for axes: `axes embed = (x, y)`, and then `f32[64@embed]`, `psum(h, embed)`.

A logical name stands for its axes wherever a type or a collective names axes; nothing later knows of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from shardc.diagnostics import listed
from shardc.frontend.text import syntax as s
from shardc.frontend.text.emitter import Emitter
from shardc.layout import Mesh

Logical = dict[str, tuple[s.AxisRef, ...]]
"""The axes that each logical name stands for."""


def declare(e: Emitter, program: s.Program, meshes: Mapping[str, Mesh], into: Logical) -> None:
    """Enter the logical names of a file. ShardcError for one that a mesh has, and for axes that none has."""
    every = {name for mesh in meshes.values() for name in mesh.sizes}
    for declared in program.logical:
        if declared.name in every:
            raise e.error(f"{declared.name} is an axis of a mesh", "choose another name", declared.pos)
        if declared.name in into:
            raise e.error(f"axes {declared.name} is declared twice", pos=declared.pos)
        for ref in declared.axes:
            if ref.name not in every:
                hint = listed(ref.name, sorted(every), "the axes are")
                raise e.error(f"no mesh has an axis {ref.name}", hint, ref.pos)
        into[declared.name] = declared.axes


def physical(e: Emitter, written: s.Type, logical: Logical) -> s.Type:
    """The type with mesh axes for logical names."""
    if not logical:
        return written
    dims = tuple(
        replace(dim, axes=tuple(_axes(e, dim.axes, logical))) if isinstance(dim, s.DimType) else dim
        for dim in written.dims
    )
    suffixes = tuple(
        replace(suffix, axes=tuple(_axes(e, suffix.axes, logical)))
        if isinstance(suffix, s.Replicated | s.Partial) and suffix.axes is not None
        else suffix
        for suffix in written.suffixes
    )
    return replace(written, dims=dims, suffixes=suffixes)


def _axes(e: Emitter, refs: tuple[s.AxisRef, ...], logical: Logical) -> Iterator[s.AxisRef]:
    for ref in refs:
        if ref.name not in logical:
            yield ref
            continue
        if ref.part is not None:
            hint = f"name it in axes {ref.name} = …"
            raise e.error(f"{ref.name} is no axis of a mesh, which has parts", hint, ref.pos)
        yield from (replace(axis, pos=ref.pos) for axis in logical[ref.name])


def items_of(e: Emitter, written: s.Expr, logical: Logical) -> Iterator[s.Expr]:
    """What names the axes of a collective or a decorator, with the axes of a logical name in its place."""
    for item in written.items if isinstance(written, s.Sequence) else (written,):
        name = item.id if isinstance(item, s.Name) else item.value if isinstance(item, s.String) else None
        whole = None if name is None else logical.get(name)
        if whole is None:
            yield item
            continue
        for axis in whole:
            if axis.part is not None:
                raise e.error(f"{name} has a part of {axis.name}; whole axes are named here", pos=item.pos)
            yield s.Name(item.pos, axis.name)
