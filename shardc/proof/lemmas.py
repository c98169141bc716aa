"""Equal layers are proved once: from any values that a layer takes, both programs' layers make equal ones.

The first layer of a kind runs from fresh random values in place of what it takes (but for what all layers of
the kind take), which the per-device program is dealt in the layouts in which it holds what the first layer
takes. All that its layer makes must be something that the global layer takes or makes, in some layout. From
then on a layer of the kind is not run: the global program goes on with fresh values, and the per-device one
with the same ones in those layouts, if it holds what this layer takes in the layouts of the first.

What does not fit refutes nothing: layers of that kind are run in full. Values are dealt when something asks
for them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from shardc.graph import Graph, Node, Region
from shardc.interpret.devices import Blocks, Lockstep
from shardc.layout import Sharding
from shardc.proof import values
from shardc.proof.draws import Draw
from shardc.proof.held import Source, found_among, held_of
from shardc.proof.later import Held, Later
from shardc.proof.layers import Layers
from shardc.proof.loop_layouts import dealt, holds
from shardc.semantics.arrays import Array
from shardc.semantics.blocks import cut


class NoLemma(Exception):
    """Layers of these kinds are to be run in full, and what was evaluated is to be evaluated again."""

    def __init__(self, *kinds: int) -> None:
        super().__init__(kinds)
        self.kinds = kinds


class Run(Struct):
    """A layer of the global program: what it took and made; `fresh`: what the first of a kind ran from."""

    taken: list[Blocks]
    made: list[Blocks]
    fresh: list[Blocks] | None = None


class Lemma(Struct):
    """What the first layer of a kind showed, for every argument (None: it is the same in all layers) and
    result of the per-device layer; same: results of the global layer that are what it takes, or another
    result.
    """

    taken: list[Source | None]
    made: list[Source]
    same: Mapping[int, tuple[bool, int]]


class Lemmas(Struct):
    """The layers of one draw. failed: the kinds that run in full. known: what an earlier draw showed, which
    is tried first, since in a tied draw values may be equal by chance.
    """

    layers: Layers
    draw: Draw
    failed: frozenset[int] = frozenset()
    known: Mapping[int, Lemma] = {}
    runs: dict[tuple[int, int], Run] = {}
    first: dict[int, int] = {}
    same: dict[int, dict[int, tuple[bool, int]]] = {}
    """As in a Lemma, by kind."""
    proved: dict[int, Lemma] = {}
    whole: list[Blocks] = []
    """The arguments of both programs, and their ids."""
    ids: frozenset[int] = frozenset()

    def arguments(self, inputs: Sequence[Array]) -> list[Blocks]:
        """The same objects for both programs."""
        self.whole = self.whole or [[array] for array in inputs]
        self.ids = frozenset(map(id, self.whole))
        return self.whole

    def cut(self, whole: Blocks, sharding: Sharding) -> Blocks | None:
        """The blocks of an argument, when they are asked for."""
        if id(whole) not in self.ids:
            return None
        return Later(lambda: cut(whole[0], sharding), sharding.mesh.size, Held(whole, sharding))

    def join(self, blocks: Blocks, sharding: Sharding, shape: tuple[int, ...]) -> Blocks | None:
        """The value that the blocks are known to be."""
        held = blocks.held if isinstance(blocks, Later) else None
        return held.value if held is not None and held.sharding == sharding else None

    def leads(self, machine: Lockstep, node: Node, taken: list[Blocks]) -> list[Blocks] | None:
        """Run a layer of the global program; None if it is to be run as any call."""
        place = self.layers.calls[0].get(node.id)
        if place is None or place[0] in self.failed:
            return None
        kind, number = place
        self.check_finite(kind, taken)
        if kind in self.first:
            run = self._again(machine, node, place, taken)
        else:
            run = self._first(machine, node, place, taken)
            self.first[kind] = number
        self.runs[place] = run
        return run.made

    def _again(self, machine: Lockstep, node: Node, place: tuple[int, int], taken: list[Blocks]) -> Run:
        return Run(taken, self._later(machine.graph, node, place, taken))

    def check_finite(self, kind: int, taken: Sequence[Blocks]) -> None:
        """What is drawn has no infinities and no NaN: a layer that takes some of its own is no such one."""
        own = [each for number, each in enumerate(taken) if number not in self.layers.fixed[0][kind]]
        own = [blocks for blocks in own if id(blocks) not in self.ids and not isinstance(blocks, Later)]
        if any(values.has_special(block) for blocks in own for block in blocks):
            raise NoLemma(kind)

    def _first(self, machine: Lockstep, node: Node, place: tuple[int, int], taken: list[Blocks]) -> Run:
        kind, fixed = place[0], self.layers.fixed[0][place[0]]
        fresh = [
            blocks if number in fixed else self._fresh(place, False, number, blocks[0])
            for number, blocks in enumerate(taken)
        ]
        made = machine.run(body_of(machine.graph, node), fresh, {})
        if any(values.has_special(each[0]) for each in (*fresh, *made)):
            raise NoLemma(kind)
        self.same[kind] = self._equal(kind, fresh, made)
        return Run(taken, made, fresh)

    def _equal(self, kind: int, fresh: list[Blocks], made: list[Blocks]) -> dict[int, tuple[bool, int]]:
        """Which results are what the layer takes, or another result."""
        if kind in self.known:
            pairs = self.known[kind].same.items()
            where = ((number, other, (made if other[0] else fresh)[other[1]][0]) for number, other in pairs)
            return {n: other for n, other, array in where if bool(values.same(made[n][0], array).all())}
        found: dict[int, tuple[bool, int]] = {}
        known: dict[Hashable, tuple[bool, int]] = {}
        for makes, blocks in ((False, fresh), (True, made)):
            for number, (array,) in enumerate(blocks):
                if values.is_exact(array) and array.size > 1:
                    before = known.setdefault(values.key(array), (makes, number))
                    if makes and before != (makes, number):
                        found[number] = before
        return found

    def _later(self, graph: Graph, node: Node, place: tuple[int, int], taken: list[Blocks]) -> list[Blocks]:
        """Fresh values for what a layer makes."""
        kind = place[0]
        first, same = self.runs[kind, self.first[kind]], self.same.get(kind, {})
        made: list[Blocks] = []
        for number, like in enumerate(first.made):
            if number in same:
                makes, other = same[number]
                made.append(made[other] if makes else taken[other])
            else:
                made.append(Later(lambda n=number, a=like[0]: self._fresh(place, True, n, a), 1))
        return made

    def _fresh(self, place: tuple[int, int], makes: bool, number: int, *like: Array) -> list[Array]:
        """Values as those before, other ones for each of them, which are of one shape."""
        rng, shape = self._rng("global", place, makes, number), (len(like), *like[0].shape)
        if like[0].dtype == np.bool_:
            found = rng.integers(0, 2, shape).astype(np.bool_)
        elif values.is_exact(like[0]):
            shadows = np.array([each["shadow"] for each in like])
            found = self.draw.like(rng, shape, shadows.reshape(-1))
        else:
            raise NoLemma(place[0])
        return [found[at, ...] for at in range(len(like))]

    def _rng(self, *place: object) -> np.random.Generator:
        return np.random.default_rng(self.draw.key("layer", *place))

    def follows(self, machine: Lockstep, node: Node, taken: list[Blocks]) -> list[Blocks] | None:
        """Run a layer of the per-device program, as the global program's was; None as for `leads`."""
        place = self.layers.calls[1].get(node.id)
        if place is None or place[0] in self.failed:
            return None
        run = self.runs.get(place)
        if run is None:
            raise NoLemma(place[0])
        if run.fresh is not None:
            return self._proves(machine, node, place, taken, run, run.fresh)
        lemma = self.proved.get(place[0])
        if lemma is None or not self._applies(lemma, taken, run):
            raise NoLemma(place[0])
        return [self._dealt(run, source, place, number) for number, source in enumerate(lemma.made)]

    def _proves(
        self,
        machine: Lockstep,
        node: Node,
        place: tuple[int, int],
        taken: list[Blocks],
        run: Run,
        fresh: list[Blocks],
    ) -> list[Blocks]:
        mesh, kind = machine.place.mesh, place[0]
        fixed, known = self.layers.fixed[1][kind], self.known.get(kind)
        sources: list[Source | None] = []
        arguments: list[Blocks] = []
        for number, blocks in enumerate(taken):
            source = None
            if number not in fixed:
                tried = known.taken[number] if known else None
                source = held_of(blocks, run.taken) or found_among(mesh, blocks, False, run.taken, tried)
                if source is None:
                    raise NoLemma(kind)
            sources.append(source)
            arguments.append(
                blocks
                if source is None
                else dealt(self._rng("devices", place, number), source[2], fresh[source[1]][0])
            )
        made: list[Source] = []
        results = machine.run(body_of(machine.graph, node), arguments, {})
        for number, blocks in enumerate(results):
            tried = known.made[number] if known else None
            source = found_among(mesh, blocks, True, run.made, tried) or found_among(
                mesh, blocks, False, fresh, tried
            )
            if source is None:
                raise NoLemma(kind)
            made.append(source)
        self.proved[kind] = Lemma(sources, made, self.same[kind])
        # What is a part of what the layer takes is held of that, and else of what ran.
        return [
            Later(lambda b=blocks: b, len(blocks), Held(run.made[source[1]], source[2]))
            if source[0]
            else self._dealt(run, source, place, number)
            for number, (blocks, source) in enumerate(zip(results, made, strict=True))
        ]

    def _applies(self, lemma: Lemma, taken: Sequence[Blocks], run: Run) -> bool:
        """Whether the devices hold what a layer takes as the first one's lemma has it."""
        for blocks, source in zip(taken, lemma.taken, strict=True):
            if source is None:
                continue
            value = run.taken[source[1]]
            held = blocks.held if isinstance(blocks, Later) else None
            if held is not None and held.value is value and held.sharding == source[2]:
                continue
            if not holds(source[2], value[0], blocks):
                return False
        return True

    def _dealt(self, run: Run, source: Source, place: tuple[int, int], number: int) -> Blocks:
        value, sharding = (run.made if source[0] else run.taken)[source[1]], source[2]
        rng = ("devices", place, "makes", number)
        return Later(
            lambda: dealt(self._rng(*rng), sharding, value[0]), sharding.mesh.size, Held(value, sharding)
        )

    def forget(self) -> None:
        """Let go of all layers' values, which hold what makes them, and so each other. What was made later of
        them can be made yet.
        """
        self.runs.clear()

    def made(self) -> dict[int, tuple[Array, ...]]:
        """What the global program's first layer of every kind that was proved made."""
        return {
            kind: tuple(blocks[0] for blocks in self.runs[kind, self.first[kind]].made)
            for kind in self.proved
        }


def body_of(graph: Graph, node: Node) -> Region:
    """What a call runs."""
    return graph.functions[str(node.attrs["callee"])].body
