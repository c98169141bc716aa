"""Shardings of a graph's values, written on the module that it was read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult

from shardc.dialects.shardings import PARTIAL, SHARDING, partial_of, partials_of, per_value
from shardc.dialects.sidecars import set_function_shardings
from shardc.dialects.snapshot import Snapshot
from shardc.dialects.types import type_of
from shardc.layout import Sharding, unconstrained


def write_shardings(
    snap: Snapshot,
    shardings: Mapping[int, Sharding | None],
    results: Mapping[str, Sequence[Sharding | None]] | None = None,
) -> None:
    """Set the shardings of values, on the module and in the graph, and those of functions' results.

    `results` are by function name. Arguments of inner bodies have no place for a sharding in the IR, where
    it follows from the operation around; theirs are set in the graph only.
    """
    values = snap.graph.values
    touched: dict[int, Operation | Block] = {}
    for value, sharding in shardings.items():
        values[value].sharding = sharding
        ssa = snap.ssa[value]
        if isinstance(ssa, OpResult):
            touched[value - ssa.index] = ssa.op
        elif isinstance(ssa, BlockArgument):
            touched[value - ssa.index] = ssa.block
    for first, target in touched.items():
        count = len(target.args if isinstance(target, Block) else target.results)
        known = [value.sharding for value in values[first : first + count]]
        if isinstance(target, Block):
            _write_arguments(target, known)
        else:
            _write_results(target, known)
    for func in snap.module.body.block.ops:
        if isinstance(func, FuncOp) and results and func.sym_name.data in results:
            new = results[func.sym_name.data]
            set_function_shardings(func, None, new)
            snap.graph.functions[func.sym_name.data].result_shardings = list(new)


def _write_arguments(block: Block, shardings: Sequence[Sharding | None]) -> None:
    func = block.parent_op()
    if isinstance(func, FuncOp):
        set_function_shardings(func, shardings, None)


def _write_results(op: Operation, shardings: Sequence[Sharding | None]) -> None:
    for key in (SHARDING, PARTIAL):
        op.attributes.pop(key, None)
    known = next((s for s in shardings if s is not None), None)
    if known is None:
        return
    full = [
        unconstrained(known.mesh, type_of(result.type).rank) if sharding is None else sharding
        for result, sharding in zip(op.results, shardings, strict=True)
    ]
    op.attributes[SHARDING] = per_value(full)
    partial = partial_of(full[0]) if len(full) == 1 else partials_of(full)
    if partial is not None:
        op.attributes[PARTIAL] = partial
