"""sdy-export-pipeline: make plain what propagation leaves.

No edges, groups or constraints; closed shardings that divide; reshards and all-reduces where operands are
sharded otherwise.

    %0 = sdy.sharding_constraint %arg0 <@m, [{"a", ?}]>
    %1 = stablehlo.tanh %0 {… [{"a", ?}]}
->  %0 = sdy.reshard %arg0 <@m, [{"a"}]>
    %1 = stablehlo.tanh %0 {… [{"a"}]}
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardc.diagnostics import ShardcError
from shardc.dialects.mlir_style import print_as_mlir
from shardc.dialects.snapshot import snapshot
from shardc.passes.shardy.borders import divide_borders, remove_parts_of_axes
from shardc.passes.shardy.call_reshards import reshard_calls
from shardc.passes.shardy.collective_products import leave_to_products
from shardc.passes.shardy.concatenations import reshard_concatenations
from shardc.passes.shardy.edges import SinkDataFlowEdges
from shardc.passes.shardy.layers import erase_dead
from shardc.passes.shardy.partitioning import InsertExplicitReshards, ReshardToCollectives
from shardc.passes.shardy.rules import drop_rules
from shardc.passes.shardy.steps import (
    close_dimensions,
    constraints_to_reshards,
    merge_all_constants,
    remove_debug_info,
    remove_groups,
)
from shardc.passes.shardy.unreduced import reduce_partial_sums


@dataclass(frozen=True)
class ExportPipeline(ModulePass):
    """Take away what only propagation needs, and insert the reshards that Shardy inserts by itself.

    avoid_export_for_partitioning: keep groups and constraints, insert nothing: propagation can go on.
    enable_insert_explicit_collectives: insert all reshards, as shardc plans them, and make them collectives.
    remove_all_gather_reduce_scatter_for_cmv1: then leave those around products to whoever fuses them.
    keep_sharding_rules: factor rules stay on the operations.
    update_non_divisible_input_output_shardings: cut the shardings of functions back to what divides.
    avoid_reshards_on_calls: insert none around calls.
    dump_directory: a folder for the module as it is after propagation, and at the end.
    dump_sharding_origins, dump_propagation_edges: the first of these has the attributes for debugging.
    """

    name = "sdy-export-pipeline"

    dump_directory: str = ""
    avoid_export_for_partitioning: bool = False
    enable_insert_explicit_collectives: bool = False
    remove_all_gather_reduce_scatter_for_cmv1: bool = False
    keep_sharding_rules: bool = False
    dump_sharding_origins: bool = False
    dump_propagation_edges: bool = False
    avoid_reshards_on_calls: bool = False
    update_non_divisible_input_output_shardings: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        merge_all_constants(op)
        SinkDataFlowEdges(self.dump_sharding_origins, self.dump_propagation_edges).apply(ctx, op)
        if not self.avoid_export_for_partitioning:
            remove_groups(op)
            constraints_to_reshards(op)
        if self.update_non_divisible_input_output_shardings:
            divide_borders(op)
            remove_parts_of_axes(op)
        close_dimensions(op)
        self._dump(op, "00.after_propagation")
        if not self.avoid_export_for_partitioning:
            self._insert(ctx, op)
        if self.dump_sharding_origins or self.dump_propagation_edges:
            remove_debug_info(op)
        if not self.keep_sharding_rules:
            drop_rules(op)

    def _insert(self, ctx: Context, op: ModuleOp) -> None:
        """Reshards and collectives: all of them, or those that Shardy always inserts."""
        if self.enable_insert_explicit_collectives:
            InsertExplicitReshards().apply(ctx, op)
            self._dump(op, "01.after_explicit_reshards")
            ReshardToCollectives().apply(ctx, op)
            if self.remove_all_gather_reduce_scatter_for_cmv1:
                leave_to_products(op)
            self._dump(op, "02.after_partitioner_with_global_shapes")
            return
        if not self.avoid_reshards_on_calls:
            reshard_calls(op)
        reduce_partial_sums(op)
        reshard_concatenations(op)
        erase_dead(snapshot(op), lambda node, graph: None)
        self._dump(op, "01.after_minimal_partitioner_with_global_shapes")

    def _dump(self, op: ModuleOp, name: str) -> None:
        if self.dump_directory:
            path = Path(self.dump_directory) / f"{name}.mlir"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(print_as_mlir(op), encoding="utf-8")
            except OSError as error:
                raise ShardcError(f"cannot write {path}: {(error.strerror or 'failed').lower()}") from None
