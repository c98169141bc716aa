"""prove(whole, local): whether the per-device program equals the global one over exact arithmetic.

Both are evaluated at reduced shapes on a few draws. Results that differ in exact arithmetic are called
different only if their real values differ too; what is equal by laws that random functions do not have (exp(a
+ b) = exp(a) exp(b)) is not proved, and not refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import ceil, log

from shardc.analysis.manual import is_all_per_device, per_device_lines
from shardc.analysis.shown import unshown
from shardc.diagnostics import ShardcError
from shardc.graph import Graph, is_float, walk
from shardc.ops import hlo
from shardc.proof.degrees import Degrees, chance
from shardc.proof.draws import KINDS, NEGATIVE, Draw, one_way
from shardc.proof.evaluate import Ran, evaluate, evaluate_both, note_exponents, work
from shardc.proof.failure import Difference, difference
from shardc.proof.field import MOST
from shardc.proof.induction import Note, Plan, Replan, loop_numbers
from shardc.proof.numbers import real_copies
from shardc.proof.reduced import Reduced, reduced
from shardc.proof.values import Beyond, DrawAgain, same
from shardc.semantics.arrays import Array
from shardc.semantics.blocks import BlockError

DRAWS = 3
"""Draws that must decide, the kinds in turn."""

SAMPLED_DRAWS, FEW, SOON = 12, 64, 1 << 22
"""As many where an argument is a few integers, which may be an index: if it has up to so many elements, and a
draw computes up to so many."""

SHORT = ("mixed", "tied")
"""The draws of a short proof without integers."""

MORE_TIED = ("tied", "tied")
"""Draws that are added where there are decisions, and a draw computes up to SOON elements: of few elements
few are tied.
"""

LAW = ("mixed", "mixed", "positive")
"""The draws of a proof by the law of exp."""

ATTEMPTS = 4
"""Draws that are tried for each."""

ELEMENTS = 1 << 27
"""The most elements, over all operations and devices, that a proof is tried with."""


_HOPELESS = 0.5
"""The chance that one draw misses from which on no more are drawn."""

_NO_BOUND = "equal in {} draws, but degrees are too high for a bound on the chance of a miss"


class Verdict(Enum):
    """What a proof came to."""

    PROVED = "proved"
    DIFFERS = "differs"
    NOT_PROVED = "not proved"


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdict, and what it rests on.

    chance: of a miss, by degrees and pairs of hashed values. one_way: decisions that fell only one way.
    taken: lines of per-device code that the global program has, too. loops: by induction, for each draw.
    unfit: an emitted text that could not be read, since its shapes do not fit. law: by that of exp. more: draws
    that were added since the chance of a miss was too high.
    """

    verdict: Verdict
    reason: str = ""
    shapes: Reduced | None = None
    draws: tuple[Draw, ...] = ()
    results: tuple[tuple[Array, ...], ...] = ()
    chance: float = 1.0
    one_way: tuple[str, ...] = ()
    decisions: int = 0
    sampled: tuple[str, ...] = ()
    difference: Difference | None = None
    again: tuple[str, ...] = ()
    taken: tuple[int, ...] = ()
    loops: tuple[tuple[Note, ...], ...] = ()
    plan: Plan = field(default_factory=Plan)
    unfit: bool = False
    law: bool = False
    more: int = 0

    @property
    def fails(self) -> bool:
        """Whether the program is not to be used: it differs, or does not fit."""
        return self.unfit or self.verdict is Verdict.DIFFERS


@dataclass(slots=True)
class _Run:
    """The draws so far. divides: draw with the field's inverses, which the equality may need. deciding: draws
    that are added where there are decisions.
    """

    shapes: Reduced
    full: Graph
    wanted: int
    kinds: Sequence[str] = KINDS
    deciding: Sequence[str] = (NEGATIVE,)
    divides: bool = False
    plan: Plan = field(default_factory=Plan)
    law: bool = False
    more: int = 0
    draws: list[Draw] = field(default_factory=list[Draw])
    ran: list[tuple[Ran, Ran]] = field(default_factory=list["tuple[Ran, Ran]"])
    loops: list[tuple[Note, ...]] = field(default_factory=list["tuple[Note, ...]"])
    again: list[str] = field(default_factory=list[str])

    def anew(self) -> _Run:
        """The same without draws."""
        return replace(self, draws=[], ran=[], loops=[], again=[], more=0)


