"""drop-unit-axes: per-device code -> the same without communication along axes of one device.

    %1 = "spmd.all_gather"(%0) {axes = ["x", "one"], dim = 0, invariant = true}
    %2 = "spmd.collective_permute"(%1) {axes = ["one"], pairs = dense<[[0, 0]]>}

becomes, on a mesh x=4, one=1,

    %1 = "spmd.all_gather"(%0) {axes = ["x"], dim = 0, invariant = true}        // and %2 is %1

Programs name such axes because sizes change from machine to machine; to JAX values would vary there.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from shardc.dialects.arrays import is_array
from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.locations import location_of
from shardc.dialects.op_attributes import spmd_axes
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.verify import enclosing_mesh
from shardc.forms.site import INDEX, scalar
from shardc.layout import axis_named
from shardc.ops import Trait, has, spmd
from shardc.passes.graph_pass import GraphPass


class DropUnitAxes(GraphPass):
    """Take axes of size 1 out of spmd operations, and operations over no other axis out of the program."""

    name = "drop-unit-axes"

    def rewrite(self, shared: SharedGraph) -> bool:
        builder = IRBuilder(shared.module)
        ops = [op for op in shared.snapshot().ops if has(op.name, Trait.ALONG_AXES)]
        return any([_drop(builder, op) for op in ops])


def _drop(builder: IRBuilder, op: Operation) -> bool:
    """Whether an operation had such axes."""
    mesh, names = enclosing_mesh(op), op.attributes["axes"]
    assert mesh is not None and is_array(names)
    axes = [axis_named(name.data, mesh) for name in names if isinstance(name, StringAttr)]
    kept = tuple(axis for axis in axes if axis.size > 1)
    if len(kept) == len(axes):
        return False
    if kept:
        op.attributes["axes"] = spmd_axes(kept, mesh)
    else:
        Rewriter.replace_op(op, [], [_alone(builder, op)])
    return True


def _alone(builder: IRBuilder, op: Operation) -> SSAValue:
    """What an operation gives where a device is alone in its group."""
    sends_nothing = op.name == spmd.collective_permute.name and not python_of(op.attributes["pairs"])
    if op.operands and not sends_nothing:
        return op.operands[0]
    builder.before(op)
    with builder.at(location_of(op.location)):
        return scalar(builder, 0, builder.type_of(op.operands[0]) if op.operands else INDEX)
