"""Which collectives of per-device code can be one with others, and how many there are of each kind.

Two of one operation, kind, axes and dtype can, if neither waits for the other. Of all-reduces on a machine
those can go together, too, whose operands are the same on other devices.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from shardc.analysis.collectives import pairs_of
from shardc.analysis.loops import bodies
from shardc.analysis.phases import BEFORE, PHASES, phases
from shardc.check.varying import VaryingTypes
from shardc.dialects.shared_graph import SharedGraph
from shardc.forms.exchange import MASKED
from shardc.graph import Graph, Node, Region
from shardc.graph.marks import REASON
from shardc.ops import spmd
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
    """The nodes of a region, the collectives among them, by place, and what each can be one with.

    used: the places of those, and where what each makes is needed first.
    """

    def __init__(
        self, graph: Graph, types: VaryingTypes, joint: Joint, region: Region, used: Mapping[int, int]
    ) -> None:
        self.graph, self.types, self.joint = graph, types, joint
        self.nodes, self.places = region.nodes, [*used]
        made = phases(region)
        self.phases = [made.get(self.nodes[place].operands[0], BEFORE) for place in used]
        self.before = needs(self.nodes)
        self.candidates: list[Candidate] = []
        self._pairs: dict[Hashable, int] = {}
        """Numbers of permutes' pairs, of which there may be thousands."""
        for place, bits in zip(used, needed(self.before, self.places), strict=True):
            node = self.nodes[place]
            self.candidates.append(Candidate(wanted_of(graph, node), self._kind(node), used[place], bits))

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
        pairs = self._pairs.setdefault(pairs_of(node), len(self._pairs))
        said = pairs, *map(node.attrs.get, ("kind", "invariant", MASKED))
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
    return [
        Joinable(graph, types, joint, region, used)
        for node, types in shared.per_device()
        for joint in [Joint(types.parts.mesh, machine, limit)]
        for region in bodies(node.regions[0])
        if len(used := _used(region)) >= least
    ]


def _used(region: Region) -> dict[int, int]:
    """The places of a region's collectives that can be one with others, and for each that of the first node
    that needs what it makes."""
    first: dict[int, int] = {}
    for place, node in enumerate(region.nodes):
        for value in operands(node):
            first.setdefault(value, place)
    made = {place: node.results[0] for place, node in enumerate(region.nodes) if is_joinable(node)}
    return {place: first[value] for place, value in made.items() if value in first}
