"""Floating-point and other operations of a device's program.

A matmul of m x k by k x n counts 2mnk, a convolution twice its multiplications. `all` adds one operation per
element of every result that is computed (arithmetic, comparison, functions), one per element that a
reduction reads, and for each that is sorted the logarithm of how many there are; moving, repeating and
choosing elements is free (OpDef.work).
"""

from __future__ import annotations

from functools import partial

from msgspec import Struct

from shardc.analysis.per_device import PerDeviceProgram
from shardc.graph import Graph, Node
from shardc.ops import Trait, find, has, op_of
from shardc.report.executions import Executions


class Work(Struct, frozen=True):
    """Operations of one device: `all` of them, and those of matmuls and convolutions by operand dtype.

    `at_least`: a loop that the program's data end is counted once.
    """

    matmul: int
    all: int
    matmul_by_dtype: tuple[tuple[str, int], ...]
    at_least: bool


def work(program: PerDeviceProgram) -> Work:
    """What a device computes."""
    graph = program.graph
    executions = Executions(program, partial(operations, graph))
    by_dtype: dict[str, int] = {}
    for run in executions.runs:
        if has(run.node.name, Trait.PRODUCT) and run.times:
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
    definition = find(node.name)
    return 0 if definition is None else definition.work.operations(op_of(graph, node))
