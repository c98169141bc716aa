"""gather-late: a stack of layers gathered before a loop -> one layer gathered in each iteration.

    %0 = "spmd.all_gather"(%ws) {axes = ["data"], dim = 1}          // f32[24, 64, 256], all layers
    stablehlo.while … do {
      %1 = stablehlo.dynamic_slice %0, %i, %c, %c, sizes = [1, 64, 256]

becomes

    stablehlo.while … do {
      %0 = stablehlo.dynamic_slice %ws, %i, %c, %c, sizes = [1, 16, 256]
      %1 = "spmd.all_gather"(%0) {axes = ["data"], dim = 1}         // f32[1, 64, 256], one layer

The bytes sent are the same, and a device has one whole layer at a time. A stack that something else needs as
well, such as the loop of a gradient, is gathered once as before. So is a small one on a machine where each
turn's gather would have its own latency.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from msgspec.structs import replace
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from shardc.analysis.collectives import axes_of
from shardc.analysis.loops import Constants, counted
from shardc.dialects.build import IRBuilder
from shardc.dialects.locations import location_of
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.graph import Graph, Node, Region, walk
from shardc.graph.marks import REASON
from shardc.graph.program import own_attrs
from shardc.ops import hlo, spmd
from shardc.passes.graph_pass import GraphPass
from shardc.planning.machines import Machine, Stages, load, wanted_of

LITTLE = 100
"""A stack of so small a part of a device's memory may be whole."""


@dataclass(frozen=True)
class GatherLate(GraphPass):
    """Gather layers where they are used; on a `machine` (a Machine or its name) only where that is not
    slower, unless the stack takes much of its memory."""

    name = "gather-late"
    machine: Machine | str | None = None

    def rewrite(self, shared: SharedGraph) -> bool:
        snap = shared.snapshot()
        builder = IRBuilder(shared.module)
        found = [pair for f in snap.graph.functions.values() for pair in _found(snap.graph, f.body)]
        if self.machine is not None and found:
            machine = load(self.machine) if isinstance(self.machine, str) else self.machine
            once = {gather.id for gather in _once(shared, machine, [gather for gather, _ in found])}
            found = [(gather, layer) for gather, layer in found if gather.id not in once]
        for gather, layer in found:
            _move(snap, builder, gather, layer)
        return bool(found)


def _once(shared: SharedGraph, machine: Machine, gathers: list[Node]) -> Iterator[Node]:
    """Those of small stacks that are quicker gathered at once than a layer in each turn."""
    graph, asked = shared.snapshot().graph, {gather.id for gather in gathers}
    for code, types in shared.per_device():
        inside = [node for node in walk(code.regions[0]) if node.id in asked]
        axes = [axis for node in inside for axis in axes_of(node)]
        stages = Stages(machine, types.parts.mesh, axes)
        for gather in inside:
            whole = wanted_of(graph, gather)
            layer = replace(whole, shape=(1, *whole.shape[1:]))
            small = LITTLE * whole.result_bytes <= machine.memory
            if small and stages.seconds(whole) < _layers(graph, gather) * stages.seconds(layer):
                yield gather


def _found(graph: Graph, body: Region) -> list[tuple[Node, Node]]:
    """Gathers, each with the one operation that uses it, which takes a layer in every iteration of a loop."""
    constants, users = Constants(graph), dict[int, list[tuple[Node, Node | None]]]()
    gathers: list[tuple[Node, Region]] = []

    def visit(region: Region, loop: Node | None) -> None:
        for node in region.nodes:
            for value in node.operands:
                users.setdefault(value, []).append((node, loop))
            if node.name == spmd.all_gather.name:
                gathers.append((node, region))
            for inner in node.regions:
                is_loop_body = node.name == hlo.while_.name and inner is node.regions[1]
                visit(inner, node if is_loop_body else None)

    visit(body, None)
    found: list[tuple[Node, Node]] = []
    for gather, region in gathers:
        users_here = users.get(gather.results[0], [])
        if len(users_here) == 1 and users_here[0][1] in region.nodes:
            layer, loop = users_here[0]
            assert loop is not None
            if _is_layer(graph, gather, layer) and _trips(loop, constants) == _layers(graph, gather):
                found.append((gather, layer))
    return found


def _is_layer(graph: Graph, gather: Node, user: Node) -> bool:
    shape = graph.type(gather.results[0]).shape
    takes = user.name == hlo.dynamic_slice.name and user.operands[0] == gather.results[0]
    return takes and gather.attrs["dim"] != 0 and user.attrs["slice_sizes"] == (1, *shape[1:])


def _trips(loop: Node, constants: Constants) -> int:
    found = counted(loop, constants)
    return found.trips if found else 0


def _layers(graph: Graph, gather: Node) -> int:
    return graph.type(gather.results[0]).shape[0]


def _move(snap: Snapshot, builder: IRBuilder, gather: Node, layer: Node) -> None:
    """Take the layer of a block, without its dimension of size 1 where that goes next, and gather it."""
    stack, last, attrs = snap.ssa[gather.operands[0]], snap.ops[layer.id], own_attrs(gather)
    shape = builder.type_of(stack).shape
    builder.before(last)
    with builder.at(layer.loc):
        part = builder.one(layer.name, stack, *last.operands[1:], slice_sizes=(1, *shape[1:]))
        reshape = _reshape(builder, last)
        if reshape is not None:
            part = builder.one(hlo.reshape.name, part, result=builder.type_of(part).with_shape(shape[1:]))
            attrs = {**attrs, "dim": cast(int, gather.attrs["dim"]) - 1}
            last = reshape
    why = f"{gather.attrs.get(REASON, 'a layer is needed whole')}, one layer a turn"
    with builder.at(location_of(last.location)), builder.tagged({REASON: why}):
        (whole,) = builder.op(gather.name, part, results=None, regions=(), **attrs)
    whole.name_hint = last.results[0].name_hint
    Rewriter.replace_op(last, [], [whole])
    if reshape is not None:
        Rewriter.erase_op(snap.ops[layer.id])
    Rewriter.erase_op(snap.ops[gather.id])


def _reshape(builder: IRBuilder, layer: Operation) -> Operation | None:
    """The reshape that takes the leading dimension from a layer, where nothing else uses it."""
    (value,) = layer.results
    users = [use.operation for use in value.uses]
    if len(users) != 1 or users[0].name != hlo.reshape.name:
        return None
    shape = builder.type_of(users[0].results[0]).shape
    return users[0] if shape == builder.type_of(value).shape[1:] else None
