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
* AGAIN: what a search finds that begins at the quickest of these, as if what becomes one there did so, and of
  a larger program what becomes one in the plan with divided tensors; of such a one then, while plans get
  quicker and something else becomes one in them, from there on, and from the quickest if that is another;
* JOINING: what a search finds from the quickest on, as if one more hardly took longer of those that become
  one before all products, or after them, in it or in the plan with divided tensors: they are sent anyway;
* ENDS: of a small one, from the quickest on, as if four of a kind became one before all products, and after
  them; not where the search came back to whole tensors, of which as many as can become one do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import product
from math import inf

from msgspec import Struct
from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp

from shardc.analysis import per_device
from shardc.analysis.phases import AFTER, BEFORE
from shardc.collector import no_garbage_collection
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import snapshot
from shardc.ops import spmd
from shardc.passes.combine_collectives import CombineCollectives
from shardc.passes.insert_reshards import Planned
from shardc.passes.pipeline import (
    COMPUTING,
    PASSES,
    PLANNING,
    PREPARING,
    READING,
    across,
    prepare,
    run_to,
    saying,
)
from shardc.passes.pipeline import Options as ByPass
from shardc.planning.machines import Combined, Machine
from shardc.planning.machines.shares import lacking, learn, sent_anyway, with_sums
from shardc.planning.program import Counted, Plan, splits_both
from shardc.report.few_layers import priced
from shardc.report.times import estimate
from shardc.report.traffic import collectives

COMBINES = "combine-collectives"

SENDING = COMBINES, "stage-collectives", "stack-exchanges"
"""The passes that say which collectives are sent as one."""

PROPAGATED, DATA_FIRST, GATHERED = "propagated", "data first", "gathered"
PLACED = PROPAGATED, DATA_FIRST, GATHERED
AGAIN, JOINING, ENDS = "again", "joining", "ends"

JOINED = (spmd.all_reduce, spmd.all_gather, spmd.reduce_scatter)
"""What is counted on to become one where nothing shows it, before all products and after them: collectives
between these wait for each other."""

NANO = 10**6
"""Femtoseconds."""

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
"""A plan that takes more than this part of the one before is the last."""


class Tried(Struct, frozen=True):
    """A plan: the options of passes that make it, the nanoseconds that the whole program takes, what was
    combined, how many of the nanoseconds are `spent` on collectives over which mesh axes, and about how many
    are left without latency (`bare`; 0 of one that was looked for, or that nobody was told)."""

    options: ByPass
    took: int
    found: tuple[Combined, ...]
    spent: Mapping[tuple[str, ...], int] = {}
    bare: int = 0

    @property
    def chain(self) -> tuple[Counted, ...]:
        """What a search that begins at this plan comes after: nothing where every search begins there."""
        chain: tuple[Counted, ...] = self.options[PLANNING]["counted"]
        return chain if chain[-1].begun else ()

    def without(self, axes: Collection[str]) -> int:
        """The nanoseconds that are left without the collectives over any of these axes."""
        return self.took - sum(ns for over, ns in self.spent.items() if not {*over}.isdisjoint(axes))


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
    start, size = module.clone(), sum(1 for _ in module.walk())
    with collecting():
        few = not prepare(start, options)
    if few and not {*across(options)} <= {*SENDING}:
        start, way = module, partial(_tried, planned=None)
    else:
        planned = Planned(SharedGraph(start), machine, lean=bool(options[PLANNING].get("lean")))
        way = partial(_tried_with_few if few else _tried, planned=planned)
    known = dict[Hashable, Tried]()

    def tried(counted: Counted, begin: Tried | None = None, most: float = inf) -> Tried:
        chain = (*(begin.chain if begin else ()), counted)
        said, told = saying(options, PLANNING, counted=chain), _Plans(known, not counted.search, most)
        try:
            with collecting(), no_garbage_collection():
                return way(start.clone(), machine, said, told)
        except _Again as again:
            return replace(known[again.decided], options=said)

    def placed(gathered: tuple[str, ...] = (), data_first: bool = False, most: float = inf) -> Tried:
        counted = Counted(search=False, gathered=gathered, data_first=data_first)
        found = tried(counted, most=most)
        chain = (replace(counted, shares=learn(found.found)),)
        return replace(found, options=saying(found.options, PLANNING, counted=chain))

    propagated = divided = placed()
    yield PROPAGATED, propagated
    graph = snapshot(module).graph
    if splits_both(graph):
        first = placed(data_first=True)
        yield DATA_FIRST, first
        divided = _quicker(propagated, first)
    best, other = divided, divided is not propagated
    axes = sorted({axis for mesh in graph.meshes.values() for axis in mesh.sizes})

    def both(plan: Tried) -> tuple[Combined, ...]:
        return with_sums(learn([*plan.found, *lacking(plan.found, divided.found)]))

    def again(plan: Tried, shares: tuple[Combined, ...]) -> Tried:
        return tried(Counted(shares), plan)

    counted, turns = (both, TURNS) if size > SMALL else (_own, 1)
    soon = size > SMALL and divided.took <= FAR * divided.bare
    if soon:
        for found in _followed(divided, best.took, counted, again, turns):
            yield AGAIN, found
            best = _quicker(best, found)
    whole = divided
    for found in () if bound else _gathered(divided, best, partial(placed, data_first=other), axes):
        yield GATHERED, found
        whole, best = _quicker(whole, found), _quicker(best, found)
    begun = whole if size <= SMALL or divided.took > FAR * whole.took else divided
    back = False
    for plan in (begun,) if begun is whole else (begun, whole):
        if (soon and plan is divided) or plan.took > FAR * best.took:
            continue
        for found in _followed(plan, best.took, counted, again, turns):
            yield AGAIN, found
            best, back = _quicker(best, found), found.took == plan.took and plan is not divided
    if best.spent:
        found = tried(Counted(sent_anyway(both(best))), best)
        yield JOINING, found
        best = _quicker(best, found)
    if size <= SMALL and divided.spent and not back:
        kinds = product(JOINED, axes, (BEFORE, AFTER))
        ends = tuple(Combined(str(op.title), (axis,), FOUR, 1, phase) for op, axis, phase in kinds)
        yield ENDS, tried(Counted(ends), best)


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
            with suppress(_Slow):
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


