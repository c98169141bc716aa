"""Equal layers: stretches of both programs that belong together, each kind of which is proved once.

The per-device program is cut where it repeats, where the fewest values pass. The global program is cut at the
same operations: arithmetic comes in one order in both, but for a few operations that one of them lacks. All
of this is guessed; what is guessed wrongly does not prove (lemmas.py), and refutes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from shardc.graph import Graph, Node, Region
from shardc.graph.program import own_attrs
from shardc.graph.repeats import Repeat, repeats
from shardc.graph.types import is_inexact
from shardc.interpret.liveness import captures
from shardc.ops import Trait, func, has, hlo
from shardc.proof.flat import (
    Copy,
    Stretch,
    compact,
    copy_of,
    devices_region,
    inlined,
    is_constant,
    outlined,
    with_region,
    without_unused_constants,
)

LEAST, COUNT, WORTH = 8, 3, 64
"""Operations of a layer, layers of a kind, and operations that are saved, at least."""

MANY = 8
"""Of so many layers one may be left out for the sake of where they are cut."""

_AHEAD, _RUN = 64, 6
"""How far the one program may have operations that the other lacks, and how many are alike after them."""

_SILENT = {d.name for d in (hlo.select, hlo.convert, hlo.optimization_barrier)}

Key = tuple[Hashable, ...]
Paired = dict[int, tuple[int, int]]
"""Node of a call -> the kind of layer, and which layer of the kind."""


@dataclass(frozen=True, slots=True)
class Layers:
    """Both programs with calls for layers. fixed: by kind, the numbers of arguments that are the same value
    in all layers of it, of the global program and the per-device one.
    """

    whole: Graph
    local: Graph
    calls: tuple[Paired, Paired]
    fixed: tuple[dict[int, frozenset[int]], dict[int, frozenset[int]]]
    kinds: dict[int, tuple[int, int, int]] = field(default_factory=dict[int, "tuple[int, int, int]"])
    """Kind -> how many layers, of how many operations, in which line of the global program."""
    both_call: bool = False
    """Whether both are per-device programs with these functions (both_call.py)."""

    def dealt(self) -> tuple[frozenset[int], frozenset[int]]:
        """The calls of both programs that are not run: of layers that are not the first of their kind."""
        first, second = (
            frozenset(node for node, (_, number) in calls.items() if number) for calls in self.calls
        )
        return first, second


def layers(whole: Graph, local: Graph) -> Layers | None:
    """Both programs with a function for every kind of layer; None where there are none."""
    if devices_region(local) is None:
        return None
    copies = copy_of(whole), copy_of(local)
    inner = devices_region(copies[1].graph)
    assert inner is not None
    old = copies[0].graph.main.body, inner
    regions = [inlined(copy, region) for copy, region in zip(copies, old, strict=True)]
    sides = [_Side(copy, region) for copy, region in zip(copies, regions, strict=True)]
    kinds = _kinds(*sides)
    if sum((len(pairs) - 1) * len(pairs[0][1].nodes) for pairs in kinds) < WORTH:
        return None
    calls: tuple[Paired, Paired] = {}, {}
    fixed: tuple[dict[int, frozenset[int]], dict[int, frozenset[int]]] = {}, {}
    told: dict[int, tuple[int, int, int]] = {}
    for kind, pairs in enumerate(kinds):
        told[kind] = len(pairs), len(pairs[0][0].nodes), pairs[0][0].nodes[0].loc.line
        for number, side in enumerate(sides):
            stretches = [pair[number] for pair in pairs]
            made = side.outline(f"equal.{kind}", stretches)
            calls[number].update((node, (kind, place)) for place, node in enumerate(made))
            rows = zip(*(stretch.inputs() for stretch in stretches), strict=True)
            fixed[number][kind] = frozenset(n for n, row in enumerate(rows) if len(set(row)) == 1)
    for side, region in zip(sides, old, strict=True):
        with_region(side.copy.graph, region, without_unused_constants(side.region))
    return Layers(compact(copies[0].graph), compact(copies[1].graph), calls, fixed, told)


class _Side:
    """One of the programs: its operations but for constants, and what they are like."""

    def __init__(self, copy: Copy, region: Region) -> None:
        self.copy, self.region = copy, region
        self.graph = copy.graph
        self.constants = {n.results[0]: n for n in region.nodes if is_constant(n)}
        self.steps = [node for node in region.nodes[:-1] if not is_constant(node)]
        self.numbers: dict[Hashable, int] = {}
        self.known: dict[int, int] = {}
        last: dict[int, int] = {}
        for place, node in enumerate(region.nodes):
            last.update(dict.fromkeys((*node.operands, *captures(node)), place))
        self.last = last
        self.place = {node.id: place for place, node in enumerate(region.nodes)}

    def kind(self, node: Node) -> int:
        """A number that equal operations have in common."""
        if node.id not in self.known:
            self.known[node.id] = self.numbers.setdefault(self._kind(node), len(self.numbers))
        return self.known[node.id]

    def _kind(self, node: Node) -> Key:
        attrs = tuple(sorted(own_attrs(node).items()))
        types = (self.graph.types(node.operands), self.graph.types(node.results))
        inside = tuple(self.kind(inner) for region in node.regions for inner in region.nodes)
        return (node.name, attrs, *types, inside)

    def sounds(self) -> tuple[list[str], list[int]]:
        """The names of operations that compute, in order, and how many there are before each step."""
        names, before = list[str](), list[int]()
        for node in self.steps:
            before.append(len(names))
            names += self._sounds(node)
        return names, [*before, len(names)]

    def _sounds(self, node: Node) -> list[str]:
        if node.name == func.call.name:
            body = self.graph.functions[str(node.attrs["callee"])].body
            return [name for inner in body.nodes for name in self._sounds(inner)]
        if not node.results or not is_inexact(self.graph.type(node.results[0]).dtype):
            return []
        computes = has(node.name, Trait.ELEMENTWISE, Trait.PRODUCT) or node.name == hlo.reduce.name
        return [node.name] if computes and node.name not in _SILENT else []

    def passing(self, repeat: Repeat | None = None) -> list[int]:
        """How many values pass from before each step to it or beyond; of those that are made in the repeat
        and used in it for the last time, if one is given.
        """
        change = [0] * (len(self.steps) + 2)
        position = list(accumulate(int(not is_constant(node)) for node in self.region.nodes))
        start, stop = (repeat.start, repeat.stop) if repeat else (0, len(self.steps) + 1)
        for place, node in enumerate(self.steps[start:stop], start):
            ends = (position[self.last[v]] - 1 for v in node.results if v in self.last)
            for end in ends:
                if end < stop:
                    change[place + 1] += 1
                    change[end + 1] -= 1
        return list(accumulate(change))

    def stretch(self, start: int, stop: int) -> Stretch:
        nodes = self.steps[start:stop]
        used = dict.fromkeys(value for node in nodes for value in (*node.operands, *captures(node)))
        return Stretch(nodes, {value: self.constants[value] for value in used if value in self.constants})

    def flow(self, stretch: Stretch) -> Key:
        """What two stretches have in common that do the same."""
        names: dict[int, Hashable] = {v: ("made", n) for n, v in enumerate(stretch.values())}
        names |= {value: ("from", number) for number, value in enumerate(stretch.inputs())}
        names |= {value: ("constant", self.kind(node)) for value, node in stretch.constants.items()}
        return tuple(self._flow(node, names) for node in stretch.nodes)

    def _flow(self, node: Node, names: Mapping[int, Hashable]) -> Key:
        regions = list[Key]()
        for region in node.regions:
            inside = dict(names)
            inside.update((value, ("argument", n)) for n, value in enumerate(region.args))
            flows = list[Key]()
            for place, inner in enumerate(region.nodes):
                flows.append(self._flow(inner, inside))
                inside.update((value, ("inner", place, n)) for n, value in enumerate(inner.results))
            regions.append(tuple(flows))
        return (self.kind(node), tuple(names[value] for value in node.operands), *regions)

    def outline(self, name: str, stretches: Sequence[Stretch]) -> list[int]:
        """Calls in the place of stretches; they give whatever is used after one of them."""
        used: set[int] = set()
        for stretch in stretches:
            end = self.place[stretch.nodes[-1].id]
            made = enumerate(stretch.values())
            used.update(number for number, value in made if self.last.get(value, 0) > end)
        self.region, calls = outlined(self.copy, self.region, name, stretches, sorted(used))
        return calls


def _kinds(whole: _Side, local: _Side) -> list[list[tuple[Stretch, Stretch]]]:
    """The layers that belong together, by kind."""
    kinds = [local.kind(node) for node in local.steps]
    cuts = _Cuts(whole, local)
    found: defaultdict[Key, list[tuple[Stretch, Stretch]]] = defaultdict(list)
    for repeat in repeats(kinds, LEAST):
        for start in _starts(repeat, local.passing(repeat)):
            bounds = cuts.at(start), cuts.at(start + repeat.period)
            if bounds[0] is None or bounds[1] is None or bounds[0] >= bounds[1]:
                continue
            pair = whole.stretch(bounds[0], bounds[1]), local.stretch(start, start + repeat.period)
            key = (repeat.start, whole.flow(pair[0]), local.flow(pair[1]))
            found[key].append(pair)
    return [pairs for pairs in found.values() if len(pairs) >= COUNT]


def _starts(repeat: Repeat, passing: Sequence[int]) -> range:
    """Where its periods start, cut where the fewest values pass to the next of their kind: what a layer keeps
    for the way back, or takes from the way there, passes at all cuts.
    """
    period, spare = repeat.period, repeat.stop - repeat.start - repeat.count * repeat.period
    shifts = range(period if repeat.count >= MANY else spare + 1)

    def passed(shift: int) -> tuple[float, int]:
        cuts = passing[repeat.start + shift : repeat.stop : period]
        return sum(cuts) / len(cuts), shift

    start = repeat.start + min(shifts, key=passed)
    return range(start, repeat.stop - period + 1, period)


class _Cuts:
    """Where the global program is to be cut for a cut of the per-device one."""

    def __init__(self, whole: _Side, local: _Side) -> None:
        first, self.whole_before = whole.sounds()
        second, self.local_before = local.sounds()
        self.matched = _matched(first, second)
        self.passing = whole.passing()
        self.owner = [step for step, (a, b) in enumerate(pairwise(self.whole_before)) for _ in range(a, b)]
        places = (place if match >= 0 else -1 for place, match in enumerate(self.matched))
        self.last = list(accumulate(places, max))

    def at(self, step: int) -> int | None:
        """A step of the global program: after the last operation that both have before the cut, before the
        next that both have, where the fewest values pass.
        """
        sound = self.local_before[step]
        before = self.last[sound - 1] if 0 < sound <= len(self.last) else -1
        low = self.owner[self.matched[before]] + 1 if before >= 0 else 0
        after = next((m for m in self.matched[sound : sound + _AHEAD] if m >= 0), None)
        high = self.owner[after] if after is not None else len(self.whole_before) - 1
        if low > high or (before < 0 and after is None):
            return None
        return min(range(low, high + 1), key=lambda place: (self.passing[place], place))


def _matched(whole: Sequence[str], local: Sequence[str]) -> list[int]:
    """For every name of the local list the place of its partner, or -1."""
    found = [-1] * len(local)
    i = j = 0
    while i < len(whole) and j < len(local):
        if whole[i] == local[j]:
            found[j] = i
            i, j = i + 1, j + 1
            continue
        step = next(((a, b) for a, b in _STEPS if _alike(whole, i + a, local, j + b)), None)
        if step is None:
            break
        i, j = i + step[0], j + step[1]
    return found


_STEPS = [(a, total - a) for total in range(1, _AHEAD) for a in range(total, -1, -1)]


def _alike(whole: Sequence[str], i: int, local: Sequence[str], j: int) -> bool:
    return i < len(whole) and j < len(local) and list(whole[i : i + _RUN]) == list(local[j : j + _RUN])
