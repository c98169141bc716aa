"""XLA's own partitioning of a program, priced on a machine by the functions that price shardc's programs.

What XLA's partitioner writes is read as StableHLO before its backends change it, so that one rule of fusion
holds for both. What its GPU backend makes of collectives is counted in its favour: an all-reduce whose result
is only sliced to the own part is a reduce-scatter, and collectives of one kind that do not depend on each
other are one where that is quicker; over several links each is done in stages where that is quicker.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any, cast

import numpy as np
from msgspec import Struct

from bench.xla_text import text
from shardc.analysis import per_device
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read
from shardc.graph import Graph, Node, Region
from shardc.layout import Axis, Mesh
from shardc.layout.groups import axes_of_rows
from shardc.ops import hlo, spmd
from shardc.options import Options
from shardc.passes.inline_calls import InlineCalls
from shardc.planning.machines import Exchange, Joint, Machine, Stages, Wanted, joined, link_of, seconds
from shardc.report.executions import Executions
from shardc.report.times import worked
from shardc.rewrite.combining import Groups
from shardc.rewrite.waiting import makers, needed

MOST = 1 << 25
OPS = {
    hlo.all_reduce.name: spmd.all_reduce,
    hlo.all_gather.name: spmd.all_gather,
    hlo.reduce_scatter.name: spmd.reduce_scatter,
    hlo.collective_permute.name: spmd.collective_permute,
}
OTHERS = {hlo.all_to_all.name: spmd.all_to_all}


def partitioned(suite: ModuleType, program: Any) -> Graph:
    """What each device runs, as XLA partitions a program of a suite."""
    return graph_of(text(suite, program))


def graph_of(text: str) -> Graph:
    """The program in a text. Per-device code is in functions, each call of which has its collectives."""
    module = read(text, Options(language="mlir"))
    InlineCalls().apply(make_context(), module)
    return snapshot(module).graph


class Priced(Struct, frozen=True):
    """Nanoseconds, one after the other, and collectives."""

    total_ns: int
    collectives: int


def price(graph: Graph, mesh: Mesh, machine: Machine) -> Priced:
    """What XLA's program takes on a machine; of branches, that with the most collectives."""
    program = per_device.read(graph)
    names = OPS.keys() | OTHERS.keys()
    work = sum(
        run.times * done.seconds(machine)
        for run, done in worked(program, machine)
        if run.node.name not in names
    )
    runs = Executions(program, lambda node: int(node.name in names)).runs
    times = {run.node.id: run.times for run in runs}
    stages, total, count = Stages(machine, mesh), 0, 0
    for region in _regions(program.body):
        for group in _combined(graph, region, mesh, machine):
            turns = times.get(group[0].id, 0)
            wanted = [_wanted(graph, region, node, mesh) for node in group]
            sent, copied = _seconds(graph, group[0], wanted, stages)
            total += round(1e9 * turns * sent)  # as the report does
            work += turns * copied
            count += turns
    return Priced(round(1e9 * work) + total, count)


def _regions(region: Region) -> Iterator[Region]:
    yield region
    for node in region.nodes:
        for inner in node.regions if node.name not in OPS else ():
            yield from _regions(inner)


def _seconds(graph: Graph, node: Node, wanted: list[Wanted | None], stages: Stages) -> tuple[float, float]:
    """Of one collective, or of several as one, and of the copies that several need."""
    found = [each for each in wanted if each is not None]
    if found:
        sent = stages.seconds(found[0] if len(found) == 1 else joined(found))
        return sent, Joint(stages.mesh, stages.machine, MOST).seconds(found) - sent
    op, held, over = OTHERS[node.name], graph.type(node.operands[0]).nbytes, _over(node, stages.mesh)
    assert op.sends is not None and op.title is not None
    n = int(np.prod([axis.size for axis in over]))
    sent = Exchange(op.title, over, n, op.sends(held, n), held)
    return seconds(stages.machine, link_of(stages.machine, stages.mesh, over), stages.mesh, sent), 0.0


def _over(node: Node, mesh: Mesh) -> tuple[Axis, ...]:
    """The axes that its groups lie along; all of them where they lie otherwise."""
    rows = node.attrs.get("replica_groups")
    found = axes_of_rows(mesh, np.sort(np.array(rows), axis=1)) if rows is not None else None
    return found if found is not None else tuple(mesh.axis(name) for name in mesh.sizes)


def _wanted(graph: Graph, region: Region, node: Node, mesh: Mesh) -> Wanted | None:
    """What a collective asks for; None of an all-to-all."""
    op, over = OPS.get(node.name), _over(node, mesh)
    if op is None:
        return None
    type = graph.type(node.operands[0])
    dim = node.attrs.get("all_gather_dim", node.attrs.get("scatter_dimension"))
    kind = "sum" if op in (spmd.all_reduce, spmd.reduce_scatter) else None
    pairs = cast("tuple[tuple[int, int], ...]", node.attrs.get("source_target_pairs", ()))
    if op is spmd.all_reduce and _is_sliced(graph, region, node, over):
        return Wanted(spmd.reduce_scatter, over, (type.size,), type.numpy.itemsize, 0, kind)
    return Wanted(op, over, type.shape, type.numpy.itemsize, cast("int | None", dim), kind, pairs)


def _is_sliced(graph: Graph, region: Region, node: Node, over: tuple[Axis, ...]) -> bool:
    """Whether all users of an all-reduce take one of as many parts as the group has devices."""
    (value,) = node.results[:1]
    users = [user for user in region.nodes if value in user.operands]
    n = int(np.prod([axis.size for axis in over]))
    return bool(users) and all(
        user.name == hlo.dynamic_slice.name and graph.type(user.results[0]).size * n == graph.type(value).size
        for user in users
    )


def _combined(graph: Graph, region: Region, mesh: Mesh, machine: Machine) -> list[list[Node]]:
    """The collectives of a region, those together that are one: none needs another of its group, over other
    groups either."""
    places = [at for at, node in enumerate(region.nodes) if node.name in OPS or node.name in OTHERS]
    found = [region.nodes[at] for at in places]
    number = {node.id: at for at, node in enumerate(found)}
    known, joint = Groups(needed(makers(region.nodes), places)), Joint(mesh, machine, MOST)
    groups: list[list[Node]] = []
    for node in found:
        wanted = _wanted(graph, region, node, mesh)
        for group in groups:
            known_of = [_wanted(graph, region, other, mesh) for other in group]
            if (
                wanted is None
                or known_of[0] is None
                or not _alike(graph, group[0], node, known_of[0], wanted)
            ):
                continue
            both = [*cast("list[Wanted]", known_of), wanted]
            if joint.seconds(both) < joint.seconds(both[:-1]) + joint.seconds(both[-1:]) and known.join(
                number[group[0].id], number[node.id]
            ):
                group.append(node)
                break
        else:
            groups.append([node])
    return groups


def _alike(graph: Graph, one: Node, other: Node, left: Wanted, right: Wanted) -> bool:
    dtypes = {graph.type(node.operands[0]).dtype for node in (one, other)}
    said = [(each.op, each.over, each.pairs) for each in (left, right)]
    return said[0] == said[1] and len(dtypes) == 1
