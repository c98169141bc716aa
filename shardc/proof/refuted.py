"""refuted(run): a difference in draws that exact arithmetic leaves open, run again as f64 computes.

These are draws in which the per-device program alone could not decide (lost.py), and those in which results
differ only since other numbers are cast to 8 bits (narrow.py), which are rounded then.
"""

from __future__ import annotations

from msgspec.structs import replace

from shardc.diagnostics import ShardcError
from shardc.proof.drawing import Run
from shardc.proof.draws import Draw
from shardc.proof.evaluate import evaluate
from shardc.proof.failure import difference
from shardc.proof.numbers import real_copies
from shardc.proof.values import Beyond, DrawAgain
from shardc.proof.verdict import Proof, Verdict
from shardc.semantics.blocks import BlockError

MOST_STUCK = 4
"""So many of the draws that were stuck are run again."""


def refuted(run: Run) -> Proof | None:
    """What shows that real values differ, if a stuck draw does; all loops and layers are run in full."""
    for stuck in run.stuck[:MOST_STUCK]:
        try:
            found = _again(
                run, Draw(stuck.seed, stuck.kind, near=run.near, budget=run.budget, as_f64=bool(stuck.known))
            )
        except DrawAgain:
            continue
        except Beyond:
            break
        if found is not None:
            return found
    return None


def _again(run: Run, draw: Draw) -> Proof | None:
    """The global program with the real order, which decides all there, then the other one. With casts to 8
    bits both are as in f64.
    """
    inputs = draw.inputs(run.shapes.whole, run.full)
    wanted = evaluate(run.shapes.whole, draw, inputs)
    draw = replace(draw, as_f64=True)
    with real_copies():
        try:
            have = evaluate(run.shapes.local, draw, inputs)
        except ShardcError as error:
            if not isinstance(error.__cause__, BlockError):
                raise
            return copies_differ(run, draw, error)
        differing = {n: (wanted.results[n][0], have.results[n][0]) for n in wanted.differing(have)}
        found = difference(run.shapes, draw, inputs, differing) if differing else None
    if found is None or not found.really:
        return None
    return Proof(Verdict.DIFFERS, "", run.shapes, (draw,), difference=found)


def copies_differ(run: Run, draw: Draw, error: ShardcError) -> Proof:
    """Devices that should hold copies hold other real values."""
    return Proof(Verdict.DIFFERS, str(error.diagnostic), run.shapes, (draw,))
