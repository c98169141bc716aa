"""prove(whole, local): whether the per-device program equals the global one over exact arithmetic.

Both are evaluated at reduced shapes on a few draws. Results that differ in exact arithmetic are called
different only if their real values differ too; what is equal by laws that random functions do not have (exp(a
+ b) = exp(a) exp(b)) is not proved, and not refuted.

What reduces shapes, and then what evaluates, is imported for programs that come so far: compiling proves the
small ones, unasked.
"""

from __future__ import annotations

from msgspec.structs import replace

from shardc.diagnostics import ShardcError
from shardc.graph import Graph
from shardc.proof.comparable import comparable, incomparable
from shardc.proof.effort import operations
from shardc.proof.layers import Layers, layers
from shardc.proof.short import Large, check_few, check_least, limit_of
from shardc.proof.values import Beyond
from shardc.proof.verdict import Proof, Verdict


def prove(
    whole: Graph,
    local: Graph,
    seed: int = 1,
    most: int | None = None,
    *,
    manual: bool = False,
    few: int | None = None,
) -> Proof:
    """Compare the programs; both are to take and give the same global arrays.

    With `most` it is a short proof: of few draws, and of none where one of them is more work. few: the least
    work of them with few of many equal layers, where that is known.
    `manual`: a global program that is all per-device code is something to compare with, since the other was
    not made from it.
    """
    whole, local = comparable(whole), comparable(local)
    reason = incomparable(whole, local, manual)
    if reason:
        return Proof(Verdict.NOT_PROVED, reason)
    drawn = False
    try:
        if few is not None and most is not None:
            check_few(few, operations(whole), limit_of(whole, most))
        built = layers(whole, local)
        found = None if built is None else _by_layers(built, whole, seed, most)
        drawn = built is not None
        found = found or _attempt(whole, local, whole, seed, most)
        unlike = () if built is None else tuple(k for k in built.kinds.values() if k not in found.layers)
        return replace(found, in_full=unlike)
    except Large as error:
        return Proof(Verdict.NOT_PROVED, str(error), undrawn=not (drawn or error.drawn))
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
    from shardc.proof.both_call import both_call

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

    Raises Beyond, Large.
    """
    if most is not None:
        check_least(whole, local, full, built, limit_of(full, most))
    from shardc.proof.attempt import attempt

    return attempt(whole, local, full, seed, most, built)
