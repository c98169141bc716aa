"""Writes a program again with other sizes and axes, and with weights before its sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from shardc.graph import Function, Graph, Node, Region, TensorType, Value
from shardc.graph.attrs import Dense
from shardc.graph.types import is_inexact
from shardc.layout import Axis
from shardc.ops import Trait, has, hlo, sdy, spmd
from shardc.proof.classes import Key, Shrunk
from shardc.proof.thinned import Thinner
from shardc.proof.uniform import Program
from shardc.proof.uniform_collectives import FOLDS, axes_of


class Rewriter:
    """Copies a program with other sizes, and weights before its sums."""

    def __init__(self, program: Program, found: dict[Key, Shrunk], thinner: Thinner | None) -> None:
        self.program = program
        self.found = found
        self.thinner = thinner
        self.rows: dict[tuple[Axis, int, str], int] = {}
        self.first: list[Node] = []
        old = program.graph
        values = [replace(value, type=self.type(value.id)) for value in old.values]
        meshes = {name: thinner.mesh(mesh) if thinner else mesh for name, mesh in old.meshes.items()}
        self.new = Graph(meshes, {}, values)
        self.nodes = 1 + max(
            (node.id for f in old.functions.values() for node in _all(f.body)),
            default=0,
        )

    def graph(self) -> Graph:
        for name, function in self.program.graph.functions.items():
            self.new.functions[name] = Function(
                name, self.outer(function.body), function.result_shardings, function.loc, function.public
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

    def outer(self, region: Region) -> Region:
        """A region that does not see what is around it, with what all in it use at its beginning."""
        around = self.first, self.rows
        self.first, self.rows = [], {}
        inside = self.region(region)
        inside.nodes[:0] = self.first
        self.first, self.rows = around
        return inside

    def node(self, node: Node) -> list[Node]:
        before: list[Node] = []
        operands = list(node.operands)
        number, dims = self.program.sums.get(node.id, (0, ()))
        if dims:
            changes = [(dim, self.change(operands[number], dim)) for dim in dims]
            operands[number] = self.weighted(before, node, operands[number], changes)
        if self.thinner and node.name in FOLDS and node.attrs["kind"] == "sum":
            operands[0] = self.counted(before, node, self.thinner)
        block, starts = self.program.starts.get(node.id, (0, {}))
        for number, dim in starts.items():
            axes = self.program.places.get(node.id, {}).get(number)
            if self.thinner and axes is not None:
                own = tuple(map(self.thinner.axis, axes))
                operands[number] = self.placed(before, node, operands[number], own, (block, dim))
            elif self.change(block, dim):
                operands[number] = self.scaled(before, node, operands[number], block, dim)
        manual = node.name == sdy.manual_computation.name
        regions = tuple(map(self.outer if manual else self.region, node.regions))
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
        if self.thinner and (has(node.name, Trait.ALONG_AXES) or node.name == sdy.manual_computation.name):
            attrs.update((key, self.thinner.attribute(value)) for key, value in node.attrs.items())
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
            factor = self.number(made, node, type, size)
            start = self.add(made, node, name, (start, factor), type)
        return start

    def placed(
        self,
        made: list[Node],
        node: Node,
        start: int,
        axes: tuple[Axis, ...],
        block: tuple[int, int],
    ) -> int:
        """A start that is a device's position over axes times a block's size."""
        value, dim = block
        type = self.program.graph.type(start)
        place = self.position(made, node, axes, type)
        size = self.number(made, node, type, self.type(value).shape[dim])
        return self.add(made, node, hlo.multiply.name, (place, size), type)

    def counted(self, made: list[Node], node: Node, thinner: Thinner) -> int:
        """What is summed over axes, times how many positions each device stands for."""
        operand = node.operands[0]
        type = self.type(operand)
        scalar = type.with_shape(())
        for axis, count in thinner.lasts(axes_of(node)) if type.dtype != "bool" else ():
            key = (axis, count, type.dtype)
            if key not in self.rows:
                self.rows[key] = self.on_last(node, axis, count, scalar)
            spread = self.add(
                made, node, hlo.broadcast_in_dim.name, (self.rows[key],), type, broadcast_dimensions=()
            )
            operand = self.add(made, node, hlo.multiply.name, (operand, spread), type)
        return operand

    def on_last(self, node: Node, axis: Axis, count: int, type: TensorType) -> int:
        """A number on the last position along an axis, and 1 on others."""
        made, index, truth = self.first, TensorType((), "i32"), TensorType((), "bool")
        place = self.position(made, node, (axis,), index)
        last = self.number(made, node, index, axis.size - 1)
        is_last = self.add(made, node, hlo.compare.name, (place, last), truth, comparison_direction="EQ")
        numbers = (self.number(made, node, type, count), self.number(made, node, type, 1))
        return self.add(made, node, hlo.select.name, (is_last, *numbers), type)

    def position(self, made: list[Node], node: Node, axes: tuple[Axis, ...], type: TensorType) -> int:
        place = self.add(made, node, spmd.axis_index.name, (), TensorType((), "i32"), axes=axes)
        if type.dtype == "i32":
            return place
        return self.add(made, node, hlo.convert.name, (place,), type)

    def number(self, made: list[Node], node: Node, type: TensorType, number: int) -> int:
        data = np.asarray(number, np.float64 if is_inexact(type.dtype) else np.int64)
        data = data if is_inexact(type.dtype) else data.astype(type.numpy)
        return self.add(made, node, hlo.constant.name, (), type, value=Dense(data, ()))

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
