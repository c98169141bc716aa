"""Exchanges between devices, of stacks of blocks: one exchange for all slices."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.ops import spmd
from shardc.ops.batches.movement import alike, dimensions
from shardc.ops.batching import Batch, Batching
from shardc.ops.definition import OpDef
from shardc.ops.derivatives.terms import Term


def _show(b: Batch) -> Sequence[Term]:
    """All slices at once."""
    return b.build(b.given)


COLLECTIVE: dict[OpDef, Batching] = {
    spmd.all_gather: dimensions("dim"),
    spmd.all_reduce: alike,
    spmd.all_slice: dimensions("dim"),
    spmd.all_to_all: dimensions("split_dim", "concat_dim"),
    spmd.as_partial: alike,
    spmd.assume_equal: alike,
    spmd.collective_broadcast: alike,
    spmd.collective_permute: alike,
    spmd.reduce_scatter: dimensions("dim"),
    spmd.print_: _show,
    spmd.to_partial: alike,
    spmd.vary: alike,
}
