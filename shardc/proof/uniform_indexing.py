"""Dimensions of operations that take parts of tensors: what is taken whole, and what meets bounds."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from shardc.graph import Node
from shardc.graph.attrs import GatherDims, ScatterDims
from shardc.layout import Axis, size_of
from shardc.layout.groups import axes_of_positions
from shardc.ops import chlo, hlo, op_of
from shardc.proof.uniform import Program, treats

PADDING = ("edge_padding_low", "edge_padding_high", "interior_padding")


@treats(hlo.slice_)
def _slice(program: Program, node: Node) -> None:
    (operand,), (result,) = node.operands, node.results
    starts, steps = (cast("tuple[int, ...]", node.attrs[key]) for key in ("start_indices", "strides"))
    line = f"bounds in line {node.loc.line}"
    for dim, (all_of, some) in enumerate(zip(program.shape(operand), program.shape(result), strict=True)):
        if all_of == some:
            program.link((operand, dim), (result, dim))
        elif steps[dim] == 1:
            program.stretch((operand, dim), starts[dim], (result, dim), 0, some, line)
        else:
            program.pin(operand, line, dim)
            program.pin(result, line, dim)


@treats(hlo.dynamic_slice)
def _dynamic_slice(program: Program, node: Node) -> None:
    _whole_dims(program, node, node.operands[0], node.results[0], starts=1)


@treats(hlo.dynamic_update_slice)
def _dynamic_update_slice(program: Program, node: Node) -> None:
    operand, update = node.operands[:2]
    program.alike(operand, node.results[0])
    _whole_dims(program, node, operand, update, starts=2)


def _whole_dims(program: Program, node: Node, operand: int, part: int, starts: int) -> None:
    """Dimensions that are taken whole go together, and so do those of which each device has a block; the
    others keep their sizes. starts: the first operand that says where the part begins.
    """
    own: dict[int, int] = {}
    places: dict[int, tuple[Axis, ...]] = {}
    for dim, (all_of, some) in enumerate(zip(program.shape(operand), program.shape(part), strict=True)):
        number = starts + dim
        if all_of == some and 1 not in (all_of, some):
            program.link((operand, dim), (part, dim))
        elif _is_own(program, node.operands[number], all_of, some):
            own[number] = dim
            axes = _place(program, node.operands[number], all_of, some)
            if axes is None:
                program.link((operand, dim), (part, dim))
            else:
                places[number] = axes
                program.split((operand, dim), axes, (part, dim))
        else:
            program.pin(operand, f"bounds in line {node.loc.line}", dim)
            program.pin(part, f"bounds in line {node.loc.line}", dim)
    program.starts[node.id] = (part, own)
    program.places[node.id] = places


def _is_own(program: Program, start: int, all_of: int, some: int) -> bool:
    """Whether a part begins at a multiple of its size on every device."""
    found = program.known.get(start)
    return found is not None and some > 1 and all_of % some == 0 and not bool((found % some).any())


def _place(program: Program, start: int, all_of: int, some: int) -> tuple[Axis, ...] | None:
    """The axes over which a device's position is the number of its own part, of as many as they have."""
    assert program.mesh is not None
    axes = axes_of_positions(program.mesh, program.known[start].astype(np.int64) // some)
    return axes if axes is not None and size_of(axes) * some == all_of else None


@treats(hlo.concatenate)
def _concatenate(program: Program, node: Node) -> None:
    (result,), along = node.results, cast(int, node.attrs["dimension"])
    others = [dim for dim in range(len(program.shape(result))) if dim != along]
    line, begin = f"concatenate in line {node.loc.line}", 0
    for value in node.operands:
        size = program.shape(value)[along]
        program.alike(value, result, others)
        program.stretch((result, along), begin, (value, along), 0, size, line)
        begin += size


@treats(hlo.pad)
def _pad(program: Program, node: Node) -> None:
    """What is added is alike."""
    operand, result = node.operands[0], node.results[0]
    rank, line = len(program.shape(result)), f"padding in line {node.loc.line}"
    low, high, inside = (cast("tuple[int, ...]", node.attrs.get(key, (0,) * rank)) for key in PADDING)
    for dim, size in enumerate(program.shape(operand)):
        if inside[dim]:
            program.pin(operand, line, dim)
            program.pin(result, line, dim)
        elif low[dim] or high[dim]:
            begin, gone = max(low[dim], 0), max(-low[dim], 0)
            stays = size - gone - max(-high[dim], 0)
            program.stretch((result, dim), begin, (operand, dim), gone, stays, line)
        else:
            program.link((operand, dim), (result, dim))


@treats(hlo.reverse, hlo.sort, chlo.top_k)
def _along(program: Program, node: Node) -> None:
    """One dimension, or some, have an order; the others are all alike."""
    rank = len(program.shape(node.operands[0]))
    ordered: Any = node.attrs.get("dimensions", (node.attrs.get("dimension", rank - 1),))
    others = [dim for dim in range(rank) if dim not in tuple(ordered)]
    for value in (*node.operands, *node.results):
        program.alike(value, node.results[0], others)
        program.pin(value, f"an order in line {node.loc.line}", *ordered)


@treats(hlo.gather)
def _gather(program: Program, node: Node) -> None:
    (operand, indices), (result,) = node.operands, node.results
    dims = cast(GatherDims, node.attrs["dimension_numbers"])
    sizes = cast("tuple[int, ...]", node.attrs["slice_sizes"])
    dropped = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
    kept = [dim for dim in range(len(sizes)) if dim not in dropped]
    for dim, to in zip(kept, dims.offset_dims, strict=True):
        if sizes[dim] == program.shape(operand)[dim]:
            program.link((operand, dim), (result, to))
        else:
            program.pin(result, f"gather in line {node.loc.line}", to)
    for dim, size in enumerate(program.shape(operand)):
        if dim not in dims.operand_batching_dims and (dim in dropped or sizes[dim] != size):
            program.pin(operand, f"gather in line {node.loc.line}", dim)
    for dim, index in zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True):
        program.link((operand, dim), (indices, index))
    others = [dim for dim in range(len(program.shape(result))) if dim not in dims.offset_dims]
    batch = [dim for dim in range(len(program.shape(indices))) if dim != dims.index_vector_dim]
    for dim, to in zip(batch, others, strict=True):
        program.link((indices, dim), (result, to))
    if dims.index_vector_dim < len(program.shape(indices)):
        program.pin(indices, f"gather in line {node.loc.line}", dims.index_vector_dim)


