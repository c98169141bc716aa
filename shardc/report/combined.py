"""Which collectives become one on a machine with latency, so that the planner can count on it.

The planner prices collectives one by one; the pass combine-collectives makes one of several later. Sixteen
sums of gradients look sixteen times as late as they are, and plans without them look better. What will become
one depends on the plan. So the program is planned several times, and that plan is taken with which the whole
program is quickest, all combined:

* as propagation lays it out, without a search; and with whole tensors on each device, which are gathered at
  once where they come in;
* a small one with the latency of each collective; as if what becomes one in propagation's layouts did so in
  these, and in any; and as if four of a kind became one before all products, and after them. That search
  begins at the quickest plan so far;
* a larger one as if what becomes one as propagation lays it out did so, and then, from there on, as if what
  becomes one in the plan before did; where whole tensors are much quicker, what becomes one there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import product

from msgspec import Struct
from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp

from shardc.analysis import per_device
from shardc.analysis.phases import AFTER, BEFORE
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.ops import spmd
from shardc.passes.fold_layers import WORTH
from shardc.passes.pipeline import READING, run_to, saying
from shardc.passes.pipeline import Options as ByPass
from shardc.planning.machines import Combined, Machine
from shardc.planning.program import UNSOUGHT, Counted, Plan
from shardc.report.times import estimate
from shardc.report.traffic import collectives

PLANS, COMBINES = "insert-reshards", "combine-collectives"

PROPAGATED, WHOLE, OWN = "propagated", "whole", "own"
LAYOUTS, LEARNT, ENDS, AGAIN = "layouts", "learnt", "ends", "again"

JOINED = (spmd.all_reduce, spmd.all_gather, spmd.reduce_scatter)
"""What is counted on to become one where nothing shows it, before all products and after them: collectives
between these wait for each other."""

FOUR = 4
"""How many of these are taken for one."""

SMALL = 200
"""Operations of a program that is planned in so little time that all plans are made."""

FAR = 3
"""A plan that takes so many times another is not what a search begins at."""

TURNS = 3
"""How often one learns from the plan before."""


class Tried(Struct, frozen=True):
    """A plan: the options of passes that make it, the nanoseconds that the whole program takes, and what was
    combined."""

    options: ByPass
    took: int
    found: tuple[Combined, ...]

    @property
    def chain(self) -> tuple[Counted, ...]:
        """What a search that begins at this plan comes after: nothing where it was not looked for."""
        said = self.options.get(PLANS, {})
        last = Counted(said.get("shares", ()), said.get("search", "all"))
        return () if last.search in UNSOUGHT else (*said.get("after", ()), last)


def with_shares(module: ModuleOp, machine: Machine, options: ByPass, bound: bool = False) -> ByPass:
    """The options of passes with which a module takes least on a machine: the given ones, or these and what
    another plan counts on. `options` have the pass that combines. Of equals one that was looked for. Where
    memory is bound, devices do not hold tensors whole that are divided."""
    found = (named for named in plans(module, machine, options) if not bound or named[0] != WHOLE)
    return min(found, key=lambda named: (named[1].took, named[0] in (PROPAGATED, WHOLE)))[1].options


def plans(module: ModuleOp, machine: Machine, options: ByPass) -> Iterator[tuple[str, Tried]]:
    """The plans, by name. OWN is the only one that is looked for where it has no two collectives, and nothing
    becomes one in propagation's layouts; of a program of more than SMALL operations AGAIN is."""
    start, stage, size = module.clone(), "ir", sum(1 for _ in module.walk())
    if size < WORTH:  # else equal layers are taken out, on the way from ir alone
        stage = "sharded"
        with collecting():
            run_to(make_context(), start, stage, options=options)

    known = dict[Hashable, Tried]()

    def tried(begin: Tried | None = None, **said: object) -> Tried:
        said = {**said, "after": begin.chain} if begin else said
        more = saying(options, PLANS, **said) if said else options
        return _tried(start.clone(), machine, more, stage, known)

    own = tried() if size <= SMALL else None
    if own is not None:
        yield OWN, own
    propagated, whole = tried(search="none"), tried(search="whole")
    for name, found in ((PROPAGATED, propagated), (WHOLE, whole)):
        yield name, replace(found, options=saying(found.options, PLANS, shares=learn(found.found)))
    if own is None:
        begun = whole if propagated.took > FAR * whole.took else propagated
        yield AGAIN, _followed(begun, lambda plan, shares: tried(plan, shares=shares))
        return
    learnt = learn(propagated.found)
    spared = any(each.part < 1 for each in learnt)
    if not spared and sum(each.before for each in own.found) < 2:
        return
    best = _quicker(own, propagated)
    for name, said in ((LAYOUTS, {"search": "layouts"}), (LEARNT, {})) if spared else ():
        found = tried(None, **said, shares=learnt)
        yield name, found
        best = _quicker(best, found)
    axes = sorted({axis for mesh in snapshot(module).graph.meshes.values() for axis in mesh.sizes})
    kinds = product(JOINED, axes, (BEFORE, AFTER))
    ends = tuple(Combined(str(op.title), (axis,), FOUR, 1, phase) for op, axis, phase in kinds)
    yield ENDS, tried(best, shares=ends)


def _quicker(first: Tried, other: Tried) -> Tried:
    return other if other.took < first.took else first


def _followed(plan: Tried, again: Callable[[Tried, tuple[Combined, ...]], Tried]) -> Tried:
    """The quickest of TURNS plans, each of which begins at the one before and counts on what became one in
    it; they end where one is no quicker, or all that are alike in it are one."""
    found = quickest = again(plan, learn(plan.found))
    for _ in range(TURNS - 1):
        shares = learn(found.found)
        if found.took >= plan.took or all(each.after <= 1 for each in shares):
            break
        plan, found = found, again(found, shares)
        quickest = _quicker(quickest, found)
    return quickest


def learn(found: Iterable[Combined]) -> tuple[Combined, ...]:
    """What became one in a whole program, of what did in each of its regions."""
    known = dict[Hashable, Combined]()
    for each in found:
        key = each.title, each.axes, each.phase
        of = known.get(key, each._replace(before=0, after=0))
        known[key] = each._replace(before=of.before + each.before, after=of.after + each.after)
    return tuple(known.values())


class _Again(Exception):
    """A plan that was priced before."""


def _tried(
    module: ModuleOp, machine: Machine, options: ByPass, stage: str, known: dict[Hashable, Tried]
) -> Tried:
    """A module at a stage before planning, planned and priced; a plan that is `known` is not priced again.
    Where equal layers are taken out nobody is told a plan: what passes made of it is then found again.

    It is not verified: the program of the plan that is taken is made once more."""
    found, planned = list[Combined](), list[Hashable]()

    def told(plan: Plan) -> None:
        planned.append(decided := plan.decided)
        if decided in known:
            raise _Again

    passes, without = saying(options, COMBINES, told=found.append), ()
    if stage != "ir":
        passes, without = saying(passes, PLANS, told=told), READING
    try:
        with collecting():
            run_to(make_context(), module, "local", stage, passes, without=without, verified=False)
            program = per_device.read(snapshot(module).graph)
    except _Again:
        return replace(known[planned[0]], options=options)
    tried = Tried(options, estimate(machine, program, collectives(program), 0).total_ns, tuple(found))
    known.update(dict.fromkeys(planned, tried))
    return tried
