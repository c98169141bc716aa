"""join-slices: concatenations of slices along a sharded dimension -> one operation on the whole tensors.

    %0 = stablehlo.slice %x [4:8] : (tensor<8xf32>) -> tensor<4xf32>
    %1 = stablehlo.negate %0 : tensor<4xf32>
    %2 = stablehlo.slice %x [0:4] : (tensor<8xf32>) -> tensor<4xf32>
    %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>

becomes

    %1 = stablehlo.negate %x : tensor<8xf32>
    %3 = "shardc.join"(%1, %x) {dimension = 0, start_indices = [4, 0], limit_indices = [8, 4]}

Rolls and rotated halves are written so. Slice by slice, elements would go to the devices that hold the
slice's blocks and from there to those that hold the result's; the whole operation sends each element once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import cast

from msgspec import Struct
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from shardc.analysis.shardings import is_split_along
from shardc.dialects.derive import op_class
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.dialects.types import type_of
from shardc.graph import Node, walk
from shardc.ops import Trait, has, hlo, own
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.remade import remade

Ints = tuple[int, ...]


class JoinSlices(GraphPass):
    """Put joins in the place of concatenations of slices."""

    name = "join-slices"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap = shared.snapshot()
        nodes = [node for f in snap.graph.functions.values() for node in walk(f.body)]
        finder, changed = _Finder(snap, nodes), False
        for node in nodes:
            if node.name == hlo.concatenate.name and is_split_along(snap.graph, node):
                ways = [finder.way(value, node) for value in node.operands]
                if any(way.slice for way in ways):
                    _join(snap, node, ways)
                    changed = True
        return changed


class Way(Struct, frozen=True):
    """How an operand of a concatenation comes from a slice, if it does: operations on it, first to last."""

    value: int
    slice: Node | None = None
    through: tuple[Node, ...] = ()


class _Finder:
    """Looks from a concatenation back to slices."""

    def __init__(self, snap: Snapshot, nodes: list[Node]) -> None:
        self.graph = snap.graph
        self.producer = {value: node for node in nodes for value in node.results}
        self.uses = Counter(value for node in nodes for value in node.operands)

    def way(self, value: int, node: Node) -> Way:
        """What leads to an operand of a concatenation."""
        through = tuple(self._through(value))[::-1]
        start = self.producer.get(through[0].operands[0] if through else value)
        if (
            start
            and start.name == hlo.slice_.name
            and self._is_along(start, cast(int, node.attrs["dimension"]))
        ):
            return Way(value, start, through)
        return Way(value)

    def _through(self, value: int) -> Iterator[Node]:
        """Elementwise operations on one tensor, for no one else, that make the value; the last one first."""
        node = self.producer.get(value)
        while (
            node and has(node.name, Trait.ELEMENTWISE) and len(node.operands) == 1 and self.uses[value] == 1
        ):
            yield node
            (value,) = node.operands
            node = self.producer.get(value)

    def _is_along(self, node: Node, dim: int) -> bool:
        """Whether a slice takes all but one dimension whole, and no steps."""
        keys = ("start_indices", "limit_indices", "strides")
        rows = zip(*(cast(Ints, node.attrs[key]) for key in keys), strict=True)
        shape = self.graph.type(node.operands[0]).shape
        return all(
            step == 1 and (d == dim or (start, limit) == (0, size))
            for d, ((start, limit, step), size) in enumerate(zip(rows, shape, strict=True))
        )


def _join(snap: Snapshot, node: Node, ways: list[Way]) -> None:
    """Put a join in the place of a concatenation; what lay between works on whole tensors now."""
    old, dim = snap.ops[node.id], cast(int, node.attrs["dimension"])
    starts = [cast(Ints, way.slice.attrs["start_indices"])[dim] if way.slice else 0 for way in ways]
    limits = [
        cast(Ints, way.slice.attrs["limit_indices"])[dim]
        if way.slice
        else snap.graph.type(way.value).shape[dim]
        for way in ways
    ]
    join = op_class(own.join).create(
        operands=[_whole(snap, way, operand, old) for way, operand in zip(ways, old.operands, strict=True)],
        result_types=[old.results[0].type],
        properties={
            "dimension": old.properties["dimension"],
            "start_indices": DenseArrayBase.from_list(i64, starts),
            "limit_indices": DenseArrayBase.from_list(i64, limits),
        },
        attributes=dict(old.attributes),
        location=old.location,
    )
    Rewriter.replace_op(old, join)
    for way in ways:
        for unused in (*way.through[::-1], *([way.slice] if way.slice else [])):
            _drop(snap.ops[unused.id])


def _whole(snap: Snapshot, way: Way, operand: SSAValue, before: Operation) -> SSAValue:
    """The tensor that the slice is of, after the operations that were on the slice; else the operand, which
    may be a join by now.
    """
    if way.slice is None:
        return operand
    value = snap.ops[way.slice.id].operands[0]
    for node in way.through:
        old, type = snap.ops[node.id], type_of(value.type)
        result = type.with_dtype(snap.graph.type(node.results[0]).dtype)
        value = remade(old, [value], result, before)
    return value


def _drop(op: Operation) -> None:
    """Erase an operation that is used no more and is still there."""
    if op.parent is not None and not op.results[0].uses:
        Rewriter.erase_op(op)
