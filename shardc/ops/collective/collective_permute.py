"""Blocks change devices."""

from __future__ import annotations

from functools import lru_cache

from shardc.layout.axes import size_of
from shardc.ops.collective.blocks import moved, per_device
from shardc.ops.definition import Spelling
from shardc.ops.untyped import Types, UntypedOp


def _types(op: UntypedOp) -> Types:
    count = size_of(op.axes("axes"))
    pairs = op.pairs("pairs")
    if fault := _fault(pairs, count):
        raise op.error(f"{fault} in {list(pairs)}")
    return (op.one(),)


@lru_cache(maxsize=32)
def _fault(pairs: tuple[tuple[int, int], ...], count: int) -> str | None:
    """What is wrong with the pairs of a permute over so many positions, of which there may be thousands."""
    for what, ends in zip(("source", "target"), zip(*pairs, strict=True), strict=False):
        if len(set(ends)) != len(ends):
            return f"has a {what} twice"
        if ends and not 0 <= min(ends) <= max(ends) < count:
            return f"has a {what} outside the {count} positions"
    return None


collective_permute = per_device(
    "spmd.collective_permute",
    _types,
    moved,
    title="permute",
    doc="Sends the block from position a to position b for every pair (a, b); others get zeros.",
    attrs={"pairs": "pairs"},
    sends=lambda b, n: b,
    steps=lambda n: 1,
    pairs=((0, 1), (1, 0)),
    spelling=Spelling(called="ppermute", variable="received"),
)
