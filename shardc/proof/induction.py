"""Loops by induction: from any values that a loop may carry, an iteration of both programs gives equal ones.

The first iteration runs as it is. For every group of iterations that are alike (counters.py) the first, the
last and one between are run from fresh random values; after the loop comes one more set of them. The global
program goes first and leaves notes; the per-device program is dealt the same values in its layouts, and must
agree with the notes at entry, after each of these iterations, and in the number of iterations.

What does not fit (other values are carried, a state with infinities, an iteration that needs more than it is
dealt) refutes nothing: the loop is run in full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from shardc.graph import Graph, Node, Region, TensorType, walk
from shardc.interpret.devices import Blocks, Lockstep
from shardc.interpret.hooks import Env
from shardc.layout import Sharding
from shardc.ops import Trait, has
from shardc.proof import values
from shardc.proof.counters import Trips, trips
from shardc.proof.draws import Draw
from shardc.proof.lemmas import Lemmas
from shardc.proof.loop_layouts import dealt, holds, layout
from shardc.semantics.arrays import Array


class Replan(Exception):
    """The plan is to change, and what was evaluated with it is to be evaluated again.

    loops: to be run in full from now on. disagree: values differ, which more exact draws may mend.
    """

    def __init__(self, *loops: int, disagree: bool = False) -> None:
        super().__init__(loops)
        self.loops = loops
        self.disagree = disagree


class Plan(Struct):
    """What is done with the global program's loops, by their numbers.

    in_full: run all iterations. also: iterations to be proved besides, as the per-device program tells them
    apart. layers: the kinds of equal layers (layers.py) that are run in full; None: the programs have no
    functions for layers.
    """

    in_full: set[int] = set()
    also: dict[int, set[int]] = {}
    layers: set[int] | None = None


class Note(Struct):
    """What the global program left of one run of a loop. The last of `before` is what follows the loop.

    count, chosen: of iterations, and which were proved. entry, first: what is carried into it and out of the
    first iteration; before, after: into and out of each chosen one.
    """

    loop: int
    line: int
    count: int
    chosen: tuple[int, ...]
    entry: list[Array]
    first: list[Array]
    before: list[list[Array]] = []
    after: list[list[Array]] = []


class Loops(Struct):
    """The loops of one draw, in the order in which both programs come to them; None: run in full."""

    draw: Draw
    plan: Plan
    notes: list[Note | None] = []
    at: int = 0

    @property
    def proved(self) -> list[Note]:
        return [note for note in self.notes if note is not None]

    def disagreement(self) -> Replan:
        """All that were proved may be why the programs disagree."""
        return Replan(*(note.loop for note in self.proved), disagree=True)

    def rng(self, number: int, *place: object) -> np.random.Generator:
        return np.random.default_rng(self.draw.key("loop", number, *place))


class Leader(Struct):
    """Runs the loops and layers of the global program."""

    loops: Loops
    numbers: Mapping[int, int]
    """Node -> the number of the loop."""
    lemmas: Lemmas | None = None
    done: set[int] = set()
    """The nodes whose loops were proved so."""

    def __call__(self, machine: Lockstep, node: Node, carried: list[Blocks], env: Env) -> list[Blocks] | None:
        if node.id not in self.numbers:
            made = self.lemmas.leads(machine, node, carried) if self.lemmas else None
            self.done.update([] if made is None else [node.id])
            return made
        number, place = self.numbers[node.id], len(self.loops.notes)
        self.loops.notes.append(None)
        if number in self.loops.plan.in_full:
            return None
        found = trips(machine, node, carried, env)
        state = found and _state(machine.graph, node, found)
        if found is None or state is None or any(values.any_special(carried[n][0]) for n in state):
            raise Replan(number)
        chosen = _chosen(
            found, self.loops.plan.also.get(number, set()), self.loops.draw.key("between", place)
        )
        if len(chosen) + 2 >= found.count:
            raise Replan(number)
        body = node.regions[1]
        after = machine.run(body, carried, env)
        entry, first = ([value[n][0] for n in state] for value in (carried, after))
        note = Note(number, node.loc.line, found.count, chosen, entry, first)
        if values.any_special(*note.first):
            raise Replan(number)
        self.loops.notes[place] = note
        for iteration in (*chosen, found.count):
            rng = self.loops.rng(place, iteration)
            pairs = zip(note.entry, note.first, strict=True)
            note.before.append([_like(rng, self.loops.draw, *pair) for pair in pairs])
            fresh = _with(carried, state, [[array] for array in note.before[-1]], found, iteration)
            if iteration == found.count:
                self.done.add(node.id)
                return fresh
            after = machine.run(body, fresh, env)
            note.after.append([after[n][0] for n in state])
        raise AssertionError


class Follower(Struct):
    """Runs the loops and layers of the per-device program, as the global program's were run."""

    loops: Loops
    lemmas: Lemmas | None = None
    done: set[int] = set()

    def __call__(self, machine: Lockstep, node: Node, carried: list[Blocks], env: Env) -> list[Blocks] | None:
        if not has(node.name, Trait.LOOP):
            made = self.lemmas.follows(machine, node, carried) if self.lemmas else None
            self.done.update([] if made is None else [node.id])
            return made
        loops = self.loops
        if loops.at >= len(loops.notes):
            if loops.proved:
                raise loops.disagreement()
            return None
        place, note = loops.at, loops.notes[loops.at]
        loops.at += 1
        if note is None:
            return None
        found = trips(machine, node, carried, env)
        state = found and _state(machine.graph, node, found)
        if found is None or state is None or found.count != note.count or len(state) != len(note.entry):
            raise Replan(note.loop)
        self._all_chosen(found, note)
        after = machine.run(node.regions[1], carried, env)
        layouts = [
            layout(machine.place.mesh, ((first, after[n]), (entry, carried[n])))
            for n, first, entry in zip(state, note.first, note.entry, strict=True)
        ]
        for which, iteration in enumerate((*note.chosen, note.count)):
            blocks: list[Blocks] = []
            for at, (sharding, array) in enumerate(zip(layouts, note.before[which], strict=True)):
                if sharding is None:
                    raise Replan(note.loop)
                blocks.append(dealt(loops.rng(place, iteration, at), sharding, array))
            fresh = _with(carried, state, blocks, found, iteration)
            if iteration == note.count:
                self.done.add(node.id)
                return fresh
            after = machine.run(node.regions[1], fresh, env)
            if not _agrees(layouts, note.after[which], [after[n] for n in state]):
                raise Replan(note.loop, disagree=True)
        raise AssertionError

    def _all_chosen(self, found: Trips, note: Note) -> None:
        """Iterations that only the per-device program tells apart are to be proved, too."""
        missing = set(_chosen(found, set(), 0, note.chosen)) - set(note.chosen)
        if missing:
            self.loops.plan.also.setdefault(note.loop, set()).update(missing)
            raise Replan


