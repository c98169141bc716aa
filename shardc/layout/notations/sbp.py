"""OneFlow's SBP: per axis of the placement S(i) (split dimension i), B (broadcast) or P (partial sum).

    (S(0), B)                       also oneflow.sbp.split(0), flow.sbp.broadcast, flow.sbp.partial_sum
    placement("cpu", ranks=[[0, 1], [2, 3]])

Splits apply in the order of the placement's axes, each balanced: sizes differ by at most one, the larger
first. P(max) and P(min), as tables of signatures have them, are read; they are not written, since OneFlow
implements the sum only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.notations import limits
from shardc.layout.notations.per_axis import Component, Copy, Partial, Split, components_of, to_sharding
from shardc.layout.notations.ranks import array_of, count_of, mesh_of_array, ranks_of
from shardc.layout.notations.values import Call, Name, Value, parse
from shardc.layout.refine import on_axes
from shardc.layout.sharding import KINDS, Dim, Sharding
from shardc.layout.slices import slices

LAST_DIM = 6
"""OneFlow splits dimensions 0 to 6."""


def read(text: str, mesh: Mesh | None = None, rank: int | None = None) -> Sharding:
    """The sharding that `(S(0), B)` means on `mesh`, with an axis per component. LayoutError if it cannot be.

    Without `rank`, the tensor has as many dimensions as are split. What the blocks of dimensions that don't
    divide are is not part of a sharding: `slices(…, policy="balanced")` has OneFlow's.
    """
    if mesh is None:
        raise LayoutError(f"{text!r} does not tell the devices: give the placement")
    return to_sharding(components(text), mesh, rank)


def write(sharding: Sharding, shape: Sequence[int] | None = None) -> str:
    """`(S(0), B)`, to go with `write_mesh`. LayoutError with the reason if there is no such SBP.

    That is a partial max or min, a dimension that is split by a later axis of the mesh before an earlier one,
    and, given a `shape`, blocks that are not those of a balanced split.
    """
    limits.only_layouts(sharding, "SBP")
    limits.only_sums(sharding, "OneFlow")
    whole = on_axes(sharding)
    for dim, held in enumerate(whole.dims):
        ordered = sorted(held.axes, key=whole.mesh.order)
        if list(held.axes) != ordered:
            lists = " before ".join(a.name for a in held.axes), " before ".join(a.name for a in ordered)
            raise LayoutError(
                f"dimension {dim} is split by {lists[0]}, SBP splits in the order of the placement's axes, "
                f"{lists[1]}; it takes a placement that lists the ranks in another order"
            )
    limits.split_alike(whole, shape, "OneFlow", "balanced")
    return (
        f"({', '.join(map(component_text, components_of(whole)))}{',' if len(whole.mesh.axes) == 1 else ''})"
    )


def read_mesh(text: str) -> Mesh:
    """The mesh of `placement("cpu", ranks=[[0, 1], [2, 3]])`, or of the nested list alone; axes x0, x1, …"""
    value = parse(text)
    if isinstance(value, Call):
        if value.last != "placement":
            raise LayoutError(f"{text!r} is no placement")
        value = value.named.get("ranks", value.args[-1] if value.args else [])
    return mesh_of_array(array_of(value), None, "placement")


def write_mesh(sharding: Sharding) -> str:
    """The placement whose axes the components of `write` are for."""
    return f'placement("cpu", ranks={ranks_of(on_axes(sharding).mesh)})'


def nd_slices(shape: Sequence[int], hierarchy: Sequence[int], sbp: Sequence[str]) -> NDArray[np.int64]:
    """int64[ranks, rank, 2]: the slice of a tensor that each position of a hierarchy holds, row-major.

    `sbp` has one of S(i), B, P per axis of the hierarchy. LayoutError if they don't fit.
    """
    mesh = mesh_of_array(np.arange(count_of(hierarchy)).reshape(tuple(hierarchy)))
    sharding = to_sharding([component(text) for text in sbp], mesh, len(shape))
    return slices(sharding, shape, "balanced")


def dual(sharding: Sharding) -> Sharding:
    """The sharding of the gradient: what was copied is partial, what was partial is copied, splits stay."""
    whole = on_axes(sharding)
    partial = {axis.name for axis in whole.unreduced}
    used = {axis.name for dim in whole.dims for axis in dim.axes}
    copied = tuple(whole.mesh.axis(n) for n, _ in whole.mesh.axes if n not in used | partial)
    return Sharding(whole.mesh, tuple(Dim(dim.axes) for dim in whole.dims), (), copied)


def components(text: str) -> list[Component]:
    """The components of `(S(0), B)` or `S(0)`."""
    value = parse(text)
    items = list(value) if isinstance(value, tuple | list) else [value]
    return [_component(item) for item in items]


def component(text: str) -> Component:
    """One of S(i), B, P, or OneFlow's longer names for them. LayoutError if it is none."""
    return _component(parse(text))


def _component(value: Value) -> Component:
    name = value.last if isinstance(value, Name | Call) else ""
    if isinstance(value, Call) and name in ("S", "split"):
        axis = value.named.get("dim", value.named.get("axis", value.args[0] if value.args else None))
        if not isinstance(axis, int) or not 0 <= axis <= LAST_DIM:
            raise LayoutError(f"OneFlow splits dimensions 0 to {LAST_DIM}, not {axis}")
        return Split(axis)
    if name in ("B", "broadcast"):
        return Copy()
    if name in ("P", "partial_sum"):
        kind = value.args[0] if isinstance(value, Call) and value.args else "sum"
        return _partial(kind.last if isinstance(kind, Name) else str(kind))
    if name in ("partial_max", "partial_min"):
        return _partial(name[-3:])
    raise LayoutError(f"{name or value} is none of S(i), B and P")


def _partial(kind: str) -> Partial:
    if kind not in KINDS:
        raise LayoutError(f"there is no partial {kind}; the kinds are {', '.join(KINDS)}")
    return Partial(kind)


def component_text(item: Component) -> str:
    """S(i), B or P."""
    return f"S({item.dim})" if isinstance(item, Split) else "P" if isinstance(item, Partial) else "B"
