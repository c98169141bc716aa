"""Runs a program once in exact arithmetic, on one device or on all devices in lockstep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from shardc.diagnostics import ShardcError
from shardc.graph import Graph, Node
from shardc.interpret.devices import Blocks, Lockstep
from shardc.interpret.hooks import Hooks, Trace
from shardc.proof import (
    meanings_complex,
    meanings_elementwise,
    meanings_factorisations,
    meanings_fourier,
    meanings_structural,
    meanings_windows,
    numbers,
)
from shardc.proof.draws import Draw
from shardc.proof.exponents import ORDER_BITS, Exponents
from shardc.proof.field import modulo
from shardc.proof.induction import Follower, Leader, Loops, Plan, loop_numbers
from shardc.proof.lemmas import Lemmas
from shardc.proof.order import ordered
from shardc.proof.table import meanings
from shardc.proof.together import stacked
from shardc.proof.values import Beyond, same
from shardc.semantics.arrays import Array
from shardc.semantics.blocks import BlockError

TABLES = (
    meanings_complex,
    meanings_elementwise,
    meanings_factorisations,
    meanings_fourier,
    meanings_structural,
    meanings_windows,
    numbers,
)
"""What must have been imported: the meanings, and exact elements as blocks' numbers."""


MOST_TURNS = 1 << 11
"""Turns of a loop that is run in full, in one run of a program."""


class Ran(Struct, frozen=True):
    """The results (each in a list, which may be made later), for every loop that was run (by node) how often
    its body ran where it ran most often once begun, and the loops that were proved by induction.
    """

    results: list[Blocks]
    trips: dict[int, int]
    proved: frozenset[int] = frozenset()

    def arrays(self) -> Iterator[Array]:
        """The results."""
        return (result[0] for result in self.results)

    def differing(self, other: Ran) -> Iterator[int]:
        """The results that are other ones in another run; what both have is not made."""
        for number, (left, right) in enumerate(zip(self.results, other.results, strict=True)):
            if left is not right and not _equal(left[0], right[0]):
                yield number

    def differs(self, other: Ran) -> int | None:
        """The first of them."""
        return next(self.differing(other), None)


def evaluate(
    graph: Graph,
    draw: Draw,
    inputs: Sequence[Array],
    trace: Trace | None = None,
    loop: Leader | Follower | None = None,
) -> Ran:
    """Run the entry; `loop` takes loops by induction, and layers by lemmas.

    Raises DrawAgain, Beyond, Replan; ShardcError, from BlockError, where devices that hold copies disagree.
    """
    turns: Counter[int] = Counter()
    begun: Counter[int] = Counter()
    longest: dict[int, int] = {}
    draw.programs += 1

    def counted(node: Node, values: list[Blocks]) -> None:
        if node.id in begun:  # the last turn is that of the condition alone
            longest[node.id] = max(longest.get(node.id, 0), begun.pop(node.id) - 1)
        if draw.budget is not None:
            draw.budget.spend(graph, node, len(values[0]) if values else 1)
        draw.settled(node)
        if trace is not None:
            trace(node, values)

    found = meanings(draw)

    def turned(node: Node) -> None:
        turns[node.id] += 1
        begun[node.id] += 1
        if turns[node.id] > MOST_TURNS:
            raise Beyond(f"more than {MOST_TURNS:,} turns of the loop in line {node.loc.line}")

    lemmas = loop.lemmas if loop else None
    hooks = Hooks(meanings=found, trace=counted, loop=loop, together=stacked(found), ends=lemmas, turn=turned)
    machine = Lockstep(graph, hooks=hooks)
    arguments = [[array] for array in inputs] if lemmas is None else lemmas.arguments(inputs)
    with np.errstate(all="ignore"), ordered(draw.order()):
        results = machine.run(graph.main.body, arguments, {})
    return Ran(results, longest, frozenset(loop.done if loop else ()))


def evaluate_both(
    whole: Graph,
    local: Graph,
    draw: Draw,
    inputs: Sequence[Array],
    plan: Plan,
    lemmas: Lemmas | None = None,
) -> tuple[Ran, Ran, Loops]:
    """Run both programs, their loops by induction where the plan has it, and equal layers once with `lemmas`.

    Raises as `evaluate` does; Replan where something disagrees and a loop was taken by induction, NoLemma
    where a kind of layers does not prove.
    """
    loops = Loops(draw, plan)
    wanted = evaluate(whole, draw, inputs, loop=Leader(loops, loop_numbers(whole), lemmas))
    try:
        have = evaluate(local, draw, inputs, loop=Follower(loops, lemmas))
    except ShardcError as error:
        if loops.proved and isinstance(error.__cause__, BlockError):
            raise loops.disagreement() from error
        raise
    if loops.proved and (loops.at < len(loops.notes) or wanted.differs(have) is not None):
        raise loops.disagreement()
    return wanted, have, loops


def _equal(left: Array, right: Array) -> bool:
    return left is right or (left.shape == right.shape and bool(same(left, right).all()))


def note_exponents(whole: Graph, local: Graph, draw: Draw, full: Graph, plan: Plan) -> None:
    """Give a draw the exponents of all exp (exponents.py): run both programs modulo 2^60 - 1 first.

    Copies need agree in their real values only. `full` is the global program at full size. Raises as
    `evaluate_both` does.
    """
    exponents = Exponents()
    first = Draw(draw.seed, draw.kind, divides=False, exponents=exponents, budget=draw.budget)
    with modulo(ORDER_BITS), numbers.real_copies():
        inputs = first.inputs(whole, full)
        evaluate_both(whole, local, first, inputs, plan)
    exponents.replays = True
    draw.exponents = exponents
