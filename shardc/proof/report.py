"""A proof in words: one line, and what a difference is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardc.proof.verdict import Proof, Verdict

if TYPE_CHECKING:
    from shardc.proof.failure import Difference

ASSUMED = {
    "reals": "floats are real numbers (rounding and overflow are not looked at)",
    "functions": "functions such as exp are random functions",
    "alike": "elements that no constant tells apart are all alike",
    "meanings": "operations mean what shardc.proof says",
}
"""The assumptions of every proof, by the names that docs/proof.md has."""

LAW = "exp(a + b) = exp(a) exp(b)"


def lines(proof: Proof) -> list[str]:
    """The report."""
    if proof.verdict is Verdict.PROVED:
        parts = (
            f"{_claim(proof)}{_taken(proof)}",
            f"{_sizes(proof)}{_loops(proof)}{_layers(proof)}",
            _draws(proof),
        )
        assumed = [*ASSUMED, *([LAW] if proof.law else [])]
        return [f"proved: {'; '.join(parts)}; assumed: {', '.join(assumed)}"]
    if proof.difference is not None:
        return [_headline(proof), *_difference(proof.difference)]
    return [_headline(proof)]


def brief(proof: Proof) -> str:
    """What is claimed, in a line."""
    if proof.verdict is Verdict.PROVED:
        return f"proved: {_claim(proof)}{_taken(proof)}; chance of a miss below {_bound(proof.chance)}"
    return _headline(proof)


def _headline(proof: Proof) -> str:
    if proof.verdict is Verdict.NOT_PROVED:
        return f"not proved: {proof.reason}"
    if not proof.draws:
        return f"DIFFERS from the global program{_because(proof)}"
    (draw,) = proof.draws
    return (
        f"DIFFERS from the global program (draw {draw.seed}, {draw.kind}){_because(proof)}; {_sizes(proof)}"
    )


def _because(proof: Proof) -> str:
    return f": {proof.reason}" if proof.reason else ""


def _claim(proof: Proof) -> str:
    equal = "equal to the per-device program" if proof.as_local else "equal"
    if proof.decisions == 0 and not proof.sampled:
        divided = any(draw.denominators for draw in proof.draws)
        return f"{equal} for all arguments{' where no denominator is zero' if divided else ''}"
    fell = [f"the {proof.decisions} decisions on data fall as they fell"] if proof.decisions else []
    drawn = [f"{', '.join(proof.sampled)} arguments are as drawn"] if proof.sampled else []
    text = f"{equal} wherever {' and '.join(fell + drawn)}"
    if proof.one_way:
        places = sorted(set(proof.one_way))
        text += f" ({len(proof.one_way)} only one way: {', '.join(places[:3])}"
        text += ", …)" if len(places) > 3 else ")"
    return text


def _taken(proof: Proof) -> str:
    lines = ", ".join(map(str, proof.taken))
    return f"; per-device code in line {lines} is compared with itself" if lines else ""


def _sizes(proof: Proof) -> str:
    shapes = proof.shapes
    if shapes is None or not (shapes.units or shapes.axes or shapes.axes_kept):
        return "at full size"
    changes = [f"{old} -> {new}" for old, new in shapes.units]
    changes += [f"axis {name} {old} -> {new}" for name, old, new in shapes.axes]
    kept = shapes.kept if shapes.units or shapes.axes else ()
    tail = f", sizes kept for {', '.join(kept[:3])}" + (", …" if len(kept) > 3 else "") if kept else ""
    axes = "".join(f", axis {each}" for each in shapes.axes_kept)
    return (f"reduced {', '.join(changes)}" if changes else "at full size") + tail + axes


def _loops(proof: Proof) -> str:
    """; the loop in line 18 by induction (5 of 32 iterations)."""
    notes = {note.loop: note for notes in proof.loops for note in notes}
    found = [
        f"line {note.line} ({len(note.chosen) + 1} of {note.count} iterations)" for note in notes.values()
    ]
    if not found:
        return ""
    return f"; by induction the loop in {', '.join(found[:3])}" + (", …" if len(found) > 3 else "")


def _layers(proof: Proof) -> str:
    """; proved once: 31 layers of 93 operations at line 79; run in full: 4 layers of 9 …"""
    text = ""
    for what, layers in (("proved once", proof.layers), ("run in full", proof.in_full)):
        found = [f"{count} layers of {size} operations at line {line}" for count, size, line in layers]
        if found:
            text += f"; {what}: {', '.join(found[:3])}" + (", …" if len(found) > 3 else "")
    return text


def _draws(proof: Proof) -> str:
    kinds = ", ".join(dict.fromkeys(draw.kind for draw in proof.draws))
    again = f", {len(proof.again)} drawn again" if proof.again else ""
    more = f", {proof.more} of them for the chance of a miss" if proof.more else ""
    return f"{len(proof.draws)} draws ({kinds}{again}{more}), chance of a miss below {_bound(proof.chance)}"


def _bound(chance: float) -> str:
    return f"{max(chance, 1e-30) * 1.05:.0e}" if chance < 1 else "1"


def _difference(found: Difference) -> list[str]:
    index = ", ".join(map(str, found.index))
    text = [
        f"    result {found.result}, element [{index}] of {list(found.shape)}: "
        f"{found.wanted:.6g} by the global program, {found.have:.6g} by the per-device one",
        f"    the global program makes it at {found.whole}",
    ]
    text += [
        f"    {'wrong' if place == 0 else 'from'}: {step.name} at {step.loc}"
        for place, step in enumerate(found.path)
    ]
    if found.there is not None:
        text.append(f"    there the global program has {found.there.name}")
    return text