def _own(plan: Tried) -> tuple[Combined, ...]:
    """What became one in a plan."""
    return learn(plan.found)


def _quicker(first: Tried, other: Tried) -> Tried:
    return other if other.took < first.took else first


def _followed(
    plan: Tried,
    known: int,
    counted: Callable[[Tried], tuple[Combined, ...]],
    again: Callable[[Tried, tuple[Combined, ...]], Tried],
    turns: int,
) -> Iterator[Tried]:
    """A plan that begins at a first one and has what is `counted` on there; then others, each from the one
    before and counting on what became one in it, which end after some turns, where one is little quicker than
    that or not than the `known` nanoseconds, and where what becomes one in it is what it counted on."""
    shares = counted(plan)
    for _ in range(turns):
        found = again(plan, shares)
        yield found
        learnt, late, known = learn(found.found), found.took >= known, min(known, found.took)
        if late or found.took > LITTLE * plan.took or {*learnt} <= {*shares}:
            break
        plan, shares = found, with_sums(learnt)


class _Again(Exception):
    """A plan that was priced before."""

    def __init__(self, decided: Hashable) -> None:
        self.decided = decided


class _Slow(Exception):
    """A plan that would take too long."""


class _Plans:
    """What is planned for a program; _Again where it is `known`. If it is `weighed`, _Slow where it takes more
    than `most` nanoseconds without latency."""

    def __init__(self, known: dict[Hashable, Tried], weighed: bool, most: float) -> None:
        self.known, self.weighed, self.most = known, weighed, most
        self.planned, self.bare = list[Hashable](), 0

    def told(self, plan: Plan) -> None:
        """Note a plan."""
        if plan.decided in self.known:
            raise _Again(plan.decided)
        self.planned.append(plan.decided)
        if self.weighed:
            self.bare += plan.without_latency // NANO
            if self.bare > self.most:
                raise _Slow

    def priced(self, tried: Tried) -> Tried:
        """What the plans that were noted come to."""
        tried = replace(tried, bare=self.bare)
        self.known.update(dict.fromkeys(self.planned, tried))
        return tried


def _tried(
    module: ModuleOp, machine: Machine, options: ByPass, plans: _Plans, planned: Planned | None
) -> Tried:
    """A module before planning, planned and priced. One that is as it was read has equal layers taken out and
    put back, and nobody is told a plan: what passes made of it is then found again.

    It is not verified: the program of the plan that is taken is made once more."""
    found = list[Combined]()
    passes, stage, without = saying(options, COMBINES, told=found.append), "ir", ()
    if planned is not None:
        passes = saying(passes, PLANNING, told=plans.told, planned=planned)
        stage, without = "sharded", (*PREPARING, *READING)
    run_to(make_context(), module, "local", stage, passes, without=without, verified=False)
    program = per_device.read(snapshot(module).graph)
    sent = collectives(program)
    times, spent = estimate(machine, program, sent, 0), Counter[tuple[str, ...]]()
    for each, time in zip(sent, times.collectives, strict=True):
        spent[tuple(axis.name for axis in each.over)] += time.total_ns
    return plans.priced(Tried(options, times.total_ns, tuple(found), spent))


def _tried_with_few(
    module: ModuleOp, machine: Machine, options: ByPass, plans: _Plans, planned: Planned
) -> Tried:
    """The same of a module that few of many equal layers stand for: they are not put back."""
    limit = options[COMBINES].get("bytes", CombineCollectives.bytes)
    passes = saying(options, PLANNING, told=plans.told, planned=planned)
    without = *PREPARING, *READING, *SENDING
    run_to(make_context(), module, "local", "sharded", passes, without=without, verified=False)
    sending = [PASSES[name]()(**options[name]) for name in SENDING if name in options]
    return plans.priced(Tried(options, *priced(module, machine, limit, [*sending, PASSES[COMPUTING]()()])))
