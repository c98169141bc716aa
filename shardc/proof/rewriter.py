"""Writes a program again with other sizes and axes, and with weights before its sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from msgspec.structs import replace

from shardc.graph import Function, Graph, Node, Region, TensorType, Value
from shardc.graph.attrs import Dense
from shardc.graph.types import is_inexact
from shardc.layout import Axis
from shardc.ops import Trait, has, hlo, sdy, spmd
from shardc.proof.classes import Key, Shrunk
from shardc.proof.joined import Row
from shardc.proof.products import Product
from shardc.proof.shorter import Near, Pairs
from shardc.proof.thinned import Remeshed
from shardc.proof.uniform import Program
from shardc.proof.uniform_collectives import FOLDS, axes_of
from shardc.proof.uniform_indexing import PADDING

Change = Shrunk | Product | Row | Near
"""What becomes of a dimension."""


class Rewriter:
    """Copies a program with other sizes, and weights before its sums."""

    def __init__(
        self,
        program: Program,
        found: Mapping[Key, Change],
        thinner: Remeshed | None,
        moves: Mapping[tuple[int, int], int],
    ) -> None:
        """moves: for collectives of joined dimensions, by program and node, how many blocks are left."""
        self.program = program
        self.moves = moves
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

    def change(self, value: int, dim: int) -> Change | None:
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
        place = self.program.number, node.id
        if self.thinner and place in self.thinner.masks:
            axis, number, at = self.thinner.masks[place]
            type = self.type(operands[number])
            operands[number] = self.number(before, node, type, at)
            operands[1 - number] = self.position(before, node, (axis,), type)
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
        new = replace(node, operands=tuple(operands), attrs=self.attrs(node), regions=regions)
        if place in self.moves:
            return [*before, *self.moved(new, self.moves[place])]
        return [*before, new]

    def moved(self, node: Node, count: int) -> list[Node]:
        """A collective of a joined dimension and its blocks, with padding of the last."""
        made: list[Node] = []
        (operand,), (result,), dim = node.operands, node.results, cast(int, node.attrs["dim"])
        gathers = node.name == spmd.all_gather.name
        whole, block = (result, operand) if gathers else (operand, result)
        type = self.new.type(whole)
        size = count * self.new.type(block).shape[dim]
        padded = type.with_shape((*type.shape[:dim], size, *type.shape[dim + 1 :]))
        if padded == type:
            return [node]
        if gathers:
            value = self.add(made, node, node.name, (operand,), padded, **node.attrs)
            bounds = {"start_indices": (0,) * type.rank, "limit_indices": type.shape}
            attrs = {**bounds, "strides": (1,) * type.rank}
            return [*made, Node(node.id, hlo.slice_.name, (value,), (result,), attrs, (), node.loc)]
        zero = self.number(made, node, type.with_shape(()), 0)
        added = tuple(size - type.shape[dim] if at == dim else 0 for at in range(type.rank))
        attrs = dict(zip(PADDING, ((0,) * type.rank, added, (0,) * type.rank), strict=True))
        value = self.add(made, node, hlo.pad.name, (operand, zero), padded, **attrs)
        return [*made, replace(node, operands=(value,))]

    def attrs(self, node: Node) -> dict[str, object]:
        """The attributes that hold sizes, with the new ones."""
        attrs = dict(node.attrs)
        if node.name in (hlo.constant.name, sdy.constant.name):
            attrs["value"] = Dense(cast(Dense, attrs["value"]).data, self.type(node.results[0]).shape)
        if node.name == hlo.slice_.name:
            for key in ("start_indices", "limit_indices"):
                attrs[key] = self.places(node.operands[0], cast("Sequence[int]", attrs[key]))
        if node.name == hlo.gather.name:
            old, new = self.program.shape(node.operands[0]), self.type(node.operands[0]).shape
            sizes = enumerate(cast("Sequence[int]", attrs["slice_sizes"]))
            attrs["slice_sizes"] = tuple(new[dim] if size == old[dim] else size for dim, size in sizes)
        if node.name == hlo.pad.name:
            attrs.update(self.padding(node))
        if self.thinner and (has(node.name, Trait.ALONG_AXES) or node.name == sdy.manual_computation.name):
            attrs.update((key, self.thinner.attribute(value)) for key, value in node.attrs.items())
        if self.thinner and node.name == spmd.collective_permute.name:
            attrs["pairs"] = self.thinner.pairs(axes_of(node), cast(Pairs, attrs["pairs"]))
        if node.name == hlo.dynamic_slice.name:
            attrs["slice_sizes"] = self.type(node.results[0]).shape
        return attrs

    def places(self, value: int, old: Sequence[int]) -> tuple[int, ...]:
        """Where the elements are that were at places of a value's dimensions."""
        return tuple(self.place(value, dim, place) for dim, place in enumerate(old))

    def place(self, value: int, dim: int, old: int) -> int:
        change = self.change(value, dim)
        return old if change is None else change.place(old)

    def padding(self, node: Node) -> dict[str, object]:
        """What a padding adds, or takes away."""
        (operand, _), (result,) = node.operands, node.results
        low, high, _ = (list(cast("Sequence[int]", node.attrs[key])) for key in PADDING)
        for dim, (size, padded) in enumerate(
            zip(self.program.shape(operand), self.program.shape(result), strict=True)
        ):
            whole, end = (operand, size) if high[dim] < 0 else (result, padded)
            at_end = self.place(whole, dim, end) - self.place(whole, dim, end - abs(high[dim]))
            at_begin = self.place(operand if low[dim] < 0 else result, dim, abs(low[dim]))
            low[dim] = -at_begin if low[dim] < 0 else at_begin
            high[dim] = -at_end if high[dim] < 0 else at_end
        return dict(zip(PADDING, (tuple(low), tuple(high)), strict=False))

    def weighted(
        self, made: list[Node], node: Node, operand: int, dims: Sequence[tuple[int, Change | None]]
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

    def counted(self, made: list[Node], node: Node, thinner: Remeshed) -> int:
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
        each = thinner.each(axes_of(node))
        if each == 1 or type.dtype == "bool":
            return operand
        number = self.number(made, node, scalar, each)
        spread = self.add(made, node, hlo.broadcast_in_dim.name, (number,), type, broadcast_dimensions=())
        return self.add(made, node, hlo.multiply.name, (operand, spread), type)

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