@treats(hlo.scatter)
def _scatter(program: Program, node: Node) -> None:
    """Windows of whole dimensions are all alike, and updates that are added; where they go to stays."""
    count = len(node.operands) // 2
    dims = cast(ScatterDims, node.attrs["scatter_dimension_numbers"])
    indices, line = node.operands[count], f"scatter in line {node.loc.line}"
    for operand, update, result in zip(
        node.operands[:count], node.operands[count + 1 :], node.results, strict=True
    ):
        batching = (*dims.inserted_window_dims, *dims.input_batching_dims)
        kept = [dim for dim in range(len(program.shape(operand))) if dim not in batching]
        program.alike(operand, result)
        program.alike(operand, node.operands[0])
        for dim in dims.inserted_window_dims:
            program.pin(operand, line, dim)
        for dim, window in zip(kept, dims.update_window_dims, strict=True):
            if program.shape(operand)[dim] == program.shape(update)[window]:
                program.link((operand, dim), (update, window))
            else:
                program.pin(operand, line, dim)
                program.pin(update, line, window)
        for dim, index in zip(dims.input_batching_dims, dims.scatter_indices_batching_dims, strict=True):
            program.link((operand, dim), (indices, index))
        _updates(program, node, update, dims)
    if dims.index_vector_dim < len(program.shape(indices)):
        program.pin(indices, line, dims.index_vector_dim)


def _updates(program: Program, node: Node, update: int, dims: ScatterDims) -> None:
    """The dimensions of updates that are no windows: one for each of the indices'."""
    indices, line = node.operands[len(node.operands) // 2], f"scatter in line {node.loc.line}"
    kind = op_of(program.graph, node).combiner
    along = [dim for dim in range(len(program.shape(update))) if dim not in dims.update_window_dims]
    places = [dim for dim in range(len(program.shape(indices))) if dim != dims.index_vector_dim]
    folded = {
        dim: at for dim, at in zip(along, places, strict=True) if at not in dims.scatter_indices_batching_dims
    }
    for dim, at in zip(along, places, strict=True):
        program.link((update, dim), (indices, at))
        if dim in folded and (kind not in ("sum", "max", "min") or len(node.results) > 1):
            program.pin(update, line, dim)
    if kind == "sum" and len(node.results) == 1:
        program.sums[node.id] = (2, tuple(folded))
