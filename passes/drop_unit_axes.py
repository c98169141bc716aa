"""drop-unit-axes: per-device code -> the same without communication along axes of one device.

    %1 = "spmd.all_gather"(%0) {axes = ["x", "one"], dim = 0, invariant = true}
    %2 = "spmd.collective_permute"(%1) {axes = ["one"], pairs = dense<[[0, 0]]>}

becomes, on a mesh x=4, one=1,

    %1 = "spmd.all_gather"(%0) {axes = ["x"], dim = 0, invariant = true}        // and %2 is %1

Programs name such axes because sizes change from machine to machine; to JAX values would vary there.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of, spmd_axes
from shardc.dialects.locations import location_of
from shardc.dialects.shardings import axis_named
from shardc.dialects.verify import enclosing_mesh
from shardc.forms.site import INDEX, scalar


@dataclass(frozen=True)
class DropUnitAxes(ModulePass):
    """Take axes of size 1 out of spmd operations, and operations over no other axis out of the program."""

    name = "drop-unit-axes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if inner.name.startswith("spmd."):
                _without_unit_axes(IRBuilder(op), inner)


def _without_unit_axes(builder: IRBuilder, op: Operation) -> None:
    mesh, names = enclosing_mesh(op), op.attributes["axes"]
    assert mesh is not None and isinstance(names, ArrayAttr)
    axes = [axis_named(name.data, mesh) for name in names if isinstance(name, StringAttr)]
    kept = tuple(axis for axis in axes if axis.size > 1)
    if len(kept) == len(axes):
        return
    if kept:
        op.attributes["axes"] = spmd_axes(kept, mesh)
    else:
        Rewriter.replace_op(op, [], [_alone(builder, op)])


def _alone(builder: IRBuilder, op: Operation) -> SSAValue:
    """What an operation gives where a device is alone in its group."""
    sends_nothing = op.name == "spmd.collective_permute" and not python_of(op.attributes["pairs"])
    if op.operands and not sends_nothing:
        return op.operands[0]
    builder.before(op)
    with builder.at(location_of(op.location)):
        return scalar(builder, 0, builder.type_of(op.operands[0]) if op.operands else INDEX)
