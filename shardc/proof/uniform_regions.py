"""Dimensions of operations with bodies that are parts of the program: loops, branches, calls, per-device
code.
"""

from __future__ import annotations

from typing import cast

from shardc.graph import Node, Region
from shardc.layout import Sharding
from shardc.ops import func, hlo, sdy
from shardc.proof.uniform import Program, treats


@treats(sdy.manual_computation)
def _manual(program: Program, node: Node) -> None:
    (region,) = node.regions
    ins, outs = (cast("tuple[Sharding, ...]", node.attrs[key]) for key in ("in_shardings", "out_shardings"))
    line = f"per-device code in line {node.loc.line}"
    if set(cast("tuple[str, ...]", node.attrs["manual_axes"])) != set(program.axes.names):
        program.axes.pin(line, program.axes.names)
    for outer, inner, sharding in (
        *zip(node.operands, region.args, ins, strict=True),
        *zip(node.results, region.results, outs, strict=True),
    ):
        program.axes.pin(line, [axis.name for axis in sharding.unreduced])
        for dim, (size, local) in enumerate(zip(program.shape(outer), program.shape(inner), strict=True)):
            program.split((outer, dim), sharding.dims[dim].axes, (inner, dim))
            if local == 0 or size % local:
                program.uneven.add(program.key(outer, dim))
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
