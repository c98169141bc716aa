"""Indices that only count along a dimension, as batching dimensions.

    %i = stablehlo.concatenate %rows, %labels, dim = 1      %rows counts: 0, 1, 2, …
    %y = stablehlo.scatter %x, %i, %u with indices of dimensions [0, 1]
 -> %y = stablehlo.scatter %x, %labels, %u with indices of dimension [1], batching dimension [0] with [0]

JAX writes x.at[arange(n), labels] in the first way, XLA's rules for batches in the second. Positions in the
batch are then treated alike, and their number can be reduced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from shardc.graph import Graph, Node, Region, Value, walk
from shardc.graph.attrs import GatherDims, ScatterDims
from shardc.ops import Trait, has, hlo, meaning, op_of
from shardc.proof.flat import constants
from shardc.semantics.arrays import Array

MOST = 1 << 20
"""Elements of indices that are looked at, at most."""


def batched(graph: Graph) -> Graph:
    """The program with batching dimensions in its gathers and scatters; the one given stays as it is."""
    nodes = [node for function in graph.functions.values() for node in walk(function.body)]
    joined = any(node.name == hlo.concatenate.name for node in nodes)
    if not joined or not any(node.name in _DIMS and len(_places(_dims(node))) > 1 for node in nodes):
        return graph
    result = replace(graph, functions=dict(graph.functions), values=list(graph.values))
    body = _Bodies(result, max(node.id for node in nodes))
    for name, function in graph.functions.items():
        result.functions[name] = replace(function, body=body.rewritten(function.body, {}, {}))
    return result


_DIMS = {hlo.gather.name: "dimension_numbers", hlo.scatter.name: "scatter_dimension_numbers"}


def _dims(node: Node) -> GatherDims | ScatterDims:
    return cast("GatherDims | ScatterDims", node.attrs[_DIMS[node.name]])


def _places(dims: GatherDims | ScatterDims) -> tuple[int, ...]:
    """The dimensions that indices are of."""
    return dims.start_index_map if isinstance(dims, GatherDims) else dims.scatter_dims_to_operand_dims


class _Bodies(Struct):
    """Regions that are rewritten. number: the last node of the program."""

    graph: Graph
    number: int

    def rewritten(self, region: Region, made: Mapping[int, Node], around: Mapping[int, Node]) -> Region:
        """made, around: what makes the values around it, and those of them that follow from constants."""
        made = {**made, **{value: node for node in region.nodes for value in node.results}}
        known = _Known(self.graph, {**around, **constants(region)})
        nodes: list[Node] = []
        for node in region.nodes:
            if node.name in _DIMS:
                nodes += self._batched(node, made, known)
            elif has(node.name, Trait.REGION):
                inner = (self.rewritten(each, made, known.constants) for each in node.regions)
                nodes.append(replace(node, regions=tuple(inner)))
            else:
                nodes.append(node)
        return Region(region.args, _needed(nodes, known.constants))

    def _batched(self, node: Node, made: Mapping[int, Node], known: _Known) -> list[Node]:
        """The operation, after its indices where they are others."""
        dims, at = _dims(node), 1 if node.name == hlo.gather.name else len(node.operands) // 2
        indices = made.get(node.operands[at])
        if indices is None or indices.name != hlo.concatenate.name:
            return [node]
        if indices.attrs["dimension"] != dims.index_vector_dim:
            return [node]
        sizes = [self.graph.type(value).shape[dims.index_vector_dim] for value in indices.operands]
        if any(size != 1 for size in sizes):
            return [node]
        operand, places = self.graph.type(node.operands[0]).shape, _places(dims)
        counts: dict[int, int] = {}  # dimension of the operand -> dimension of the indices
        left: list[int] = []
        for value, place in zip(indices.operands, places, strict=True):
            dim = known.counts(value) if place in _single(dims) else None
            if dim in (None, *counts.values()) or self.graph.type(value).shape[dim] != operand[place]:
                left.append(value)
            else:
                counts[place] = dim
        if not counts or not left:
            return [node]
        joined = self._join(indices, left)
        operands = (
            *node.operands[:at],
            joined[-1].results[0] if joined else left[0],
            *node.operands[at + 1 :],
        )
        attrs = {**node.attrs, _DIMS[node.name]: _with(dims, counts)}
        return [*joined, replace(node, operands=operands, attrs=attrs)]

    def _join(self, like: Node, values: Sequence[int]) -> list[Node]:
        """The concatenation of what is left, if that is more than one."""
        if len(values) == 1:
            return []
        along = cast(int, like.attrs["dimension"])
        old = self.graph.type(values[0])
        shape = (*old.shape[:along], len(values), *old.shape[along + 1 :])
        self.graph.values.append(Value(len(self.graph.values), old.with_shape(shape), like.loc))
        self.number += 1
        result = (len(self.graph.values) - 1,)
        return [replace(like, id=self.number, operands=tuple(values), results=result)]


class _Known(Struct):
    """Arrays that follow from constants alone, by value."""

    graph: Graph
    constants: Mapping[int, Node]
    arrays: dict[int, Array | None] = {}

    def counts(self, value: int) -> int | None:
        """The dimension along which a value is 0, 1, 2, …; None if there is none."""
        array = self.array(value)
        if array is None:
            return None
        shape = array.shape
        return next((dim for dim, size in enumerate(shape) if size > 1 and _is_count(array, dim, size)), None)

    def array(self, value: int) -> Array | None:
        if value not in self.arrays:
            self.arrays[value] = self._array(value)
        return self.arrays[value]

    def _array(self, value: int) -> Array | None:
        node = self.constants.get(value)
        computes = None if node is None else meaning(node.name)
        if node is None or computes is None or self.graph.type(value).size > MOST:
            return None
        operands = [self.array(operand) for operand in node.operands]
        arrays = [operand for operand in operands if operand is not None]
        if len(arrays) < len(operands) or len(node.results) > 1:
            return None
        with np.errstate(all="ignore"):
            return computes(op_of(self.graph, node), arrays)[0]


def _is_count(array: Array, dim: int, size: int) -> bool:
    along = [1] * array.ndim
    along[dim] = size
    return bool((array == np.arange(size).reshape(along)).all())


def _single(dims: GatherDims | ScatterDims) -> tuple[int, ...]:
    """The dimensions of which one element is taken."""
    return dims.collapsed_slice_dims if isinstance(dims, GatherDims) else dims.inserted_window_dims


def _with(dims: GatherDims | ScatterDims, counts: Mapping[int, int]) -> GatherDims | ScatterDims:
    """The same with more batching dimensions."""
    single = tuple(dim for dim in _single(dims) if dim not in counts)
    places = tuple(place for place in _places(dims) if place not in counts)
    if isinstance(dims, GatherDims):
        pairs = {
            **dict(zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True)),
            **counts,
        }
        return replace(
            dims,
            collapsed_slice_dims=single,
            operand_batching_dims=tuple(sorted(pairs)),
            start_indices_batching_dims=tuple(pairs[dim] for dim in sorted(pairs)),
            start_index_map=places,
        )
    pairs = {**dict(zip(dims.input_batching_dims, dims.scatter_indices_batching_dims, strict=True)), **counts}
    return replace(
        dims,
        inserted_window_dims=single,
        input_batching_dims=tuple(sorted(pairs)),
        scatter_indices_batching_dims=tuple(pairs[dim] for dim in sorted(pairs)),
        scatter_dims_to_operand_dims=places,
    )


def _needed(nodes: Sequence[Node], made: Mapping[int, Node]) -> list[Node]:
    """The operations but for constants and concatenations that nothing uses, which keep sizes too."""
    used: set[int] = set()
    kept: list[Node] = []
    for node in reversed(nodes):
        idle = node.name == hlo.concatenate.name or (bool(node.results) and node.results[0] in made)
        if not idle or any(value in used for value in node.results):
            used.update(value for inner in walk(Region((), [node])) for value in inner.operands)
            kept.append(node)
    return kept[::-1]
