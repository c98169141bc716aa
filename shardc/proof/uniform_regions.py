"""Dimensions of operations with bodies that are parts of the program: loops, branches, calls, per-device
code.
"""

from __future__ import annotations

from shardc.graph import Node, Region
from shardc.ops import func, hlo, sdy
from shardc.proof.uniform import Program, treats


@treats(sdy.manual_computation)
def _manual(program: Program, node: Node) -> None:
    (region,) = node.regions
    for outer, inner in (
        *zip(node.operands, region.args, strict=True),
        *zip(node.results, region.results, strict=True),
    ):
        for dim, (size, local) in enumerate(zip(program.shape(outer), program.shape(inner), strict=True)):
            program.link((outer, dim), (inner, dim))
            if local == 0 or size % local:
                program.pin(outer, f"blocks of {local} of {size} in line {node.loc.line}", dim)


@treats(hlo.while_)
def _while(program: Program, node: Node) -> None:
    for region in node.regions:
        for carried, argument in zip(node.operands, region.args, strict=True):
            program.alike(carried, argument)
    for values in (node.results, node.regions[1].results):
        for carried, value in zip(node.operands, values, strict=True):
            program.alike(carried, value)


@treats(hlo.case, hlo.if_)
def _branch(program: Program, node: Node) -> None:
    for region in node.regions:
        for value, result in zip(region.results, node.results, strict=True):
            program.alike(value, result)


@treats(func.call, hlo.composite)
def _call(program: Program, node: Node) -> None:
    key = "callee" if node.name == func.call.name else "decomposition"
    _body(program, node, program.graph.functions[str(node.attrs[key])].body)


@treats(sdy.named_computation)
def _named(program: Program, node: Node) -> None:
    _body(program, node, node.regions[0])


def _body(program: Program, node: Node, callee: Region) -> None:
    for outer, inner in (
        *zip(node.operands, callee.args, strict=True),
        *zip(node.results, callee.results, strict=True),
    ):
        program.alike(outer, inner)