Limit = Callable[[Graph, Graph], str | None]
"""Why programs, at reduced sizes, are too large; None where they are not."""


def prove(whole: Graph, local: Graph, seed: int = 1, beyond: Limit | None = None) -> Proof:
    """Compare the programs; both are to take and give the same global arrays.

    With `beyond` it is a short proof: of few draws, and of none where the programs are too large.
    """
    whole, local = unshown(whole), unshown(local)
    reason = _incomparable(whole, local)
    if reason:
        return Proof(Verdict.NOT_PROVED, reason)
    try:
        shapes = reduced(whole, local)
        size = work(shapes.whole) + work(shapes.local)
        if size > ELEMENTS:
            return Proof(Verdict.NOT_PROVED, f"even reduced it computes {size:.1e} elements", shapes)
        large = beyond(shapes.whole, shapes.local) if beyond else None
        if large:
            return Proof(Verdict.NOT_PROVED, large, shapes)
        kinds = KINDS if beyond is None or _sampled(whole) else SHORT
        deciding = (NEGATIVE,) if beyond or size > SOON else (NEGATIVE, *MORE_TIED)
        run = _Run(shapes, whole, len(kinds) if beyond else _wanted(whole, size), kinds, deciding)
        found = _prove(run, seed)
        if found.reason == _ONLY_REALLY and _has_exp(whole) and _has_exp(local):
            return _by_law(
                _Run(shapes, whole, len(LAW), LAW, (NEGATIVE,), True, _in_full(whole), True), seed, found
            )
        return found
    except Beyond as error:
        return Proof(Verdict.NOT_PROVED, f"{error} are beyond the proof")


def _by_law(run: _Run, seed: int, otherwise: Proof) -> Proof:
    """A proof with exp(a + b) = exp(a) exp(b); what it does not prove is as it was."""
    try:
        found = _prove(run, seed)
    except Beyond:
        return otherwise
    return replace(found, law=True) if found.verdict is Verdict.PROVED else otherwise


def _has_exp(graph: Graph) -> bool:
    nodes = (node for function in graph.functions.values() for node in walk(function.body))
    return any(node.name == hlo.exponential.name for node in nodes)


def _in_full(whole: Graph) -> Plan:
    return Plan(set(loop_numbers(whole).values()))


def _incomparable(whole: Graph, local: Graph) -> str | None:
    """Why there is nothing to compare, if so."""
    first, second = whole.main.body, local.main.body
    for values, others in ((first.args, second.args), (first.results, second.results)):
        if whole.types(values) != local.types(others):
            return "the programs take or give other types"
    if is_all_per_device(whole):
        return "the program is per-device code, with nothing to compare it with; --against names a function"
    return None


def _prove(run: _Run, seed: int) -> Proof:
    for draw in _draws(seed, run):
        draw.divides = run.divides or draw.kind == "tied"
        try:
            found = _once(run, draw)
            if found is not None and not draw.divides:
                run.divides = True
                found = _once(run, Draw(draw.seed, draw.kind))
        except DrawAgain as error:
            run.again.append(str(error))
            continue
        except Replan as change:
            if change.disagree and not draw.divides:
                run.divides = True
            else:
                run.plan.in_full.update(change.loops)
            return _prove(run.anew(), seed)
        if found is not None:
            return found
        if draw.decisions and NEGATIVE not in run.kinds:
            run.kinds = [*run.kinds, *run.deciding]
            run.wanted += len(run.deciding)
        if len(run.draws) >= run.wanted and not _draw_more(run):
            break
    if not run.draws:
        return Proof(Verdict.NOT_PROVED, f"no draw decides: {run.again[-1]}", run.shapes)
    return _proved(run)


