"""What a program takes of which equal layers were taken out, with those that it lacks.

    fold-layers left layers 0 to 3 of 30 of a stack, with the cut after layer 1

Layer 1 stands for itself and the 26 that are missing, so what it computes takes 27 times as long. Its
collectives are 27, unless they can be one with those of layer 2, which they then are in all layers: one, or
as few as the limit on bytes allows, that send 27 times as much. Nothing is written for that: which
collectives are one is found as the pass combine-collectives finds it, and priced as stage-collectives
writes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import cast

from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp

from shardc.analysis import per_device
from shardc.analysis.per_device import PerDeviceProgram
from shardc.dialects.shared_graph import SharedGraph
from shardc.graph import Node, walk
from shardc.graph.marks import LAYER, TOGETHER
from shardc.layout import Axis
from shardc.passes.graph_pass import GraphPass
from shardc.planning.machines import Combined, Machine
from shardc.report.executions import Executions, Run
from shardc.report.times import BILLION, timed, work_ns, worked
from shardc.report.traffic import Collective, each_collective
from shardc.report.work import operations
from shardc.rewrite.combining import grouped
from shardc.rewrite.folding.notes import folded
from shardc.rewrite.joinable import Group, Joinable, is_joinable, joinable

Taken = tuple[int, tuple[Combined, ...], Mapping[tuple[str, ...], int]]
"""Nanoseconds of a whole program, what was combined in it, and the nanoseconds of collectives by the names of
the axes that they go over."""


class Layers:
    """Which operations of a folded program stand for several."""

    def __init__(self, module: ModuleOp) -> None:
        self.cuts = {notes.stack: (notes.cut, notes.removed) for notes in folded(module)}

    def place(self, node: Node) -> tuple[int, int] | None:
        """The stack and layer of an operation."""
        found = cast("tuple[int, ...]", node.attrs.get(LAYER, ()))
        return (found[0], found[3]) if found and found[0] in self.cuts else None

    def many(self, node: Node) -> int:
        """For how many an operation stands, itself among them."""
        place = self.place(node)
        if place is None:
            return 1
        cut, removed = self.cuts[place[0]]
        return removed + 1 if place[1] == cut - 1 else 1

    def whole(self, nodes: Sequence[Node]) -> Iterator[tuple[int, list[int]]]:
        """Groups of nodes that are one collective in the whole program, by their numbers, and how many such
        there are; a number comes as often as its layers are in it."""
        places = {number: place for number, node in enumerate(nodes) if (place := self.place(node))}
        around, apart = {*places.values()}, dict[int, list[int]]()
        together = list[int]()
        for number, node in enumerate(nodes):
            many = self.many(node)
            if many > 1 and (places[number][0], places[number][1] + 1) not in around:
                apart.setdefault(places[number][0], []).append(number)
                many = 1
            together += [number] * many
        yield 1, together
        for stack, numbers in apart.items():
            yield self.cuts[stack][1], numbers


def priced(module: ModuleOp, machine: Machine, limit: int, passes: Iterable[GraphPass]) -> Taken:
    """What a per-device program takes on a machine, with the layers that it lacks, where collectives of up to
    `limit` bytes together are combined. The `passes` that do that run on it. ShardcError if links fit no
    axis."""
    shared, layers = SharedGraph(module), Layers(module)
    program = per_device.read(shared.snapshot().graph)
    joined, done = _Sums(layers, program, limit), worked(program, machine)
    joined.combined(joinable(shared, machine, limit, least=1))
    work = work_ns(
        machine, ((replace(run, times=run.times * joined.stands_for(run.node)), each) for run, each in done)
    )
    for each in passes:
        if each.rewrite(shared):
            shared.drop()
    program = per_device.read(shared.snapshot().graph)
    others = _Sums(layers, program, limit)
    others.alone(machine)
    if joined.written:
        more = work_ns(machine, worked(program, machine)) - work_ns(machine, done)
        work += round(more * joined.copied / joined.written)
    spent = joined.spent + others.spent
    return work + sum(spent.values()), tuple(joined.found), spent


class _Sums:
    """What collectives of a program take, and the seconds of copies for those that are one: of the layers
    that are there, which are `written`, and of all."""

    def __init__(self, layers: Layers, program: PerDeviceProgram, limit: int) -> None:
        self.layers, self.program, self.limit = layers, program, limit
        self.inside = {
            inner.id: layers.many(node)
            for node in program.body.nodes
            for region in node.regions
            for inner in walk(region)
        }
        """For how many what is in a loop or branch of the program stands."""
        self.spent, self.found = Counter[tuple[str, ...]](), list[Combined]()
        self.written = self.copied = 0.0

    def stands_for(self, node: Node) -> int:
        """How many operations of the whole program are like this one."""
        return self.inside.get(node.id) or self.layers.many(node)

    def combined(self, blocks: Iterable[Joinable]) -> None:
        """Count the collectives of regions as far as they are one."""
        runs = Executions(self.program, partial(operations, self.program.graph)).runs
        times = {run.node.id: run.times for run in runs}
        for block in blocks:
            block.split()
            groups = [
                group
                for each in grouped(block.candidates, block.joint)[0]
                for group in self._joined(block, each, times)
            ]
            self.found += block.counted(groups)

    def _joined(self, block: Joinable, group: Sequence[int], times: Mapping[int, int]) -> Iterator[Group]:
        """Count a group of collectives; what they are in the whole program."""
        joint, nodes = block.joint, [block.nodes[block.places[number]] for number in group]
        wanted = [block.candidates[number].wanted for number in group]
        trips = times.get(nodes[0].id, 0)
        self.written += trips * (joint.seconds(wanted) - joint.sent(wanted))
        sizes = [max(each.nbytes, each.result_bytes) for each in wanted]
        for many, members in self._whole(nodes, sizes):
            some = [wanted[each] for each in members]
            sent = joint.sent(some)
            self.copied += many * trips * (joint.seconds(some) - sent)
            self._spend(some[0].over, round(many * trips * sent * BILLION))
            yield many, [group[each] for each in members]

    def alone(self, machine: Machine) -> None:
        """Count the collectives that are not combined, those together that are sent in one go."""
        groups = list[list[tuple[Run, Collective]]]()
        for run, entry in each_collective(self.program):
            if is_joinable(run.node):
                continue
            if TOGETHER in run.node.attrs and groups:
                groups[-1].append((run, entry))
            else:
                groups.append([(run, entry)])
        for group in groups:
            nodes, entries = [run.node for run, _ in group], [entry for _, entry in group]
            trips = group[0][0].times
            for many, members in self._whole(nodes, [entry.operand_bytes for entry in entries]):
                some = [entries[each] for each in members]
                one = replace(
                    some[0],
                    bytes=sum(each.bytes for each in some),
                    operand_bytes=sum(each.operand_bytes for each in some),
                    times=many * trips,
                )
                assert self.program.mesh is not None
                self._spend(one.over, timed(machine, self.program.mesh.mesh, one).total_ns)

    def _whole(self, nodes: Sequence[Node], sizes: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
        """What are one in the whole program, of so many bytes each, where these nodes are so here."""
        inside = self.inside.get(nodes[0].id)
        for many, members in [(inside, [*range(len(nodes))])] if inside else self.layers.whole(nodes):
            part, held = list[int](), 0
            for each in members:
                if part and held + sizes[each] > self.limit:
                    yield many, part
                    part, held = [], 0
                part.append(each)
                held += sizes[each]
            yield many, part

    def _spend(self, over: Sequence[Axis], ns: int) -> None:
        self.spent[tuple(axis.name for axis in over)] += ns
