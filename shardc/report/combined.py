"""Which collectives become one on a machine with latency, so that the planner can count on it.

The planner prices collectives one by one; the pass combine-collectives makes one of several later. Sixteen
sums of gradients look sixteen times as late as they are, and plans without them look better. What will become
one depends on the plan. So the program is planned several times, and that plan is taken with which the whole
program is quickest, all combined:

* PROPAGATED: as propagation lays it out, without a search;
* DATA_FIRST: as it does with data before state, where that is otherwise: weights that are stored split over
  the axis of the batch are gathered;
* GATHERED: the quicker of these, but that tensors are whole over some mesh axes: what comes in is gathered at
  once, and nothing else is sent over these axes. One axis after the other is taken so while that is quicker,
  and all;
* AGAIN: what a search finds that begins at the quickest of these, as if what becomes one there did so; the
  same with what becomes one in the plan with divided tensors, too, of a larger program only that, and then,
  while plans get quicker and something else becomes one in them, from there on, and from the quickest if that
  is another;
* JOINING: what a search finds from the quickest on, as if one more hardly took longer of those that become
  one before all products, or after them, in it or in the plan with divided tensors: they are sent anyway;
* ENDS: of a small one, from the quickest on, as if four of a kind became one before all products, and after
  them; not where the search came back to whole tensors, of which as many as can become one do.

What counts on latency that more collectives share is not looked for where little of the time is latency:
JOINING, ENDS, and of a small program what becomes one with divided tensors. A larger program in which it is
not most of the time is searched before GATHERED: few of these may still be quicker then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import product

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp

from shardc.analysis.phases import AFTER, BEFORE
from shardc.dialects.snapshot import snapshot
from shardc.ops import spmd
from shardc.passes.pipeline import Options as ByPass
from shardc.planning.machines import Combined, Machine
from shardc.planning.machines.shares import lacking, learn, sent_anyway, with_sums
from shardc.planning.program import splits_both
from shardc.report.trials import SlowError, Trials, Tried

PROPAGATED, DATA_FIRST, GATHERED = "propagated", "data first", "gathered"
PLACED = PROPAGATED, DATA_FIRST, GATHERED
AGAIN, JOINING, ENDS = "again", "joining", "ends"

JOINED = (spmd.all_reduce, spmd.all_gather, spmd.reduce_scatter)
"""What is counted on to become one where nothing shows it, before all products and after them: collectives
between these wait for each other."""

FOUR = 4
"""How many of these are taken for one."""

SMALL = 200
"""Operations of a program that is solved whole, mostly, so that it hardly matters where a search begins."""

FAR = 2
"""The search in a larger program begins at the plan with divided tensors, unless that takes so many times the
quickest: from plans of whole tensors it does not come back to divided ones. None begins at one that takes so
many times one that was found."""

TURNS = 3
"""How often one learns from the plan before."""

LITTLE = 15 / 16
"""A plan that takes more than this part of the one before is the last; and where a plan without latency takes
more than this part of it, it is not worth while to share more of it."""


def with_shares(module: ModuleOp, machine: Machine, options: ByPass, bound: bool = False) -> ByPass:
    """The options of passes with which a module takes least on a machine: the given ones, or these and what
    another plan counts on. `options` have the pass that combines. Of equals one that was looked for. Where
    memory is bound, devices do not hold tensors whole that are divided."""
    found = plans(module, machine, options, bound)
    return min(found, key=lambda named: (named[1].took, named[0] in PLACED))[1].options


def plans(
    module: ModuleOp, machine: Machine, options: ByPass, bound: bool = False
) -> Iterator[tuple[str, Tried]]:
    """The plans, each with its name; none that gathers first where memory is `bound`."""
    trials, large = Trials(module, machine, options), sum(1 for _ in module.walk()) > SMALL
    propagated = divided = trials.placed()
    yield PROPAGATED, propagated
    graph = snapshot(module).graph
    if splits_both(graph):
        first = trials.placed(data_first=True)
        yield DATA_FIRST, first
        divided = _quicker(propagated, first)
    best = whole = divided
    axes = sorted({axis for mesh in graph.meshes.values() for axis in mesh.sizes})
    search = _Search(trials, divided, large)
    soon = large and divided.took <= FAR * divided.bare
    if soon:
        for found in search.begun_at(divided, best):
            yield AGAIN, found
            best = _quicker(best, found)
    placed = partial(trials.placed, data_first=divided is not propagated)
    for found in () if bound else _gathered(divided, best, placed, axes):
        yield GATHERED, found
        whole, best = _quicker(whole, found), _quicker(best, found)
    starts = [divided, whole] if large and divided.took <= FAR * whole.took else [whole]
    back = False
    for plan in starts:
        for found in search.begun_at(plan, best):
            yield AGAIN, found
            best, back = _quicker(best, found), found.took == plan.took and plan is not divided
    if _waits(best) and best.spent:
        yield JOINING, (found := search.joining(best))
        best = _quicker(best, found)
    if _waits(best) and divided.spent and not large and not back:
        yield ENDS, search.ends(axes, best)


class _Search(Struct):
    """Searches, of which each begins at a plan. Where weights are `divided` other collectives become one."""

    trials: Trials
    divided: Tried
    large: bool
    begun: list[Tried] = []

    def begun_at(self, plan: Tried, best: Tried) -> Iterator[Tried]:
        """Plans that begin at one and count on what became one there, as AGAIN has it; none from a plan where
        others have begun, or that takes FAR times the best."""
        if any(plan is each for each in self.begun) or plan.took > FAR * best.took:
            return
        self.begun.append(plan)
        if self.large:
            yield from self._followed(plan, best.took)
            return
        own, both = learn(plan.found), self._both(plan)
        yield self.trials.searched(own, plan)
        if both != own and _waits(plan):
            yield self.trials.searched(both, plan)

    def _followed(self, plan: Tried, known: int) -> Iterator[Tried]:
        """A plan that begins at a first one; then others, each from the one before and counting on what
        became one in it, which end after some turns, where one is little quicker than that or not than the
        `known` nanoseconds, and where what becomes one in it is what it counted on."""
        shares = self._both(plan)
        for _ in range(TURNS):
            found = self.trials.searched(shares, plan)
            yield found
            learnt, late, known = learn(found.found), found.took >= known, min(known, found.took)
            if late or found.took > LITTLE * plan.took or {*learnt} <= {*shares}:
                break
            plan, shares = found, with_sums(learnt)

    def joining(self, best: Tried) -> Tried:
        """JOINING."""
        return self.trials.searched(sent_anyway(self._both(best)), best)

    def ends(self, axes: Sequence[str], best: Tried) -> Tried:
        """ENDS."""
        kinds = product(JOINED, axes, (BEFORE, AFTER))
        shares = (Combined(str(op.title), (axis,), FOUR, 1, phase) for op, axis, phase in kinds)
        return self.trials.searched((*shares,), best)

    def _both(self, plan: Tried) -> tuple[Combined, ...]:
        """What became one in a plan, and beside it in the plan with divided tensors."""
        return with_sums(learn([*plan.found, *lacking(plan.found, self.divided.found)]))


def _gathered(
    divided: Tried, known: Tried, placed: Callable[..., Tried], axes: Sequence[str]
) -> Iterator[Tried]:
    """Plans whose tensors are whole over one axis more than those of the quickest before, and over all of
    them; none that would not be quicker than what is known if the plan in which they are divided sent nothing
    over these, or that takes FAR times as long without latency."""
    best, whole = known, dict[frozenset[str], Tried | None]()

    def of(taken: frozenset[str]) -> Iterator[Tried]:
        if taken not in whole and divided.without(taken) < best.took:
            whole[taken] = None
            with suppress(SlowError):
                found = placed(tuple(axis for axis in axes if axis in taken), most=FAR * best.took)
                whole[taken] = found
                yield found

    taken = frozenset[str]()
    for _ in axes:
        before = best
        for axis in sorted({*axes} - taken, key=lambda axis: (divided.without([axis]), axis)):
            for found in of(taken | {axis}):
                yield found
                best = _quicker(best, found)
        if best is before:
            break
        taken = next(each for each, found in whole.items() if found is best)
    yield from of(frozenset(axes))


def _quicker(first: Tried, other: Tried) -> Tried:
    return other if other.took < first.took else first


def _waits(plan: Tried) -> bool:
    """Whether more than a LITTLE of its time is latency."""
    return plan.bare <= LITTLE * plan.took
