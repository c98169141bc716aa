"""Floating-point and other operations of a device's program.

A matmul of m x k by k x n counts 2mnk, a convolution twice its multiplications. `all` adds one operation per
element of every result that is computed (arithmetic, comparison, functions), and one per element that a
reduction reads; moving, repeating and choosing elements is free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod
from typing import cast

from shardc.backend.local import LocalProgram
from shardc.graph import ConvDims, DotDims, Graph, Node
from shardc.report.executions import Executions

_MATMULS = {"stablehlo.dot_general", "stablehlo.convolution"}
_READS = {"stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.sort", "stablehlo.select_and_scatter"}
_FREE = {
    f"stablehlo.{name}"
    for name in """
    after_all bitcast_convert broadcast_in_dim case concatenate constant convert copy create_token custom_call
    dynamic_slice dynamic_update_slice gather get_tuple_element if imag iota optimization_barrier pad real
    reshape return reverse select slice transpose tuple while
    """.split()
}


@dataclass(frozen=True)
class Work:
    """Operations of one device: `all` of them, and those of matmuls and convolutions by operand dtype.

    `at_least`: a loop that the program's data end is counted once.
    """

    matmul: int
    all: int
    matmul_by_dtype: tuple[tuple[str, int], ...]
    at_least: bool


def work(program: LocalProgram) -> Work:
    """What a device computes."""
    graph = program.graph
    executions = Executions(program, partial(operations, graph))
    by_dtype: dict[str, int] = {}
    for run in executions.runs:
        if run.node.name in _MATMULS and run.times:
            dtype = graph.type(run.node.operands[0]).dtype
            by_dtype[dtype] = by_dtype.get(dtype, 0) + run.times * operations(graph, run.node)
    return Work(
        matmul=sum(by_dtype.values()),
        all=executions.total(),
        matmul_by_dtype=tuple(sorted(by_dtype.items())),
        at_least=any(run.at_least and operations(graph, run.node) for run in executions.runs),
    )


def operations(graph: Graph, node: Node) -> int:
    """What running one operation once takes."""
    if node.name == "stablehlo.dot_general":
        return _dot(graph, node)
    if node.name == "stablehlo.convolution":
        return _convolution(graph, node)
    if node.name in _READS:
        return graph.type(node.operands[0]).size
    if node.name in ("stablehlo.scatter",):
        return graph.type(node.operands[-1]).size
    if node.name in _FREE or not node.name.startswith(("stablehlo.", "chlo.")):
        return 0
    return sum(graph.type(value).size for value in node.results)


def _dot(graph: Graph, node: Node) -> int:
    dims = cast(DotDims, node.attrs["dot_dimension_numbers"])
    lhs = graph.type(node.operands[0]).shape
    return 2 * graph.type(node.results[0]).size * prod(lhs[d] for d in dims.lhs_contracting)


def _convolution(graph: Graph, node: Node) -> int:
    """Every element of the result takes a kernel without its output features."""
    dims = cast(ConvDims, node.attrs["dimension_numbers"])
    kernel = graph.type(node.operands[1]).shape
    taps = prod(n for d, n in enumerate(kernel) if d != dims.kernel_output_feature)
    return 2 * graph.type(node.results[0]).size * taps
