"""keep-blocks: what a choice in per-device code makes for other per-device code alone -> the blocks of it.

    %0:2 = sdy.manual_computation(%x) … out_shardings=[<@line, [{"x"}]>, <@line, [{}]>] manual_axes={"x"} … {
      %2 = "stablehlo.case"(%mine) … -> tensor<3xi32>
      sdy.return %1, %2 : tensor<2xf32>, tensor<3xi32>
    }
    %3 = sdy.manual_computation(%0#1) in_shardings=[<@line, [{}]>] … (%a: tensor<3xi32>) …

becomes

    %0:2 = sdy.manual_computation(%x) … out_shardings=[<@line, [{"x"}]>, <@line, [{"x"}]>] …
    %3 = sdy.manual_computation(%0#1) in_shardings=[<@line, [{"x"}]>] … (%a: tensor<3xi32>) …
                                                                      // %0#1 : tensor<12xi32>, on 4 devices

JAX says of what all branches of a `lax.cond` have the same on all devices that the result is, too, also where
devices choose otherwise: so it keeps the condition of a `cond` in a branch for the derivative. On the devices
that do not come there it is zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from msgspec.structs import replace
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from shardc.dialects.sdy import ManualComputationOp
from shardc.dialects.sdy_attributes import ShardingPerValueAttr
from shardc.dialects.sdy_refs import AxisRef, ShardingRef
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.types import attr_of_type, type_of
from shardc.dialects.verify import module_meshes
from shardc.layout import Mesh
from shardc.ops import hlo
from shardc.passes.graph_pass import GraphPass

_CHOICES = {hlo.case.name, hlo.if_.name}
_MOVES = {hlo.broadcast_in_dim.name, hlo.convert.name, hlo.reshape.name}


class KeepBlocks(GraphPass):
    """Let results of choices leave as blocks, where other per-device code alone reads them."""

    name = "keep-blocks"

    def rewrite(self, shared: SharedGraph) -> bool:
        meshes = module_meshes(shared.module)
        bodies = [op for op in shared.ops() if type(op) is ManualComputationOp]
        return any([_keep(op, index, meshes) for op in bodies for index in range(len(op.results))])


def _keep(op: ManualComputationOp, index: int, meshes: Mapping[str, Mesh]) -> bool:
    """Let one result be the blocks of all devices, if it is to be."""
    ref, result, end = op.out_shardings.data[index], op.results[index], op.body.block.last_op
    type = type_of(result.type)
    split = {axis.name for dim in ref.dims for axis in dim.axes}
    others = [name for name in op.manual_axes.data if name not in split]
    plain = isinstance(ref.mesh, str) and not ref.unreduced and type.rank and others
    if not plain or end is None or not _is_chosen(end.operands[index]):
        return False
    users = [(use.operation, use.index) for use in result.uses]
    if not users or not all(_reads(user, place, op, ref) for user, place in users):
        return False
    first = replace(ref.dims[0], axes=(*ref.dims[0].axes, *map(AxisRef, others)))
    blocks = replace(ref, dims=(first, *ref.dims[1:]))
    count = prod(meshes[str(ref.mesh)].sizes[name] for name in others)
    op.properties["out_shardings"] = _with(op.out_shardings, index, blocks)
    for user, place in users:
        assert isinstance(user, ManualComputationOp)
        user.properties["in_shardings"] = _with(user.in_shardings, place, blocks)
    whole = type.with_shape((type.shape[0] * count, *type.shape[1:]))
    Rewriter.replace_value_with_new_type(result, attr_of_type(whole))
    return True


def _is_chosen(value: SSAValue) -> bool:
    """Whether a choice made what a value holds."""
    made = value.owner
    while isinstance(made, Operation) and made.name in _MOVES:
        made = made.operands[0].owner
    return isinstance(made, Operation) and made.name in _CHOICES


def _reads(user: Operation, place: int, made: ManualComputationOp, ref: ShardingRef) -> bool:
    """Whether an operand of other per-device code is read as it left this."""
    return (
        isinstance(user, ManualComputationOp)
        and set(user.manual_axes.data) == set(made.manual_axes.data)
        and user.in_shardings.data[place] == ref
    )


def _with(shardings: ShardingPerValueAttr, index: int, ref: ShardingRef) -> ShardingPerValueAttr:
    return ShardingPerValueAttr((*shardings.data[:index], ref, *shardings.data[index + 1 :]))
