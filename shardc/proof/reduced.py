"""Both programs at reduced shapes.

A dimension whose elements are all treated alike is cut into units, the largest pieces that every layout of it
in both programs is made of. A unit of U elements becomes one of u: the first stands for U - u + 1 equal
elements, each other for one. So the reduced programs are the full ones on arguments whose elements repeat.
Sums count every element as often as it stands for others: an operand is multiplied by its weights first.

    %s = stablehlo.reduce(%x) across dimensions = [0] : tensor<4096xf32>
 -> %w = stablehlo.constant dense<[4094.0, 1.0, 1.0]>
    %y = stablehlo.multiply %x, %w
    %s = stablehlo.reduce(%y) across dimensions = [0] : tensor<3xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from shardc.graph import Function, Graph, Node, Region, TensorType, Value
from shardc.graph.attrs import Dense
from shardc.graph.types import is_inexact
from shardc.ops import hlo, sdy
from shardc.proof import uniform_indexing, uniform_regions, uniform_sums
from shardc.proof.classes import Classes, Key, Shrunk, shrunk
from shardc.proof.uniform import Program

TABLES = (uniform_indexing, uniform_regions, uniform_sums)
"""What must have been imported: how operations treat dimensions."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """The two programs at reduced shapes, and what was done to which sizes."""

    whole: Graph
    local: Graph
    units: tuple[tuple[int, int], ...]
    kept: tuple[str, ...]


def reduced(whole: Graph, local: Graph) -> Reduced:
    """Shrink the dimensions that can be. The graphs that are given stay as they are."""
    classes = Classes()
    together: dict[Key, int] = {}
    programs = [Program(number, graph, classes, together) for number, graph in enumerate((whole, local))]
    for program in programs:
        program.read()
    first, second = whole.main.body, local.main.body
    for left, right in (
        *zip(first.args, second.args, strict=True),
        *zip(first.results, second.results, strict=True),
    ):
        for dim in range(len(whole.type(left).shape)):
            classes.link((0, left, dim), (1, right, dim))
    for program in programs:
        program.merge()
    for program in programs:
        program.count()
    found = shrunk(classes, together)
    new_whole, new_local = (_Rewriter(program, found).graph() for program in programs)
    units = {(change.unit, change.kept) for change in found.values()}
    return Reduced(new_whole, new_local, tuple(sorted(units)), tuple(sorted(set(classes.pinned.values()))))


class _Rewriter:
    """Copies a program with other sizes, and weights before its sums."""

    def __init__(self, program: Program, found: dict[Key, Shrunk]) -> None:
        self.program = program
        self.found = found
        old = program.graph
        values = [replace(value, type=self.type(value.id)) for value in old.values]
        self.new = Graph(dict(old.meshes), {}, values)
        self.nodes = 1 + max(
            (node.id for f in old.functions.values() for node in _all(f.body)),
            default=0,
        )

    def graph(self) -> Graph:
        for name, function in self.program.graph.functions.items():
            self.new.functions[name] = Function(
                name, self.region(function.body), function.result_shardings, function.loc, function.public
            )
        return self.new

    def change(self, value: int, dim: int) -> Shrunk | None:
        return self.found.get(self.program.key(value, dim))

    def type(self, value: int) -> TensorType:
        old = self.program.graph.type(value)
        changes = [self.change(value, dim) for dim in range(old.rank)]
        shape = tuple(size if c is None else c.size for size, c in zip(old.shape, changes, strict=True))
        return old.with_shape(shape)

    def region(self, region: Region) -> Region:
        return Region(region.args, [new for node in region.nodes for new in self.node(node)])

    def node(self, node: Node) -> list[Node]:
        before: list[Node] = []
        operands = list(node.operands)
        number, dims = self.program.sums.get(node.id, (0, ()))
        if dims:
            changes = [(dim, self.change(operands[number], dim)) for dim in dims]
            operands[number] = self.weighted(before, node, operands[number], changes)
        block, starts = self.program.starts.get(node.id, (0, {}))
        for number, dim in starts.items():
            if self.change(block, dim):
                operands[number] = self.scaled(before, node, operands[number], block, dim)
        regions = tuple(map(self.region, node.regions))
        return [*before, replace(node, operands=tuple(operands), attrs=self.attrs(node), regions=regions)]

    def attrs(self, node: Node) -> dict[str, object]:
        """The attributes that hold sizes, with the new ones."""
        attrs = dict(node.attrs)
        if node.name in (hlo.constant.name, sdy.constant.name):
            attrs["value"] = Dense(cast(Dense, attrs["value"]).data, self.type(node.results[0]).shape)
        for key in {hlo.slice_.name: ("limit_indices",), hlo.gather.name: ("slice_sizes",)}.get(
            node.name, ()
        ):
            operand = node.operands[0]
            old, new = self.program.shape(operand), self.type(operand).shape
            sizes = enumerate(cast("Sequence[int]", attrs[key]))
            attrs[key] = tuple(new[dim] if size == old[dim] else size for dim, size in sizes)
        if node.name == hlo.dynamic_slice.name:
            attrs["slice_sizes"] = self.type(node.results[0]).shape
        return attrs

    def weighted(
        self, made: list[Node], node: Node, operand: int, dims: Sequence[tuple[int, Shrunk | None]]
    ) -> int:
        """An operand times the weights of its dimensions."""
        type = self.type(operand)
        for dim, change in dims:
            if change is None:
                continue
            inexact = is_inexact(type.dtype)
            values = np.array(change.weights, np.float64 if inexact else np.int64)
            data = values if inexact else values.astype(type.numpy)
            row = TensorType((change.size,), type.dtype)
            weights = self.add(made, node, hlo.constant.name, (), row, value=Dense(data, row.shape))
            spread = self.add(
                made, node, hlo.broadcast_in_dim.name, (weights,), type, broadcast_dimensions=(dim,)
            )
            operand = self.add(made, node, hlo.multiply.name, (operand, spread), type)
        return operand

    def scaled(self, made: list[Node], node: Node, start: int, block: int, dim: int) -> int:
        """A start that is k times a block's size, as k times the new size."""
        type = self.program.graph.type(start)
        sizes = (self.program.shape(block)[dim], self.type(block).shape[dim])
        for name, size in zip((hlo.divide.name, hlo.multiply.name), sizes, strict=True):
            number = Dense(np.asarray(size, type.numpy), ())
            factor = self.add(made, node, hlo.constant.name, (), type, value=number)
            start = self.add(made, node, name, (start, factor), type)
        return start

    def add(
        self,
        made: list[Node],
        at: Node,
        name: str,
        operands: tuple[int, ...],
        type: TensorType,
        **attrs: object,
    ) -> int:
        result = len(self.new.values)
        self.new.values.append(Value(result, type, at.loc))
        made.append(Node(self.nodes, name, operands, (result,), attrs, (), at.loc))
        self.nodes += 1
        return result


def _all(region: Region) -> list[Node]:
    return [n for node in region.nodes for n in (node, *(m for r in node.regions for m in _all(r)))]