def _draw_more(run: _Run) -> bool:
    """Whether more uniform draws, which are added once, bring the chance of a miss below MOST."""
    uniform = sum(draw.kind != "tied" for draw in run.draws)
    missed = _missed(run)
    if run.more or not MOST <= missed < _HOPELESS**uniform:
        return False
    run.more = ceil(uniform * log(MOST) / log(missed)) + 1 - uniform
    run.kinds = [kind for kind in run.kinds if kind != "tied"]
    run.wanted += run.more
    return True


def _missed(run: _Run) -> float:
    """The chance that a difference is missed in all draws."""
    uniform = [draw for draw in run.draws if draw.kind != "tied"]
    wanted, have = run.ran[-1]
    divides = any(draw.divides for draw in uniform)
    graphs = ((run.shapes.whole, wanted), (run.shapes.local, have))
    return chance([Degrees(graph, ran.trips, divides, ran.proved) for graph, ran in graphs], uniform, run.law)


def _wanted(whole: Graph, size: int) -> int:
    """How many draws are to decide."""
    types = whole.types(whole.main.body.args)
    few = any(not is_float(type.dtype) and type.size <= FEW for type in types)
    return SAMPLED_DRAWS if few and size <= SOON else DRAWS


def _draws(seed: int, run: _Run) -> Iterator[Draw]:
    number = 0
    while number < ATTEMPTS * run.wanted:
        yield Draw(seed * 1000 + number, run.kinds[number % len(run.kinds)])
        number += 1


def _sampled(whole: Graph) -> list[str]:
    """The dtypes of arguments that are no floats: their values are sampled."""
    types = whole.types(whole.main.body.args)
    return sorted({type.dtype for type in types if not is_float(type.dtype)})


def _once(run: _Run, draw: Draw) -> Proof | None:
    """One draw; a proof if it ends the matter."""
    whole, local = run.shapes.whole, run.shapes.local
    inputs = draw.inputs(whole.types(whole.main.body.args), run.full.types(run.full.main.body.args))
    try:
        if run.law:
            note_exponents(whole, local, draw, run.full, run.plan)
        wanted, have, loops = evaluate_both(whole, local, draw, inputs, run.plan)
    except ShardcError as error:
        if not isinstance(error.__cause__, BlockError):
            raise
        return _disagreement(run, draw, inputs, error)
    for number, (want, got) in enumerate(zip(wanted.results, have.results, strict=True)):
        if not bool(same(want, got).all()):
            found = difference(run.shapes, draw, inputs, number, want, got)
            verdict = Verdict.DIFFERS if found.really else Verdict.NOT_PROVED
            reason = "" if found.really else _ONLY_REALLY
            return Proof(verdict, reason, run.shapes, (draw,), difference=found)
    run.draws.append(draw)
    run.ran.append((wanted, have))
    run.loops.append(tuple(loops.proved))
    return None


_ONLY_REALLY = "equal in real numbers as far as f64 shows, by laws of functions that the proof does not know"


def _disagreement(run: _Run, draw: Draw, inputs: Sequence[Array], error: ShardcError) -> Proof:
    """Devices that should hold copies differ: really, or by laws that are not known here."""
    try:
        with real_copies():
            evaluate(run.shapes.local, draw, inputs)
    except ShardcError:
        return Proof(Verdict.DIFFERS, str(error.diagnostic), run.shapes, (draw,))
    return Proof(Verdict.NOT_PROVED, _ONLY_REALLY, run.shapes, (draw,))


def _proved(run: _Run) -> Proof:
    missed = _missed(run)
    decisions, places = one_way(run.draws)
    return Proof(
        Verdict.PROVED if missed < MOST else Verdict.NOT_PROVED,
        "" if missed < MOST else _NO_BOUND.format(len(run.draws)),
        shapes=run.shapes,
        draws=tuple(run.draws),
        results=tuple(tuple(ran.results) for ran, _ in run.ran),
        chance=missed,
        one_way=tuple(places),
        decisions=decisions,
        sampled=tuple(_sampled(run.full)),
        again=tuple(run.again),
        taken=per_device_lines(run.full),
        loops=tuple(run.loops),
        plan=run.plan,
        more=run.more,
    )
