"""Equal layers: stretches of both programs that belong together, each kind of which is proved once.

The per-device program is cut where it repeats, where the fewest values pass. The global program is cut at the
same operations: arithmetic comes in one order in both, but for a few operations that one of them lacks. All
of this is guessed; what is guessed wrongly does not prove (lemmas.py), and refutes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from msgspec import Struct

from shardc.graph import Graph, Region
from shardc.graph.compact import compact
from shardc.graph.repeats import repeats
from shardc.proof.cuts import Cuts, places
from shardc.proof.flat import (
    Stretch,
    copy_of,
    devices_region,
    inlined,
    made_late,
    with_region,
    written_out,
)
from shardc.proof.steps import Key, Steps

LEAST, COUNT, WORTH = 8, 3, 64
"""Operations of a layer, layers of a kind, and operations that are saved, at least."""

MOST = 1 << 18
"""Operations of a program without calls, at most."""

Paired = dict[int, tuple[int, int]]
"""Node of a call -> the kind of layer, and which layer of the kind."""


class Layers(Struct, frozen=True):
    """Both programs with calls for layers. fixed: by kind, the numbers of arguments that are the same value
    in all layers of it, of the global program and the per-device one.
    """

    whole: Graph
    local: Graph
    calls: tuple[Paired, Paired]
    fixed: tuple[dict[int, frozenset[int]], dict[int, frozenset[int]]]
    kinds: dict[int, tuple[int, int, int]] = {}
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
    if any(written_out(copy.graph, region) > MOST for copy, region in zip(copies, old, strict=True)):
        return None
    regions = [inlined(copy, region) for copy, region in zip(copies, old, strict=True)]
    sides = [Steps(copy, region) for copy, region in zip(copies, regions, strict=True)]
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
            rows = zip(*(stretch.inputs for stretch in stretches), strict=True)
            fixed[number][kind] = frozenset(n for n, row in enumerate(rows) if len(set(row)) == 1)
    for side, region in zip(sides, old, strict=True):
        settled = Region(side.region.args, made_late(side.copy, side.region.nodes, side.anywhere))
        with_region(side.copy.graph, region, settled)
    return Layers(compact(copies[0].graph), compact(copies[1].graph), calls, fixed, told)


def _kinds(whole: Steps, local: Steps) -> list[list[tuple[Stretch, Stretch]]]:
    """The layers that belong together, by kind."""
    cuts = Cuts(whole, local)
    found: defaultdict[Key, list[tuple[Stretch, Stretch]]] = defaultdict(list)
    for repeat in repeats([local.kind(node) for node in local.steps], LEAST):
        cut = places(repeat, cuts)
        for (start, stop), bounds in zip(pairwise(cut), pairwise(cut.values()), strict=True):
            if bounds[0] is None or bounds[1] is None or bounds[0] >= bounds[1]:
                continue
            pair = whole.stretch(bounds[0], bounds[1]), local.stretch(start, stop)
            key = (repeat.start, whole.flow(pair[0]), local.flow(pair[1]))
            found[key].append(pair)
    return [pairs for pairs in found.values() if len(pairs) >= COUNT]
