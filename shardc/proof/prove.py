"""prove(whole, local): whether the per-device program equals the global one over exact arithmetic.

Both are evaluated at reduced shapes on a few draws. Results that differ in exact arithmetic are called
different only if their real values differ too; what is equal by laws that random functions do not have (exp(a
+ b) = exp(a) exp(b)) is not proved, and not refuted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardc.analysis.manual import per_device_lines
from shardc.diagnostics import ShardcError
from shardc.graph import Graph
from shardc.proof.both_call import both_call
from shardc.proof.comparable import comparable, incomparable
from shardc.proof.drawing import (
    KINDS,
    LAW,
    Doubt,
    Run,
    deciding_of,
    doubted,
    draw_more,
    draws_of,
    missed_of,
    real_deciding,
    sampled,
    wanted_of,
)
from shardc.proof.draws import ORDERLESS, Draw, one_way
from shardc.proof.effort import Budget, beyond, effort
from shardc.proof.evaluate import evaluate, evaluate_both, note_exponents, work
from shardc.proof.exponents import has_exp
from shardc.proof.failure import difference
from shardc.proof.field import MOST
from shardc.proof.induction import Plan, Replan, in_full
from shardc.proof.layers import Layers, layers
from shardc.proof.lemmas import NoLemma
from shardc.proof.logarithms import with_logarithms
from shardc.proof.numbers import real_copies
from shardc.proof.reduced import Reduced, reduced
from shardc.proof.refuted import copies_differ, refuted
from shardc.proof.short import SHORT_TIMES, Large, check_least, dealt_of, kinds_of, limit_of
from shardc.proof.thresholds import thresholds
from shardc.proof.values import Beyond, DrawAgain
from shardc.proof.verdict import Proof, Verdict
from shardc.semantics.arrays import Array
from shardc.semantics.blocks import BlockError

ELEMENTS = 1 << 27
"""The most elements, over all operations and devices, that a proof is tried with."""

_NO_BOUND = "equal in {} draws, but degrees are too high for a bound on the chance of a miss"

TIMES, LEAST = 32, 1 << 20
"""All draws of a proof that is asked for may be so many times the work that one is taken for, or this."""


def prove(
    whole: Graph, local: Graph, seed: int = 1, most: int | None = None, *, manual: bool = False
) -> Proof:
    """Compare the programs; both are to take and give the same global arrays.

    With `most` it is a short proof: of few draws, and of none where one of them is more work.
    `manual`: a global program that is all per-device code is something to compare with, since the other was
    not made from it.
    """
    whole, local = comparable(whole), comparable(local)
    reason = incomparable(whole, local, manual)
    if reason:
        return Proof(Verdict.NOT_PROVED, reason)
    try:
        built = layers(whole, local)
        found = None if built is None else _by_layers(built, whole, seed, most)
        found = found or _attempt(whole, local, whole, seed, most)
        unlike = () if built is None else tuple(k for k in built.kinds.values() if k not in found.layers)
        return replace(found, in_full=unlike)
    except Large as error:
        return Proof(Verdict.NOT_PROVED, str(error))
    except Beyond as error:
        return Proof(Verdict.NOT_PROVED, f"{error} are beyond the proof")
    except RecursionError:
        return Proof(Verdict.NOT_PROVED, "its calls are nested too deeply to be evaluated")


def _by_layers(built: Layers, full: Graph, seed: int, most: int | None) -> Proof | None:
    """A proof in which equal layers are proved once; None where that fails, which says nothing. Raises
    Large.
    """
    try:
        found = _attempt(built.whole, built.local, full, seed, most, built)
    except Beyond:
        return None
    return found if found.verdict is Verdict.PROVED else None


def prove_by_calls(local: Graph, text: Graph, seed: int = 1) -> Proof | None:
    """Compare two per-device programs, each pair of functions that both call once (both_call.py); None where
    that saves nothing, or does not prove them.
    """
    local, text = comparable(local), comparable(text)
    built = None if incomparable(local, text, manual=True) else both_call(local, text)
    try:
        found = _attempt(local, text, local, seed, None, built) if built else None
    except (Large, Beyond, RecursionError, ShardcError):
        return None
    return replace(found, as_local=True) if found and found.verdict is Verdict.PROVED else None


def _attempt(
    whole: Graph, local: Graph, full: Graph, seed: int, most: int | None, built: Layers | None = None
) -> Proof:
    """A proof of programs, with equal layers as calls where they were `built`; what fails then is no matter.

    What is not proved with shorter axes is tried at full length. Raises Beyond, Large.
    """
    if most is not None:
        check_least(whole, local, built, limit_of(full, most))
    shapes = reduced(whole, local)
    found = _at(shapes, full, seed, most, built)
    again = found.verdict is not Verdict.PROVED and shapes.short
    try:
        return _at(reduced(whole, local, short=False), full, seed, most, built) if again else found
    except Large as error:
        if found.verdict is Verdict.DIFFERS and not shapes.exact:
            raise Large(f"on shorter axes, along which it sums, it differs; {error}") from error
        return found


def _at(shapes: Reduced, full: Graph, seed: int, most: int | None, built: Layers | None = None) -> Proof:
    """A proof of programs at reduced shapes."""
    size = work(shapes.whole) + work(shapes.local)
    if size > ELEMENTS:
        raise Large(f"even reduced it computes {size:.1e} elements")
    dealt = dealt_of(built)
    once = effort(shapes.whole, dealt[0]) + effort(shapes.local, dealt[1])
    kinds = KINDS if most is None else kinds_of(full)
    if most is not None and once > (limit := limit_of(full, most)):
        raise Large(beyond(f"{once:,} elements", limit))
    near = thresholds(shapes.whole, shapes.local)
    deciding = deciding_of(shapes, once, size, most, near)
    wanted = wanted_of(full, size) if most is None else len(kinds)
    budget = Budget(TIMES * max(once, LEAST) if most is None else SHORT_TIMES * most)
    run = Run(shapes, full, wanted, kinds, deciding, budget=budget, near=near)
    run.real = real_deciding(shapes, once, size, near)
    if built is not None:
        run.tried, run.layers = True, built
        run.plan = in_full(shapes.whole) if built.both_call else Plan()
        run.plan.layers = set()
        return _prove(run, seed)
    found = _prove(run, seed)
    if found.reason == _ONLY_REALLY and has_exp(shapes.whole) and has_exp(shapes.local):
        shapes = with_logarithms(shapes)
        alone = Budget(budget.most)
        by_law = Run(
            shapes, full, len(LAW), LAW, divides=True, plan=in_full(shapes.whole), law=True, budget=alone
        )
        return _by_law(by_law, seed, found)
    return found


def _by_law(run: Run, seed: int, otherwise: Proof) -> Proof:
    """A proof with exp(a + b) = exp(a) exp(b); what it does not prove is as it was."""
    try:
        found = _prove(run, seed)
    except Beyond:
        return otherwise
    return replace(found, law=True) if found.verdict is Verdict.PROVED else otherwise


def _prove(run: Run, seed: int) -> Proof:
    for draw in draws_of(seed, run):
        draw.divides = run.divides or not draw.uniform
        try:
            found = _once(run, draw)
            if found is not None and not draw.divides:
                run.divides = True
                draw = Draw(draw.seed, draw.kind, True, run.near, budget=run.budget)
                found = _once(run, draw)
        except Doubt as doubt:
            doubted(run, draw, str(doubt))
            continue
        except DrawAgain as error:
            run.undecided(draw, str(error))
            continue
        except Replan as change:
            if change.disagree and not draw.divides:
                run.divides = True
            else:
                run.plan.in_full.update(change.loops)
            return _prove(run.anew(), seed)
        except NoLemma as failed:
            if draw.divides:
                run.failed(failed.kinds)
            if run.layers is None:
                return Proof(Verdict.NOT_PROVED, "no layers are proved")
            run.divides = True
            return _prove(run.anew(), seed)
        if found is not None:
            if (ends := run.ends_with(found)) is not None:
                return ends if ends.verdict is Verdict.DIFFERS else refuted(run) or ends
            continue
        if draw.decisions and not run.decides:
            run.decides = True
            run.kinds = [*run.kinds, *run.deciding]
            run.wanted += len(run.deciding)
        if len(run.draws) >= run.wanted and not draw_more(run):
            break
    found = run.unproved() or _proved(run)
    return found if found.verdict is Verdict.PROVED else refuted(run) or found


def _once(run: Run, draw: Draw) -> Proof | None:
    """One draw; a proof if it ends the matter."""
    whole, local = run.shapes.whole, run.shapes.local
    inputs = draw.inputs(whole, run.full)
    try:
        if run.law:
            note_exponents(whole, local, draw, run.full, run.plan)
        lemmas = run.lemmas(draw)
        wanted, have, loops = evaluate_both(whole, local, draw, inputs, run.plan, lemmas)
    except ShardcError as error:
        if not isinstance(error.__cause__, BlockError):
            raise
        if run.tried:
            return Proof(Verdict.NOT_PROVED, _ONLY_TRIED)
        if draw.kind in ORDERLESS:
            raise Doubt(f"copies at {error.diagnostic.loc}") from error
        if not draw.divides:
            return Proof(Verdict.NOT_PROVED, _UNDIVIDED)
        return _disagreement(run, draw, inputs, error)
    if run.tried and wanted.differs(have) is not None:
        return Proof(Verdict.NOT_PROVED, _ONLY_TRIED)
    differing = {n: (wanted.results[n][0], have.results[n][0]) for n in wanted.differing(have)}
    if differing and not draw.divides and draw.kind not in ORDERLESS:
        return Proof(Verdict.NOT_PROVED, _UNDIVIDED)
    if differing:
        found = difference(run.shapes, draw, inputs, differing, first=not run.unlike)
        if draw.kind in ORDERLESS:
            step = found.path[-1] if found.path else None
            raise Doubt(f"{step.name} at {step.loc}" if step else f"the result at {found.whole}")
        verdict = Verdict.DIFFERS if found.really else Verdict.NOT_PROVED
        reason = "" if found.really else _ROUNDED if found.rounded else _ONLY_REALLY
        return Proof(verdict, reason, run.shapes, (draw,), difference=found)
    run.draws.append(draw)
    run.ran.append((wanted, have))
    run.loops.append(tuple(loops.proved))
    run.layers_made.append({} if lemmas is None else lemmas.made())
    run.known = run.known or ({} if lemmas is None else lemmas.proved)
    if lemmas is not None:
        lemmas.forget()
    return None


_UNDIVIDED = "not where 1 / x is any function"
_ONLY_TRIED = "not with equal layers proved once"
_ROUNDED = "equal in real numbers but for what rounded constants change, by four units in their last place"
_DOUBT = "equal in {} draws, but not if floats had any other order: {}"
_ONLY_REALLY = "equal in real numbers as far as f64 shows, by laws of functions that the proof does not know"


def _disagreement(run: Run, draw: Draw, inputs: Sequence[Array], error: ShardcError) -> Proof:
    """Devices that should hold copies differ: really, or by laws that are not known here."""
    try:
        with real_copies():
            evaluate(run.shapes.local, replace(draw, budget=None), inputs)
    except ShardcError:
        return copies_differ(run, draw, error)
    return Proof(Verdict.NOT_PROVED, _ONLY_REALLY, run.shapes, (draw,))


def _proved(run: Run) -> Proof:
    missed = missed_of(run)
    doubt = run.doubts()
    if doubt is not None:
        return Proof(Verdict.NOT_PROVED, _DOUBT.format(len(run.draws), doubt), run.shapes)
    decisions, places = one_way(run.draws)
    return Proof(
        Verdict.PROVED if missed < MOST else Verdict.NOT_PROVED,
        "" if missed < MOST else _NO_BOUND.format(len(run.draws)),
        shapes=run.shapes,
        draws=tuple(run.draws),
        results=tuple(ran.arrays for ran, _ in run.ran),
        chance=missed,
        one_way=tuple(places),
        decisions=decisions,
        sampled=tuple(sampled(run.full)),
        again=tuple(run.again),
        taken=() if run.layers and run.layers.both_call else per_device_lines(run.full),
        loops=tuple(run.loops),
        plan=run.plan,
        more=run.more,
        layers=run.proved_layers(),
        layers_made=tuple(run.layers_made),
    )
