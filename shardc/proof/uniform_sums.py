"""Dimensions of operations that combine elements: which they sum over, and which they leave alone."""

from __future__ import annotations

from typing import Any, cast

from shardc.graph import Node
from shardc.graph.attrs import ConvDims, DotDims
from shardc.ops import hlo, op_of
from shardc.proof.uniform import Program, opaque, treats


@treats(hlo.dot_general)
def _dot(program: Program, node: Node) -> None:
    (lhs, rhs), (result,) = node.operands, node.results
    dims = cast(DotDims, node.attrs["dot_dimension_numbers"])
    place = 0
    for left, right in zip(dims.lhs_batching, dims.rhs_batching, strict=True):
        program.link((lhs, left), (rhs, right))
        program.link((lhs, left), (result, place))
        place += 1
    for value, batch, contracted in (
        (lhs, dims.lhs_batching, dims.lhs_contracting),
        (rhs, dims.rhs_batching, dims.rhs_contracting),
    ):
        for dim in range(len(program.shape(value))):
            if dim not in batch and dim not in contracted:
                program.link((value, dim), (result, place))
                place += 1
    for left, right in zip(dims.lhs_contracting, dims.rhs_contracting, strict=True):
        program.link((lhs, left), (rhs, right))
    program.sums[node.id] = (0, dims.lhs_contracting)


@treats(hlo.reduce)
def _reduce(program: Program, node: Node) -> None:
    along = tuple(cast(Any, node.attrs["dimensions"]))
    count = len(node.operands) // 2
    kept = [dim for dim in range(len(program.shape(node.operands[0]))) if dim not in along]
    kind = op_of(program.graph, node).combiner
    for operand, result in zip(node.operands[:count], node.results, strict=True):
        program.alike(operand, node.operands[0])
        for to, dim in enumerate(kept):
            program.link((operand, dim), (result, to))
        if kind not in ("sum", "max", "min", "and", "or", "bitand", "bitor"):
            program.pin(operand, f"reduce in line {node.loc.line}", *along)
        if kind in ("max", "min"):
            program.ordered.update(program.key(operand, dim) for dim in along)
    if kind == "sum":
        program.sums[node.id] = (0, along)


@treats(hlo.fft)
def _fft(program: Program, node: Node) -> None:
    """Dimensions that are transformed keep their sizes; the others are all alike."""
    (operand,), (result,) = node.operands, node.results
    rank = len(program.shape(operand))
    first = rank - len(cast("tuple[int, ...]", node.attrs["fft_length"]))
    program.alike(operand, result, range(first))
    for value in (operand, result):
        program.pin(value, f"a transform in line {node.loc.line}", *range(first, rank))


@treats(hlo.reduce_window, hlo.select_and_scatter)
def _windows(program: Program, node: Node) -> None:
    """Dimensions that no window reaches along are all alike."""
    several = node.name == hlo.reduce_window.name
    values = (*node.operands[: len(node.operands) // 2 if several else 2], *node.results)
    shapes = [program.shape(value) for value in values]
    window = cast("tuple[int, ...]", node.attrs.get("window_dimensions") or (1,) * len(shapes[0]))
    pairs: Any = node.attrs.get("padding") or ((0, 0),) * len(window)
    plain = {
        dim
        for dim, (length, around) in enumerate(zip(window, pairs, strict=True))
        if length == 1 and not any(around) and len({shape[dim] for shape in shapes}) == 1
    }
    for value in values:
        program.alike(value, node.results[0], sorted(plain))
        others = [dim for dim in range(len(window)) if dim not in plain]
        if others:
            program.pin(value, f"windows in line {node.loc.line}", *others)


@treats(hlo.convolution)
def _convolution(program: Program, node: Node) -> None:
    """Images and features are all alike where there are no groups of them; places are not."""
    (lhs, rhs), (result,) = node.operands, node.results
    dims, line = cast(ConvDims, node.attrs["dimension_numbers"]), f"convolution in line {node.loc.line}"
    if node.attrs.get("feature_group_count", 1) != 1 or node.attrs.get("batch_group_count", 1) != 1:
        opaque(program, node)
        return
    program.link((lhs, dims.input_batch), (result, dims.output_batch))
    program.link((rhs, dims.kernel_output_feature), (result, dims.output_feature))
    program.link((lhs, dims.input_feature), (rhs, dims.kernel_input_feature))
    program.sums[node.id] = (0, (dims.input_feature,))
    for value, places in (
        (lhs, dims.input_spatial),
        (rhs, dims.kernel_spatial),
        (result, dims.output_spatial),
    ):
        if places:
            program.pin(value, line, *places)
