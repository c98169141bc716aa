"""The operations of Shardy's dialect, under their own names."""

from shardc.ops.manual_code import manual_computation as manual_computation
from shardc.ops.manual_code import named_computation as named_computation
from shardc.ops.manual_code import return_ as return_
from shardc.ops.sharding import constant as constant
from shardc.ops.sharding import data_flow_edge as data_flow_edge
from shardc.ops.sharding import func_data_flow_edge as func_data_flow_edge
from shardc.ops.sharding import mesh as mesh
from shardc.ops.sharding import propagation_barrier as propagation_barrier
from shardc.ops.sharding import reshard as reshard
from shardc.ops.sharding import sharding_constraint as sharding_constraint
from shardc.ops.sharding import sharding_group as sharding_group
from shardc.ops.sharding_changes import all_gather as all_gather
from shardc.ops.sharding_changes import all_reduce as all_reduce
from shardc.ops.sharding_changes import all_slice as all_slice
from shardc.ops.sharding_changes import all_to_all as all_to_all
from shardc.ops.sharding_changes import collective_permute as collective_permute
from shardc.ops.sharding_changes import reduce_scatter as reduce_scatter
from shardc.ops.sharding_changes import replicated_to_unreduced as replicated_to_unreduced
from shardc.ops.sharding_changes import sharded_to_unreduced as sharded_to_unreduced
