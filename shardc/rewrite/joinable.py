"""Which collectives of per-device code can be one with others, and how many there are of each kind.

Two of one operation, kind, axes and dtype can, if neither waits for the other. Of all-reduces on a machine
those can go together, too, whose operands are the same on other devices.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from shardc.analysis.marks import REASON
from shardc.analysis.phases import BEFORE, PHASES, Phase, phases
from shardc.check.varying import VaryingTypes
from shardc.diagnostics import collecting
from shardc.dialects.shared_graph import SharedGraph
from shardc.forms.exchange import MASKED
from shardc.graph import Graph, Node, Region, walk
from shardc.ops import Trait, has, spmd
from shardc.planning.machines import Combined, Joint, Machine, wanted_of
from shardc.rewrite.combining import Candidate, best_splits, origins, split
from shardc.rewrite.joined_collectives import JOINED
from shardc.rewrite.waiting import needed, needs, operands

NAMES = frozenset(op.name for op in JOINED)

Group = tuple[int, Sequence[int]]
"""How often some collectives are one, and which these are."""


def is_joinable(node: Node) -> bool:
    """Whether it is a collective of shardc's, of a kind of which several can be one."""
    return node.name in NAMES and REASON in node.attrs


class Joinable:
    """The nodes of a region, the collectives among them, by place, and what each can be one with."""

    def __init__(self, graph: Graph, types: VaryingTypes, joint: Joint, region: Region) -> None:
        self.graph, self.types, self.joint, self.region = graph, types, joint, region
        self.nodes = region.nodes
        used: dict[int, int] = {}
        for place, node in enumerate(self.nodes):
            for value in operands(node):
                used.setdefault(value, place)
        self.places = [
            place for place, node in enumerate(self.nodes) if is_joinable(node) and node.results[0] in used
        ]
        self.before: list[list[int]] = []
        self.candidates: list[Candidate] = []
        self.phases: list[Phase] = []
        if not self.places:
            return
        made = phases(region)
        self.phases = [made.get(self.nodes[place].operands[0], BEFORE) for place in self.places]
        self.before = needs(self.nodes)
        for place, bits in zip(self.places, needed(self.before, self.places), strict=True):
            node = self.nodes[place]
            wanted, first = wanted_of(graph, node), used[node.results[0]]
            self.candidates.append(Candidate(wanted, self._kind(node), first, bits))

    def split(self) -> None:
        """Count sums over several axes as some that are done one after the other, where more is one then."""
        splits = best_splits(self.candidates, self.joint)
        own = origins(self.candidates, splits)
        self.candidates = split(self.candidates, splits)
        self.places = [self.places[number] for number in own]
        self.phases = [self.phases[number] for number in own]

    def counted(self, groups: Iterable[Group]) -> Iterator[Combined]:
        """How many there were and are of each kind and axes, by when their operands are made."""
        found: dict[Hashable, list[Group]] = {}
        for times, group in groups:
            each = self.candidates[group[0]]
            found.setdefault((each.kind, each.wanted.op, each.wanted.over), []).append((times, group))
        for alike in found.values():
            wanted = self.candidates[alike[0][1][0]].wanted
            names = tuple(sorted({axis.name for axis in wanted.over}))
            for phase in PHASES:
                own = [sum(self.phases[number] == phase for number in group) for _, group in alike]
                each = [(count, times, len(group)) for count, (times, group) in zip(own, alike, strict=True)]
                after = sum(times * count / size for count, times, size in each)
                if after:
                    before = sum(times * count for count, times, _ in each)
                    yield Combined(wanted.op.title or "", names, before, after, phase)

    def _kind(self, node: Node) -> Hashable:
        """Equal for those that can be one, or side by side, but for their operation and axes."""
        value = node.operands[0]
        said = tuple(map(node.attrs.get, ("kind", "invariant", "pairs", MASKED)))
        beside = self.joint.stages is not None and node.name == spmd.all_reduce.name
        return said, self.graph.type(value).dtype, None if beside else self.alike(node)

    def alike(self, node: Node) -> Hashable:
        """Equal for those whose operands are the same, and partial, on the same devices."""
        how = self.types[node.operands[0]]
        return frozenset(how.varies), frozenset(how.partial)


def joinable(shared: SharedGraph, machine: Machine | None, limit: int, least: int = 2) -> list[Joinable]:
    """Those of the per-device code's regions that have at least so many collectives, of which one has up to
    `limit` bytes, gathered."""
    graph = shared.snapshot().graph
    with collecting():
        found = shared.varying()
    blocks: list[Joinable] = []
    for function in graph.functions.values():
        for node in walk(function.body):
            if node.id in found:
                types = found[node.id]
                joint = Joint(types.parts.mesh, machine, limit)
                blocks += (Joinable(graph, types, joint, region) for region in _regions(node.regions[0]))
    return [block for block in blocks if len(block.candidates) >= least]


def _regions(body: Region) -> Iterator[Region]:
    """A body, and the bodies of the loops and branches in it."""
    yield body
    for node in walk(body):
        if has(node.name, Trait.REGION):
            yield from node.regions
