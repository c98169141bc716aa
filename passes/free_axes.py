"""Not a pass: per-device code that is written for some axes of the mesh gets whole blocks along the others.

%1 = sdy.manual_computation(%0) in_shardings=[<@m, [{"x"}, {"y"}]>] … manual_axes={"x"} …

becomes

%1 = sdy.manual_computation(%0) in_shardings=[<@m, [{"x"}, {}]>] … manual_axes={"x"} …

so that whoever makes the operands fit gathers over y, and the devices along y all compute the same.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from shardc.dialects.locations import location_of
from shardc.dialects.sdy import ManualComputationOp
from shardc.dialects.sdy_attributes import AxisRef, DimRef, ShardingPerValueAttr, ShardingRef
from shardc.explain.diagnostics import warn

_Axes = tuple[AxisRef, ...]


def make_whole_over_free_axes(module: ModuleOp) -> None:
    """Take the axes that per-device code is not written for out of its shardings, with a warning."""
    for op in module.walk():
        if isinstance(op, ManualComputationOp):
            _make_whole(op, frozenset(op.manual_axes.data))


def _make_whole(op: ManualComputationOp, manual: frozenset[str]) -> None:
    free: dict[str, None] = {}
    for key in ("in_shardings", "out_shardings"):
        old = getattr(op, key)
        assert isinstance(old, ShardingPerValueAttr)
        free.update((axis.name, None) for ref in old.data for axis in _axes(ref) if axis.name not in manual)
        op.properties[key] = ShardingPerValueAttr(tuple(_without_free(ref, manual) for ref in old.data))
    if free:
        over = " and ".join(free)
        warn(
            f"this per-device code is not written for {over}: its operands are gathered over {over}, and all "
            "devices along it compute the same",
            location_of(op.location),
            "@shard_map without axes=… is written for all axes",
        )


def _axes(ref: ShardingRef) -> _Axes:
    return tuple(axis for dim in ref.dims for axis in dim.axes) + ref.unreduced


def _without_free(ref: ShardingRef, manual: frozenset[str]) -> ShardingRef:
    def kept(axes: _Axes) -> _Axes:
        return tuple(axis for axis in axes if axis.name in manual)

    dims = tuple(DimRef(kept(dim.axes)) for dim in ref.dims)
    return replace(ref, dims=dims, replicated=kept(ref.replicated), unreduced=kept(ref.unreduced))
