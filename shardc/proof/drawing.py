"""Which draws a proof has, and what they say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, log

from msgspec import Struct, field
from msgspec.structs import replace

from shardc.graph import Graph, Node, walk
from shardc.graph.types import is_inexact
from shardc.ops import chlo, hlo, op_of
from shardc.proof.both_call import lemmas_of
from shardc.proof.degrees import Degrees, chance
from shardc.proof.draws import (
    ANY_ORDER,
    CASTS_KEPT,
    EACH_ONCE,
    LONGEST,
    NEGATIVE,
    ORDERLESS,
    PEAKS,
    THRESHOLDS,
    Draw,
    largest,
)
from shardc.proof.effort import Budget
from shardc.proof.evaluate import Ran
from shardc.proof.field import MOST
from shardc.proof.induction import Note, Plan
from shardc.proof.kinds import KINDS
from shardc.proof.layers import Layers
from shardc.proof.lemmas import Lemma, Lemmas
from shardc.proof.reduced import Reduced
from shardc.proof.thresholds import Thresholds
from shardc.proof.verdict import Proof, Verdict
from shardc.semantics.arrays import Array

DRAWS = 3
"""Draws that must decide, the kinds in turn."""

SAMPLED_DRAWS, FEW, SOON = 12, 64, 1 << 22
"""As many where an argument is a few integers, which may be an index: if it has up to so many elements, and a
draw computes up to so many."""

MORE_TIED = ("tied", "tied")
"""Draws that are added where there are decisions, and a draw computes up to SOON elements: of few elements
few are tied.
"""

MOST_NEAR = 4
"""Draws of THRESHOLDS: so many elements of an argument are in every interval in turn."""

_OF_ORDER = {
    definition.name
    for definition in (hlo.reduce, hlo.reduce_window, hlo.select_and_scatter, hlo.sort, chlo.top_k)
}
"""What may take the greatest of many."""

ANY_ORDERS = 8
"""Draws of any order; in a short proof fewer, an eighth of the work that one draw may be, but one."""

LAW = ("mixed", "mixed", "positive")
"""The draws of a proof by the law of exp."""

ATTEMPTS = 4
"""Draws that are tried for each."""

_HOPELESS = 0.5
"""The chance that one draw misses from which on no more are drawn."""


class Run(Struct):
    """The draws so far. divides: draw with the field's inverses, which the equality may need. deciding: draws
    that are added where there are decisions (`decides`); real: where any other order makes a difference.
    """

    shapes: Reduced
    full: Graph
    wanted: int
    kinds: Sequence[str] = KINDS
    deciding: Sequence[str] = (NEGATIVE,)
    real: Sequence[str] = ()
    decides: bool = False
    divides: bool = False
    tried: bool = False
    """Whether what is not proved so is tried otherwise: then it need not be found out where it differs."""
    plan: Plan = field(default_factory=Plan)
    law: bool = False
    layers: Layers | None = None
    more: int = 0
    budget: Budget | None = None
    near: Thresholds = field(default_factory=Thresholds)
    doubt: str | None = None
    """What differed first with any order."""
    suspect: str | None = None
    """What differed so in a draw after which others are to say more."""
    unlike: list[Proof] = []
    """Draws in which results differ, but not as real numbers."""
    draws: list[Draw] = []
    ran: list[tuple[Ran, Ran]] = []
    loops: list[tuple[Note, ...]] = []
    again: list[str] = []
    stuck: list[Draw] = []
    """Draws in which the global program decides all, the other one does not; those in which only results of
    casts to 8 bits differ.
    """
    known: Mapping[int, Lemma] = {}
    layers_made: list[Mapping[int, tuple[Array, ...]]] = []

    def anew(self) -> Run:
        """The same without draws."""
        return replace(
            self, draws=[], ran=[], loops=[], again=[], stuck=[], layers_made=[], known={}, more=0, unlike=[]
        )

    def undecided(self, draw: Draw, reason: str) -> None:
        """A draw decides nothing."""
        self.again.append(reason)
        self.wanted -= draw.kind in (THRESHOLDS, *ORDERLESS)  # which are where it is hard to decide
        if draw.programs > 1 and draw.kind not in ORDERLESS and not (self.tried or self.law):
            self.stuck.append(draw)

    def ends_with(self, found: Proof) -> Proof | None:
        """The proof that ends the matter, after a draw that did not go well. None where results differ, but
        not as real numbers, and other draws may show that they do.
        """
        if found.verdict is not Verdict.NOT_PROVED or found.difference is None:
            return found
        self.unlike.append(found)
        self.stuck += [draw for draw in found.draws if draw.known and draw.uniform and not self.law]
        done = len(self.unlike) + len(self.draws)
        more = done < len(self.kinds) and (self.budget is None or self.budget.fits_again(done))
        return None if more else self.unlike[0]

    def doubts(self) -> str | None:
        """What is doubted after all draws; what was suspected, where none said more."""
        said = any(draw.kind in (CASTS_KEPT, EACH_ONCE) for draw in self.draws)
        return self.suspect if self.doubt is None and not said else self.doubt

    def unproved(self) -> Proof | None:
        """What is to be said if draws show no equality."""
        if self.draws or self.unlike:
            return self.unlike[0] if self.unlike else None
        return Proof(Verdict.NOT_PROVED, f"no draw decides: {self.again[-1]}", self.shapes)

    def lemmas(self, draw: Draw) -> Lemmas | None:
        """The equal layers, for a draw."""
        return lemmas_of(self.layers, draw, frozenset(self.plan.layers or ()), self.known)

    def failed(self, kinds: Sequence[int]) -> None:
        """Layers of these kinds are run in full from now on; none are proved where that is all of them."""
        assert self.layers is not None and self.plan.layers is not None
        self.plan.layers.update(kinds)
        if self.plan.layers >= self.layers.kinds.keys():
            self.layers = None

    def proved_layers(self) -> tuple[tuple[int, int, int], ...]:
        """The kinds of layers that every draw proved once."""
        if self.layers is None or not self.layers_made:
            return ()
        made = [each.keys() for each in self.layers_made]
        kinds = self.layers.kinds.items()
        return tuple(told for kind, told in kinds if all(kind in each for each in made))


def draw_more(run: Run) -> bool:
    """Whether more uniform draws, which are added once, bring the chance of a miss below MOST."""
    uniform = sum(draw.uniform for draw in run.draws)
    missed = missed_of(run)
    if run.more or not MOST <= missed < _HOPELESS**uniform:
        return False
    run.more = ceil(uniform * log(MOST) / log(missed)) + 1 - uniform
    run.kinds = [kind for kind in run.kinds if Draw(0, kind).uniform]
    run.wanted += run.more
    return True


def missed_of(run: Run) -> float:
    """The chance that a difference is missed in all draws."""
    uniform = [draw for draw in run.draws if draw.uniform]
    wanted, have = run.ran[-1]
    divides = any(draw.divides for draw in uniform)
    graphs = ((run.shapes.whole, wanted), (run.shapes.local, have))
    return chance([Degrees(graph, ran.trips, divides, ran.proved) for graph, ran in graphs], uniform, run.law)


def deciding_of(
    shapes: Reduced, once: int, size: int, most: int | None, found: Thresholds
) -> tuple[str, ...]:
    """The draws that are added where there are decisions. once: the work of a draw; size: its elements."""
    count = min(ANY_ORDERS, max(1, (most or SOON) // (8 * once)))
    any_order = [ANY_ORDER] * count
    return (*any_order, *(real_deciding(shapes, once, size, found) if most is None else ()))


def real_deciding(shapes: Reduced, once: int, size: int, found: Thresholds) -> tuple[str, ...]:
    """Those of them in which the order is the real one."""
    near = [THRESHOLDS] * _turns(shapes, found)
    if size > SOON:
        return (NEGATIVE, *(near if found.differ else ()))
    bodies = (function.body for function in shapes.whole.functions.values())
    ordered = any(_orders(shapes.whole, node) for body in bodies for node in walk(body))
    turns = min(largest(shapes.whole.types(shapes.whole.main.body.args)), LONGEST) if ordered else 0
    return (NEGATIVE, *MORE_TIED, *[PEAKS] * min(turns, SOON // once), *near)


class Doubt(Exception):
    """Programs differ with any order; says where."""


def doubted(run: Run, draw: Draw, where: str) -> None:
    """Programs differ with any order: maybe really, so real draws where that shows follow. It is a doubt if
    it is so where maxima may be taken of a value twice, and numbers are not cast to 8 bits.
    """
    more = [kind for kind in run.real if kind not in run.kinds]
    if draw.kind == ANY_ORDER:
        then = CASTS_KEPT if draw.known else EACH_ONCE
        run.suspect = where
        run.kinds = [then if kind == ANY_ORDER else kind for kind in run.kinds]
        more.append(then)
    else:
        run.doubt = where if run.doubt is None else run.doubt
    run.kinds = [*run.kinds, *more]
    run.wanted += len(more) - 1


def _turns(shapes: Reduced, found: Thresholds) -> int:
    """How many draws have the smallest argument in all intervals: two, and up to MOST_NEAR."""
    if not found.intervals:
        return 0
    types = shapes.whole.types(shapes.whole.main.body.args)
    least = min((type.size for type in types if is_inexact(type.dtype) and type.size), default=1)
    return min(MOST_NEAR, max(2, -(-len(found.intervals) // least)))


def _orders(graph: Graph, node: Node) -> bool:
    return node.name in _OF_ORDER and op_of(graph, node).combiner not in ("sum", "prod")


def wanted_of(whole: Graph, size: int) -> int:
    """How many draws are to decide."""
    types = whole.types(whole.main.body.args)
    few = any(not is_inexact(type.dtype) and type.size <= FEW for type in types)
    return SAMPLED_DRAWS if few and size <= SOON else DRAWS


def draws_of(seed: int, run: Run) -> Iterator[Draw]:
    number = 0
    while number < ATTEMPTS * run.wanted:
        kind = run.kinds[number % len(run.kinds)]
        yield Draw(seed * 1000 + number, kind, near=run.near, budget=run.budget)
        number += 1
