"""Functions that two per-device programs both call: each pair of them is proved once, and so is what the
programs do between the calls.

local                              the emitted text, read back
%3 = func.call @layer(%x, %w1)     %7 = func.call @layer(%x, %w1)
%4 = func.call @layer(%3, %w2)     %8 = func.call @layer(%7, %w2)

A pair is proved from fresh values for what the functions take, other ones on every device but where all calls
take equal ones. A call is proved by what it takes: that must be equal on every device, and equal among
devices where the first call's was. Then both programs go on with the same fresh values for what it makes. So
they are equal for any function in the place of these two. What does not fit refutes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import field

from shardc.diagnostics import ShardcError
from shardc.graph import Graph, Node
from shardc.interpret.devices import Blocks, Lockstep
from shardc.layout import Axis, Sharding
from shardc.layout.groups import position_over
from shardc.ops import func
from shardc.proof import values
from shardc.proof.draws import Draw
from shardc.proof.flat import devices_region
from shardc.proof.later import Later
from shardc.proof.layers import WORTH, Layers, Paired
from shardc.proof.lemmas import Lemma, Lemmas, NoLemma, Run, body_of
from shardc.semantics.arrays import Array
from shardc.semantics.blocks import assemble, cut

LONG = 8
"""Operations of a function, at most, whose calls are run as they are."""

Alike = tuple[int, ...]
"""For every position of the mesh the first one that holds the same."""


def both_call(local: Graph, text: Graph) -> Layers | None:
    """The calls of two per-device programs that belong together, in order; None where they save nothing."""
    kinds: dict[tuple[object, object], int] = {}
    members: dict[int, list[tuple[Node, Node]]] = {}
    for pair in _pairs(local, text):
        kind = kinds.setdefault((pair[0].attrs["callee"], pair[1].attrs["callee"]), len(kinds))
        members.setdefault(kind, []).append(pair)
    size = {kind: len(body_of(local, found[0][0]).nodes) for kind, found in members.items()}
    if sum((len(found) - 1) * size[kind] for kind, found in members.items()) < WORTH:
        return None
    calls: tuple[Paired, Paired] = {}, {}
    fixed: tuple[dict[int, frozenset[int]], dict[int, frozenset[int]]] = {}, {}
    for kind, found in members.items():
        for number, side in enumerate(calls):
            nodes = [pair[number] for pair in found]
            side.update((node.id, (kind, place)) for place, node in enumerate(nodes))
            rows = list(zip(*(node.operands for node in nodes), strict=True))
            fixed[number][kind] = frozenset(n for n, row in enumerate(rows) if len(set(row)) == 1)
    told = {
        kind: (len(found), size[kind], body_of(local, found[0][0]).nodes[0].loc.line)
        for kind, found in members.items()
    }
    return Layers(local, text, calls, fixed, told, both_call=True)


def lemmas_of(
    layers: Layers | None, draw: Draw, failed: frozenset[int], known: Mapping[int, Lemma]
) -> Lemmas | None:
    """What proves the layers, if there are any, in a draw."""
    if layers is None:
        return None
    return (AllEqual if layers.both_call else Lemmas)(layers, draw, failed, known)


def _calls(graph: Graph) -> list[Node]:
    """What the devices call, but for short functions."""
    region = devices_region(graph)
    calls = [node for node in (region.nodes if region else ()) if node.name == func.call.name]
    return [node for node in calls if len(body_of(graph, node).nodes) > LONG]


def _pairs(local: Graph, text: Graph) -> list[tuple[Node, Node]]:
    """The calls that belong together: those that take and make the same types, in order. Others are run as
    they are: a text may call functions that the per-device program does not, such as JAX's own.
    """
    sides = [_by_type(graph) for graph in (local, text)]
    found = ((calls, sides[1].get(type, ())) for type, calls in sides[0].items())
    alike = ((left, right) for left, right in found if len(left) == len(right))
    return [pair for left, right in alike for pair in zip(left, right, strict=True)]


def _by_type(graph: Graph) -> dict[object, list[Node]]:
    found: dict[object, list[Node]] = {}
    for node in _calls(graph):
        found.setdefault((graph.types(node.operands), graph.types(node.results)), []).append(node)
    return found


class AllEqual(Lemmas):
    """The calls of one draw, of which both programs take and make the same blocks.

    shared: blocks that both programs have, with which devices hold the same.
    """

    shared: dict[int, tuple[Blocks, Alike]] = field(default_factory=dict[int, tuple[Blocks, Alike]])
    cuts: dict[object, Blocks] = field(default_factory=dict[object, Blocks])
    joined: dict[object, Blocks] = field(default_factory=dict[object, Blocks])

    def forget(self) -> None:
        Lemmas.forget(self)
        for held in (self.shared, self.cuts, self.joined):
            held.clear()

    def cut(self, whole: Blocks, sharding: Sharding) -> Blocks | None:
        if id(whole) not in self.ids:
            return None
        key = (id(whole), sharding.dims, sharding.unreduced)
        if key not in self.cuts:
            blocks = Later(lambda: cut(whole[0], sharding), sharding.mesh.size)
            self.cuts[key] = self._share(blocks, _holders(sharding))
        return self.cuts[key]

    def join(self, blocks: Blocks, sharding: Sharding, shape: tuple[int, ...]) -> Blocks | None:
        """One object for both programs, where devices that are to hold copies do."""
        alike = self.shared[id(blocks)][1] if id(blocks) in self.shared else None
        if alike is None or sharding.unreduced or not _within(_holders(sharding), alike):
            return None
        key = (id(blocks), sharding.dims)
        if key not in self.joined:
            self.joined[key] = Later(lambda: [assemble(blocks, sharding, shape)], 1)
        return self.joined[key]

    def _share(self, blocks: Blocks, alike: Alike) -> Blocks:
        self.shared[id(blocks)] = blocks, alike
        return blocks

    def _alike(self, blocks: Blocks) -> Alike:
        if id(blocks) in self.shared:
            return self.shared[id(blocks)][1]
        return _numbered(list(map(id, blocks)))

    def _again(self, machine: Lockstep, node: Node, place: tuple[int, int], taken: list[Blocks]) -> Run:
        kind, _ = place
        first = self.runs[kind, self.first[kind]]
        pairs = zip(taken, first.taken, strict=True)
        if not all(_within(self._alike(before), self._alike(now)) for now, before in pairs):
            raise NoLemma(kind)
        made = [self._drawn(place, True, n, like, self._alike(like)) for n, like in enumerate(first.made)]
        return Run(taken, made)

    def _first(self, machine: Lockstep, node: Node, place: tuple[int, int], taken: list[Blocks]) -> Run:
        fixed = self.layers.fixed[0][place[0]]
        fresh = [
            blocks if at in fixed else self._drawn(place, False, at, blocks, self._alike(blocks))
            for at, blocks in enumerate(taken)
        ]
        made = _run(machine, node, fresh, place[0])
        for blocks in made:
            self._share(blocks, _numbered([values.key(block) for block in blocks]))
        if any(values.has_special(block) for each in made for block in each):
            raise NoLemma(place[0])
        return Run(taken, made, fresh)

    def _drawn(self, place: tuple[int, int], makes: bool, number: int, like: Blocks, alike: Alike) -> Blocks:
        """Fresh values, one array for devices that hold the same."""

        def make() -> list[Array]:
            places = list(dict.fromkeys(alike))
            fresh = self._fresh(place, makes, number, *(like[at] for at in places))
            dealt = dict(zip(places, fresh, strict=True))
            return [dealt[at] for at in alike]

        return self._share(Later(make, len(alike)), alike)

    def follows(self, machine: Lockstep, node: Node, taken: list[Blocks]) -> list[Blocks] | None:
        place = self.layers.calls[1].get(node.id)
        if place is None or place[0] in self.failed:
            return None
        kind, run = place[0], self.runs.get(place)
        if run is None or not all(map(_equal, run.taken, taken)):
            raise NoLemma(kind)
        if run.fresh is not None:
            if not all(map(_equal, run.made, _run(machine, node, run.fresh, kind))):
                raise NoLemma(kind)
            self.proved[kind] = Lemma([], [], {})
        elif kind not in self.proved:
            raise NoLemma(kind)
        return run.made


def _run(machine: Lockstep, node: Node, arguments: list[Blocks], kind: int) -> list[Blocks]:
    """The function from fresh values, which may not be what it counts on."""
    try:
        return machine.run(body_of(machine.graph, node), arguments, {})
    except ShardcError as error:
        raise NoLemma(kind) from error


def _equal(left: Blocks, right: Blocks) -> bool:
    """Whether all devices hold the same."""
    if left is right:
        return True
    pairs = {(id(a), id(b)): (a, b) for a, b in zip(left, right, strict=True)}
    return all(a.shape == b.shape and bool(values.same(a, b).all()) for a, b in pairs.values())


def _holders(sharding: Sharding) -> Alike:
    """Which devices hold the same of what is laid out so."""
    axes: list[Axis] = [*sharding.unreduced, *(axis for dim in sharding.dims for axis in dim.axes)]
    return _numbered(position_over(sharding.mesh, tuple(axes)).tolist())


def _numbered(keys: Sequence[object]) -> Alike:
    first: dict[object, int] = {}
    return tuple(first.setdefault(key, place) for place, key in enumerate(keys))


def _within(finer: Alike, coarser: Alike) -> bool:
    """Whether what is equal in the first is so in the second."""
    return all(coarser[place] == coarser[at] for place, at in enumerate(finer))
