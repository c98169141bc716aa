"""The blocks at the borders of per-device code that leaves axes of the mesh to the compiler.

%1 = sdy.manual_computation(%0) in_shardings=[<@m, [{"x", "y"}]>] … manual_axes={"x"} … : (tensor<10xf32>) …

becomes, on a mesh x=2, y=4,

%1 = sdy.manual_computation(%0) in_shardings=[<@m, [{"x"}]>] …

since the body sees blocks of 5 elements, and their 4 parts of 2, 2, 1 and 0 are not those into which x and y
together split 10 elements. Where the sizes divide nothing changes.
"""

from __future__ import annotations

from math import prod

from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp

from shardc.dialects.sdy import ManualComputationOp
from shardc.dialects.sdy_attributes import ShardingPerValueAttr
from shardc.dialects.sdy_refs import DimRef, ShardingRef
from shardc.dialects.shardings import axis_of
from shardc.dialects.types import type_of
from shardc.dialects.verify import enclosing_mesh
from shardc.layout import Mesh


def fit_borders(module: ModuleOp) -> bool:
    """Leave out axes, minor ones first, that split blocks of manual axes unevenly; whether there were any."""
    changed = False
    for op in module.walk():
        mesh = enclosing_mesh(op) if isinstance(op, ManualComputationOp) else None
        if not isinstance(op, ManualComputationOp) or mesh is None:
            continue
        manual = frozenset(op.manual_axes.data)
        for key, values in (("in_shardings", op.operands), ("out_shardings", op.results)):
            old = op.properties[key]
            assert isinstance(old, ShardingPerValueAttr)
            shapes = [type_of(value.type).shape for value in values]
            new = tuple(
                _fitted(ref, shape, mesh, manual) for ref, shape in zip(old.data, shapes, strict=True)
            )
            if new != old.data:
                op.properties[key] = ShardingPerValueAttr(new)
                changed = True
    return changed


def _fitted(ref: ShardingRef, shape: tuple[int, ...], mesh: Mesh, manual: frozenset[str]) -> ShardingRef:
    return replace(
        ref, dims=tuple(_dim(dim, n, mesh, manual) for dim, n in zip(ref.dims, shape, strict=True))
    )


def _dim(dim: DimRef, size: int, mesh: Mesh, manual: frozenset[str]) -> DimRef:
    own = prod(axis_of(axis, mesh).size for axis in dim.axes if axis.name in manual)
    axes = dim.axes
    while own > 1 and size % prod(axis_of(axis, mesh).size for axis in axes) and axes[-1].name not in manual:
        axes = axes[:-1]
    return replace(dim, axes=axes)
