"""The greatest elements are wanted, and their places, too: the former are those that are found without
places.

%0:2 = stablehlo.reduce(%x init: %lowest), (%places init: %none) across dimensions = [1] …
%1 = "spmd.all_reduce"(%0#0) {axes = ["x"], kind = "max"}
%2 = stablehlo.reduce(%x init: %lowest) applies … across dimensions = [1] {shardc.partial_over = ["x"]}
%3 = "spmd.all_reduce"(%2) {axes = ["x"], kind = "max"}

->

%2 = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1]
%4 = "spmd.as_partial"(%2) {axes = ["x"], kind = "max"}
%0:2 = stablehlo.reduce(%x init: %lowest), (%places init: %none) across dimensions = [1] …
%1 = "spmd.all_reduce"(%2) {axes = ["x"], kind = "max"}
%3 = "spmd.all_reduce"(%4) {axes = ["x"], kind = "max"}           // which share-collectives makes %1

Zeros of both signs are equal, and none of them is the greatest before the other.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast

from xdsl.ir import Operation

from shardc.check.state import axis_named
from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.types import type_of
from shardc.dialects.verify import enclosing_mesh
from shardc.graph import Node, identity, is_float, is_integer, walk
from shardc.graph.marks import PARTIAL_OVER
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
    pairs: list[tuple[Hashable, str, Operation]] = []
    for node in (node for function in snap.graph.functions.values() for node in walk(function.body)):
        op = snap.ops[node.id]
        kind = combiner(node.regions[0], snap.graph) if node.name == hlo.reduce.name else None
        if kind in _KINDS and _is_of_all(node, op, _KINDS[kind]):
            key = op.parent_block(), op.operands[0], _KINDS[kind], str(node.attrs["dimensions"])
            if len(op.results) == 1:
                plain.setdefault(key, op)
            else:
                pairs.append((key, _KINDS[kind], op))
    builder = IRBuilder(shared.module)
    return any([_taken(builder, kind, pair, plain[key]) for key, kind, pair in pairs if key in plain])


def _is_of_all(node: Node, op: Operation, kind: str) -> bool:
    """Whether a reduction begins with the identity, and gives a NaN before any number."""
    dtype = type_of(op.results[0].type).dtype
    if not is_splat(op.operands[len(op.results)], identity(kind, dtype)):
        return False
    is_plain = len(op.results) == 1 and is_float(dtype)
    return is_plain or is_integer(dtype) or picks_first_nan(node.regions[0])


def _taken(builder: IRBuilder, kind: str, pair: Operation, plain: Operation) -> bool:
    block = pair.parent_block()
    if block is None or not any(use.operation.name in _TOTALS for use in pair.results[0].uses):
        return False
    if plain in _behind(pair):
        plain.operands[1] = pair.operands[2]  # which stands before
        plain.detach()
        block.insert_op_before(plain, pair)
    _declare_apart(builder, plain, kind)
    pair.results[0].replace_all_uses_with(plain.results[0])
    return True


def _declare_apart(builder: IRBuilder, op: Operation, kind: str) -> None:
    """What an operation makes is partial to those only that use it already."""
    names, mesh = op.attributes.pop(PARTIAL_OVER, None), enclosing_mesh(op)
    if names is None or mesh is None or op.next_op is None:
        return
    using = [*op.results[0].uses]
    builder.before(op.next_op)
    axes = [axis_named(name, mesh) for name in cast("tuple[str, ...]", python_of(names))]
    partial = builder.one(spmd.as_partial.name, op.results[0], axes=tuple(axes), kind=kind)
    for use in using:
        use.operation.operands[use.index] = partial


def _behind(op: Operation) -> set[Operation]:
    found: set[Operation] = set()
    while (after := op.next_op) is not None:
        found.add(after)
        op = after
    return found
