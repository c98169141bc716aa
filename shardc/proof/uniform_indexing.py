"""Dimensions of operations that take parts of tensors: what is taken whole, and what meets bounds."""

from __future__ import annotations

from typing import Any, cast

from shardc.graph import Node
from shardc.graph.attrs import GatherDims, ScatterDims
from shardc.ops import chlo, hlo
from shardc.proof.uniform import Program, treats


@treats(hlo.slice_)
def _slice(program: Program, node: Node) -> None:
    (operand,), (result,) = node.operands, node.results
    _whole_dims(program, node, operand, result)


@treats(hlo.dynamic_slice)
def _dynamic_slice(program: Program, node: Node) -> None:
    _whole_dims(program, node, node.operands[0], node.results[0])


@treats(hlo.dynamic_update_slice)
def _dynamic_update_slice(program: Program, node: Node) -> None:
    operand, update = node.operands[:2]
    program.alike(operand, node.results[0])
    _whole_dims(program, node, operand, update)


def _whole_dims(program: Program, node: Node, operand: int, part: int) -> None:
    """Dimensions that are taken whole go together; the others keep their sizes."""
    for dim, (all_of, some) in enumerate(zip(program.shape(operand), program.shape(part), strict=True)):
        if all_of == some and 1 not in (all_of, some):
            program.link((operand, dim), (part, dim))
        else:
            program.pin(operand, f"bounds in line {node.loc.line}", dim)
            program.pin(part, f"bounds in line {node.loc.line}", dim)


@treats(hlo.concatenate)
def _concatenate(program: Program, node: Node) -> None:
    (result,), along = node.results, cast(int, node.attrs["dimension"])
    others = [dim for dim in range(len(program.shape(result))) if dim != along]
    for value in (*node.operands, result):
        program.alike(value, result, others)
        program.pin(value, f"concatenate in line {node.loc.line}", along)


@treats(hlo.pad)
def _pad(program: Program, node: Node) -> None:
    operand, result = node.operands[0], node.results[0]
    keys = ("edge_padding_low", "edge_padding_high", "interior_padding")
    amounts = [cast("tuple[int, ...]", node.attrs.get(key, (0,) * 9)) for key in keys]
    for dim in range(len(program.shape(result))):
        if any(amount[dim] for amount in amounts):
            program.pin(operand, f"padding in line {node.loc.line}", dim)
            program.pin(result, f"padding in line {node.loc.line}", dim)
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
        if dim in dropped or sizes[dim] != size:
            program.pin(operand, f"gather in line {node.loc.line}", dim)
    others = [dim for dim in range(len(program.shape(result))) if dim not in dims.offset_dims]
    batch = [dim for dim in range(len(program.shape(indices))) if dim != dims.index_vector_dim]
    for dim, to in zip(batch, others, strict=True):
        program.link((indices, dim), (result, to))
        if dims.operand_batching_dims:
            program.pin(result, f"gather in line {node.loc.line}", to)
    if dims.index_vector_dim < len(program.shape(indices)):
        program.pin(indices, f"gather in line {node.loc.line}", dims.index_vector_dim)


@treats(hlo.scatter)
def _scatter(program: Program, node: Node) -> None:
    """Windows of whole dimensions are all alike; where updates go, and how many there are, stays."""
    count = len(node.operands) // 2
    dims = cast(ScatterDims, node.attrs["scatter_dimension_numbers"])
    indices, line = node.operands[count], f"scatter in line {node.loc.line}"
    program.pin(indices, line)
    dropped = (*dims.inserted_window_dims, *dims.input_batching_dims)
    for operand, update, result in zip(
        node.operands[:count], node.operands[count + 1 :], node.results, strict=True
    ):
        kept = [dim for dim in range(len(program.shape(operand))) if dim not in dropped]
        program.alike(operand, result)
        program.alike(operand, node.operands[0])
        for dim in dropped:
            program.pin(operand, line, dim)
        for dim, window in zip(kept, dims.update_window_dims, strict=True):
            if program.shape(operand)[dim] == program.shape(update)[window]:
                program.link((operand, dim), (update, window))
            else:
                program.pin(operand, line, dim)
                program.pin(update, line, window)
        for dim in range(len(program.shape(update))):
            if dim not in dims.update_window_dims:
                program.pin(update, line, dim)
