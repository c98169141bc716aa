"""The draws of one attempt at a proof, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from shardc.analysis.manual import per_device_lines
from shardc.diagnostics import ShardcError
from shardc.graph import Graph
from shardc.proof.drawing import (
    LAW,
    Doubt,
    Run,
    deciding_of,
    doubted,
    draw_more,
    draws_of,
    missed_of,
    real_deciding,
    wanted_of,
)
from shardc.proof.draws import ORDERLESS, Draw, one_way
from shardc.proof.effort import Budget
from shardc.proof.evaluate import evaluate, evaluate_both, note_exponents
from shardc.proof.exponents import has_exp
from shardc.proof.failure import difference
from shardc.proof.field import MOST
from shardc.proof.induction import Plan, Replan, in_full
from shardc.proof.kinds import KINDS, kinds_of, sampled
from shardc.proof.layers import Layers
from shardc.proof.lemmas import NoLemma
from shardc.proof.logarithms import with_logarithms
from shardc.proof.numbers import real_copies
from shardc.proof.reduced import Reduced
from shardc.proof.refuted import copies_differ, refuted
from shardc.proof.short import SHORT_TIMES
from shardc.proof.thresholds import thresholds
from shardc.proof.values import Beyond, DrawAgain
from shardc.proof.verdict import Proof, Verdict
from shardc.semantics.arrays import Array
from shardc.semantics.blocks import BlockError

TIMES, LEAST = 32, 1 << 20
"""All draws of a proof that is asked for may be so many times the work that one is taken for, or this."""

_NO_BOUND = "equal in {} draws, but degrees are too high for a bound on the chance of a miss"


def drawn(
    shapes: Reduced, full: Graph, seed: int, once: int, size: int, most: int | None, built: Layers | None
) -> Proof:
    """A proof of programs at reduced shapes. once: the work of a draw; size: its elements. Raises Beyond."""
    kinds = KINDS if most is None else kinds_of(full)
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
