"""sdy-constant-or-scalar-splitter: every use of a constant has a copy of its own, as an `sdy.constant`.

%c = stablehlo.constant dense<1.0> : …          %c = sdy.constant dense<1.0> : …
%0 = stablehlo.add %x, %c                 ->    %c_0 = sdy.constant dense<1.0> : …
%1 = stablehlo.add %y, %c                       %0 = stablehlo.add %x, %c
                                                %1 = stablehlo.add %y, %c_0
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import ConstantOp as SdyConstantOp
from shardc.dialects.sdy import ShardingGroupOp
from shardc.dialects.snapshot import Snapshot, snapshot
from shardc.dialects.stablehlo.constants import ConstantOp
from shardc.passes.shardy.call_graph import called
from shardc.passes.shardy.copied_functions import FunctionCopier
from shardc.propagation.constants import Constants, split_constants
from shardc.propagation.editing import Editor
from shardc.rewrite.write_graph import write_graph_changes


class ConstantOrScalarSplitter(ModulePass):
    """Copy what is computed from constants alone, and broadcasts of scalars, for each use; unused ones go."""

    name = "sdy-constant-or-scalar-splitter"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, ConstantOp):
                to_sdy_constant(inner)
        snap = snapshot(op)
        editor = Editor.of(snap.graph, unit_axes=True)
        constants = split_constants(editor)
        write_graph_changes(snap, editor.graph, editor.copies)
        _copy_functions(snap, constants)
        _erase_unused(snap, constants, editor.copies)


class ConstantSplitter(ConstantOrScalarSplitter):
    """The same by the name that it had in older Shardys."""

    name = "sdy-constant-splitter"


def to_sdy_constant(op: ConstantOp) -> None:
    """Replace a constant by one that is not merged with others."""
    made = SdyConstantOp.create(
        result_types=op.result_types, properties=op.properties, attributes=op.attributes
    )
    locate(made, location_of(op.location))
    Rewriter.replace_op(op, made)


def _copy_functions(snap: Snapshot, constants: Constants) -> None:
    """A call that was split calls a function of its own."""
    copier = FunctionCopier.of(snap.module)
    for node in constants.calls:
        call = snap.ops[node.id]
        assert isinstance(call, CallOp)
        call.properties["callee"] = SymbolRefAttr(copier.copy(called(call, copier.functions)).sym_name)


def _erase_unused(snap: Snapshot, constants: Constants, copies: Mapping[int, int]) -> None:
    originals = {node.id for node in constants.nodes}
    made = {snap.ops[number] for number in originals}
    made.update(snap.ops[number] for number, original in copies.items() if original in originals)
    for op in reversed([op for op in snap.module.walk() if op in made]):
        users = [use.operation for result in op.results for use in result.uses]
        if all(isinstance(user, ShardingGroupOp) for user in users):
            for user in users:
                user.detach()
                user.erase()
            op.detach()
            op.erase()
