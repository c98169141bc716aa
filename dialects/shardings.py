"""Shardings and meshes of the core, as sdy attributes and back.

sdy knows only partial sums. A partial max or min keeps its axes in `replicated={}`, which any tool reads
safely, and says what it is in a second attribute beside it: `shardc.partial = {max = ["x"]}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod

from msgspec.structs import replace
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute

from shardc.dialects.arrays import is_array
from shardc.dialects.sdy_attributes import MeshAttr, ShardingAttr, ShardingPerValueAttr
from shardc.dialects.sdy_refs import AxisRef, DimRef, MeshRef, ShardingRef
from shardc.layout import Axis, Dim, LayoutError, Mesh, Sharding, axis_named, text_of
from shardc.layout.mesh import MAX_DEVICES

PARTIAL = "shardc.partial"
SHARDING = "sdy.sharding"

Meshes = Mapping[str, Mesh]


# From the core to attributes


def axis_ref(axis: Axis, mesh: Mesh) -> AxisRef:
    """An axis as sdy names it."""
    return AxisRef(axis.name) if mesh.is_full(axis) else AxisRef(axis.name, axis.pre, axis.size)


@lru_cache(maxsize=1 << 14)
def ref_of(sharding: Sharding) -> ShardingRef:
    """What sdy can say of a sharding."""
    mesh = sharding.mesh
    dims = tuple(
        DimRef(tuple(axis_ref(axis, mesh) for axis in dim.axes), dim.open, dim.priority)
        for dim in (() if mesh.is_maximal else sharding.dims)
    )
    replicated, unreduced = sharding.replicated, sharding.unreduced
    if sharding.kind != "sum":
        replicated, unreduced = tuple(sorted(replicated + unreduced, key=mesh.order)), ()
    return ShardingRef(
        mesh.name or MeshRef(mesh.axes, mesh.device_ids),
        dims,
        tuple(axis_ref(axis, mesh) for axis in replicated),
        tuple(axis_ref(axis, mesh) for axis in unreduced),
    )


@lru_cache(maxsize=1 << 14)
def attr_of(sharding: Sharding) -> ShardingAttr:
    """`#sdy.sharding<…>`; beside it must stand `partial_of(sharding)` unless that is None."""
    return ShardingAttr(ref_of(sharding))


def per_value(shardings: Sequence[Sharding]) -> ShardingPerValueAttr:
    """`#sdy.sharding_per_value<[…]>`."""
    return _per_value(tuple(shardings))


@lru_cache(maxsize=1 << 14)
def _per_value(shardings: tuple[Sharding, ...]) -> ShardingPerValueAttr:
    return ShardingPerValueAttr(tuple(map(ref_of, shardings)))


def partial_of(sharding: Sharding) -> DictionaryAttr | None:
    """The `shardc.partial` of a sharding that is a partial max or min; None of others."""
    if sharding.kind == "sum":
        return None
    names = [StringAttr(text_of(axis, sharding.mesh)) for axis in sharding.unreduced]
    return DictionaryAttr({sharding.kind: ArrayAttr(names)})


def partials_of(shardings: Sequence[Sharding | None]) -> ArrayAttr[DictionaryAttr] | None:
    """`shardc.partial` of several values, one dictionary each; None if all are sums."""
    partials = [None if sharding is None else partial_of(sharding) for sharding in shardings]
    return ArrayAttr([p or DictionaryAttr({}) for p in partials]) if any(partials) else None


def mesh_attr(mesh: Mesh) -> MeshAttr:
    """`#sdy.mesh<["x"=4]>`."""
    return MeshAttr(MeshRef(mesh.axes, mesh.device_ids))


# From attributes to the core


@lru_cache(maxsize=256)
def mesh_of(name: str, ref: MeshRef, processes: int = 1) -> Mesh:
    """The mesh; LayoutError if it cannot be, or has more than 2^20 devices."""
    if prod(size for _, size in ref.axes) > MAX_DEVICES:
        raise LayoutError(f"mesh {name or ref} has more than 2^20 devices")
    return Mesh(name, ref.axes, ref.device_ids, processes)


def axis_of(ref: AxisRef, mesh: Mesh) -> Axis:
    """The axis, or part of one, in `mesh`; LayoutError if it has none of that name."""
    full = mesh.axis(ref.name)
    return full if ref.size is None else Axis(ref.name, ref.size, ref.pre)


def sharding_of(
    attr: ShardingAttr | ShardingRef, meshes: Meshes, partial: Attribute | None = None
) -> Sharding:
    """The sharding that an attribute means; LayoutError if it cannot be.

    `partial` is the `shardc.partial` beside it.
    """
    ref = attr.data if isinstance(attr, ShardingAttr) else attr
    sharding = _resolve(ref, _find_mesh(ref, meshes))
    return sharding if partial is None else with_partial(sharding, partial)


def _find_mesh(ref: ShardingRef, meshes: Meshes) -> Mesh:
    if isinstance(ref.mesh, MeshRef):
        return mesh_of("", ref.mesh)
    if ref.mesh not in meshes:
        known = ", ".join(meshes) or "none"
        raise LayoutError(f"there is no mesh @{ref.mesh}; the module's meshes are: {known}")
    return meshes[ref.mesh]


@lru_cache(maxsize=1 << 14)
def _resolve(ref: ShardingRef, mesh: Mesh) -> Sharding:
    dims = tuple(
        Dim(tuple(axis_of(axis, mesh) for axis in dim.axes), dim.open, dim.priority) for dim in ref.dims
    )
    replicated, unreduced = (
        tuple(axis_of(axis, mesh) for axis in axes) for axes in (ref.replicated, ref.unreduced)
    )
    return Sharding(mesh, dims, replicated, unreduced, ref.kind).check()


def with_partial(sharding: Sharding, partial: Attribute) -> Sharding:
    """The sharding with what `shardc.partial` says: those axes are not replicated but partial."""
    if not isinstance(partial, DictionaryAttr) or len(partial.data) > 1:
        raise LayoutError(f'{PARTIAL} is written {{max = ["x"]}} or {{min = ["x"]}}, not {partial}')
    for kind, names in partial.data.items():
        texts = [name.data for name in _strings(names)]
        axes = tuple(axis_named(text, sharding.mesh) for text in texts)
        kept = tuple(axis for axis in sharding.replicated if axis not in axes)
        return replace(sharding, replicated=kept, unreduced=axes, kind=kind).check()
    return sharding


def _strings(attr: Attribute) -> list[StringAttr]:
    listed = list(attr) if is_array(attr) else [attr]
    strings = [item for item in listed if isinstance(item, StringAttr)]
    if len(strings) != len(listed):
        raise LayoutError(f"{PARTIAL} lists axes as strings, not {attr}")
    return strings