def in_full(whole: Graph) -> Plan:
    """All loops are run in full."""
    return Plan(set(loop_numbers(whole).values()))


def loop_numbers(graph: Graph) -> dict[int, int]:
    """The loops of a program, numbered in its order."""
    nodes = (node for function in graph.functions.values() for node in walk(function.body))
    return {node.id: number for number, node in enumerate(n for n in nodes if has(n.name, Trait.LOOP))}


def _state(graph: Graph, node: Node, found: Trips) -> list[int] | None:
    """What changes and is no counter; None if it is not all floats."""
    body: Region = node.regions[1]
    state = [
        number
        for number, (argument, result) in enumerate(zip(body.args, body.results, strict=True))
        if argument != result and number not in found.states[0]
    ]
    types: list[TensorType] = [graph.type(node.operands[number]) for number in state]
    return state if all(values.stands_for(type.dtype) == values.EXACT for type in types) else None


def _chosen(found: Trips, also: set[int], any_of: int, have: Sequence[int] = ()) -> tuple[int, ...]:
    """The first and last iteration of each group, and one between: of those in `have`, or any.

    The very first iteration, which is run as it is, is left out.
    """
    chosen = {number for number in also if number < found.count}
    for group in found.groups():
        between = [number for number in group[1:-1] if number in have] or group[1:-1]
        chosen.update((group[0], group[-1], *([between[any_of % len(between)]] if between else ())))
    return tuple(sorted(number for number in chosen if number > 0))


def _with(
    carried: Sequence[Blocks], state: Sequence[int], fresh: Sequence[Blocks], found: Trips, iteration: int
) -> list[Blocks]:
    """What the loop carries into an iteration: the counters, the fresh values, and what never changes."""
    changed = {**found.states[iteration], **dict(zip(state, fresh, strict=True))}
    return [changed.get(number, value) for number, value in enumerate(carried)]


def _like(rng: np.random.Generator, draw: Draw, entry: Array, first: Array) -> Array:
    """Random values of the size and the signs that a loop was seen to carry."""
    shadow = np.concatenate([entry["shadow"].reshape(-1), first["shadow"].reshape(-1)])
    return draw.like(rng, entry.shape, shadow)


def _agrees(layouts: Sequence[Sharding | None], wanted: Sequence[Array], have: Sequence[Blocks]) -> bool:
    return all(
        sharding is not None and holds(sharding, array, blocks)
        for sharding, array, blocks in zip(layouts, wanted, have, strict=True)
    )
