"""The greatest elements are wanted, and their places, too: the former are those that are found without
places.

%0:2 = stablehlo.reduce(%x init: %lowest), (%places init: %none) across dimensions = [1] …
%1 = "spmd.all_reduce"(%0#0) {axes = ["x"], kind = "max"}
%2 = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1]
%3 = "spmd.all_reduce"(%2) {axes = ["x"], kind = "max"}

->

%2 = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1]
%0:2 = stablehlo.reduce(%x init: %lowest), (%places init: %none) across dimensions = [1] …
%1 = "spmd.all_reduce"(%2) {axes = ["x"], kind = "max"}           // and %3 is %1

Zeros of both signs are equal, and none of them is the greatest before the other.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import Operation

from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.types import type_of
from shardc.graph import Node, identity, is_float, is_integer, walk
from shardc.ops import combiner, hlo, spmd
from shardc.ops.extremes import picks_first_nan
from shardc.rewrite.constants import is_splat

_KINDS = {"max": "max", "min": "min", "argmax": "max", "argmin": "min"}
_TOTALS = (spmd.all_reduce.name, spmd.as_partial.name)


def take_of_plain(shared: SharedGraph) -> bool:
    """Let totals be of the elements that are found without their places; whether there were any."""
    paired = [op for op in shared.module.walk() if op.name == hlo.reduce.name and len(op.operands) == 4]
    if not paired:
        return False
    snap = shared.snapshot()
    plain: dict[Hashable, Operation] = {}
    pairs: list[tuple[Hashable, Operation]] = []
    for node in (node for function in snap.graph.functions.values() for node in walk(function.body)):
        op = snap.ops[node.id]
        kind = combiner(node.regions[0], snap.graph) if node.name == hlo.reduce.name else None
        if kind in _KINDS and _is_of_all(node, op, _KINDS[kind]):
            key = op.parent_block(), op.operands[0], _KINDS[kind], str(node.attrs["dimensions"])
            if len(op.results) == 1:
                plain.setdefault(key, op)
            else:
                pairs.append((key, op))
    return any([_taken(pair, plain[key]) for key, pair in pairs if key in plain])


def _is_of_all(node: Node, op: Operation, kind: str) -> bool:
    """Whether a reduction begins with the identity, and gives a NaN before any number."""
    dtype = type_of(op.results[0].type).dtype
    if not is_splat(op.operands[len(op.results)], identity(kind, dtype)):
        return False
    is_plain = len(op.results) == 1 and is_float(dtype)
    return is_plain or is_integer(dtype) or picks_first_nan(node.regions[0])


def _taken(pair: Operation, plain: Operation) -> bool:
    block = pair.parent_block()
    if block is None or not any(use.operation.name in _TOTALS for use in pair.results[0].uses):
        return False
    if plain in _behind(pair):
        plain.operands[1] = pair.operands[2]  # which stands before
        plain.detach()
        block.insert_op_before(plain, pair)
    pair.results[0].replace_all_uses_with(plain.results[0])
    return True


def _behind(op: Operation) -> set[Operation]:
    found: set[Operation] = set()
    while (after := op.next_op) is not None:
        found.add(after)
        op = after
    return found
