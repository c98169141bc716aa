"""Collectives over groups of numbered devices, as JAX's shard_map lowers to, and the device's own number.

`replica_groups = dense<[[0, 1], [2, 3]]>`: the devices of a row communicate. With `use_global_device_ids` the
numbers are those of the whole mesh. shardc's own per-device code uses the spmd dialect, which names axes.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from shardc.dialects.dense import DenseAttr
from shardc.dialects.stablehlo.attributes import ChannelAttr
from shardc.dialects.stablehlo.base import HloOp, Int, PureOp


@irdl_op_definition
class AllReduceOp(HloOp):
    """Combines the group's blocks by the body."""

    name = "stablehlo.all_reduce"
    operands_ = var_operand_def(TensorType)
    results_ = var_result_def(TensorType)
    replica_groups = prop_def(DenseAttr)
    channel_handle = opt_prop_def(ChannelAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    computation = region_def("single_block")


@irdl_op_definition
class AllGatherOp(HloOp):
    """Concatenates the group's blocks along a dimension."""

    name = "stablehlo.all_gather"
    operands_ = var_operand_def(TensorType)
    results_ = var_result_def(TensorType)
    all_gather_dim = prop_def(Int)
    replica_groups = prop_def(DenseAttr)
    channel_handle = opt_prop_def(ChannelAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)


@irdl_op_definition
class ReduceScatterOp(HloOp):
    """Combines the group's blocks by the body; each device keeps its part of a dimension."""

    name = "stablehlo.reduce_scatter"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    scatter_dimension = prop_def(Int)
    replica_groups = prop_def(DenseAttr)
    channel_handle = opt_prop_def(ChannelAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    computation = region_def("single_block")


@irdl_op_definition
class AllToAllOp(HloOp):
    """Sends part i of one dimension to device i of the group; concatenates along another."""

    name = "stablehlo.all_to_all"
    operands_ = var_operand_def(TensorType)
    results_ = var_result_def(TensorType)
    split_dimension = prop_def(Int)
    concat_dimension = prop_def(Int)
    split_count = prop_def(Int)
    replica_groups = prop_def(DenseAttr)
    channel_handle = opt_prop_def(ChannelAttr)


@irdl_op_definition
class CollectivePermuteOp(HloOp):
    """Sends blocks along pairs of devices; who gets nothing has zeros."""

    name = "stablehlo.collective_permute"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    source_target_pairs = prop_def(DenseAttr)
    channel_handle = opt_prop_def(ChannelAttr)


@irdl_op_definition
class CollectiveBroadcastOp(HloOp):
    """Sends the block of the group's first device to all of it."""

    name = "stablehlo.collective_broadcast"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    replica_groups = prop_def(DenseAttr)
    channel_handle = opt_prop_def(ChannelAttr)


@irdl_op_definition
class PartitionIdOp(PureOp):
    """`stablehlo.partition_id : tensor<ui32>`: the number of the device among the partitions."""

    name = "stablehlo.partition_id"
    result = result_def(TensorType)
    assembly_format = "attr-dict `:` type(results)"


@irdl_op_definition
class ReplicaIdOp(PureOp):
    """`stablehlo.replica_id : tensor<ui32>`: the number of the device among the replicas."""

    name = "stablehlo.replica_id"
    result = result_def(TensorType)
    assembly_format = "attr-dict `:` type(results)"


OPERATIONS = [
    AllReduceOp,
    AllGatherOp,
    ReduceScatterOp,
    AllToAllOp,
    CollectivePermuteOp,
    CollectiveBroadcastOp,
    PartitionIdOp,
    ReplicaIdOp,
]
