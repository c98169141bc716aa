"""shardc-check: run a proof again.

    shardc prog.shard --prove proof.json
    shardc prog.shard --emit ir -o whole.mlir;  shardc prog.shard --emit local -o local.mlir
    shardc-check whole.mlir local.mlir proof.json

The second program may be the emitted Python file, which is read back. Reads both programs and the
certificate, reduces the shapes, runs the draws that the certificate names on both, and demands equal results
and the certificate's own bytes. It imports the readers and the operations' exact meanings, neither planning
nor passes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from shardc.diagnostics import ShardcError
from shardc.dialects.snapshot import snapshot
from shardc.frontend.mlir import read
from shardc.graph import Graph
from shardc.proof.both_call import both_call, lemmas_of
from shardc.proof.certificate import LOCAL, Facts, entry, text_of
from shardc.proof.comparable import comparable
from shardc.proof.degrees import Degrees, chance
from shardc.proof.draws import ALL, THRESHOLDS, Draw, one_way
from shardc.proof.evaluate import Ran, evaluate_both, note_exponents
from shardc.proof.field import MOST
from shardc.proof.induction import Note, Plan, Replan
from shardc.proof.layers import layers
from shardc.proof.lemmas import Lemma, Lemmas, NoLemma
from shardc.proof.logarithms import with_logarithms
from shardc.proof.reading.readers import reader
from shardc.proof.reduced import Reduced, reduced
from shardc.proof.thresholds import Thresholds, thresholds
from shardc.proof.values import Beyond, DrawAgain, Unfit
from shardc.proof.values import Refused as RefusedText
from shardc.semantics.arrays import Array

MOST_DRAWS = 100


class Refused(Exception):
    """The certificate does not hold."""


class _Replay(Struct, frozen=True):
    """A draw, what both programs gave, and the loops that were taken by induction."""

    draw: Draw
    whole: Ran
    local: Ran
    loops: Sequence[Note]
    layers: Mapping[int, Sequence[Array]]


def check(whole: str, local: str, claimed: str, reads: str = LOCAL) -> Facts:
    """Replay the proof of two programs from their texts; `reads`: what the second is, local or a target.

    Raises Refused.
    """
    entries, at, between = _entries(claimed, reads)
    if reads == LOCAL and between not in ("", local):
        raise Refused("the local program in the certificate is another one")
    first = snapshot(read(whole, "whole")).graph
    graphs = [first, _program(local, first, reads)]
    as_local = reads != LOCAL and entries[at].get("equal_to") == "local"
    if as_local:
        if not between:
            raise Refused("the certificate lacks the local program")
        check(whole, between, claimed)
        graphs[0] = _program(between, first, LOCAL)
    graphs = list(map(comparable, graphs))
    plan, law = _plan(entries[at]), entries[at].get("law_of_exp") is True
    built = None if plan.layers is None else (both_call if as_local else layers)(*graphs)
    pair = (graphs[0], graphs[1]) if built is None else (built.whole, built.local)
    shapes = reduced(*pair, short=bool(entries[at].get("shorter")))
    shapes = with_logarithms(shapes) if law else shapes
    replays, known = list[_Replay](), dict[int, Lemma]()
    for draw in _draws(entries[at], thresholds(shapes.whole, shapes.local)):
        lemmas = lemmas_of(built, draw, frozenset(plan.layers or ()), known)
        replays.append(_replay(shapes, graphs[0], draw, plan, law, lemmas))
        known = known or (lemmas.proved if lemmas else {})
    facts = _facts(shapes, replays, plan, law, as_local)
    entries[at] = entry(facts, (between if as_local else whole, local), reads)
    if text_of(entries, between or None) != claimed:
        raise Refused("the certificate is not that of these programs")
    if facts.chance > MOST:
        raise Refused("the chance of a miss is too high")
    return facts


def _program(text: str, whole: Graph, reads: str) -> Graph:
    if reads == LOCAL:
        return snapshot(read(text, "local")).graph
    try:
        return reader(reads)(text, whole)
    except (Beyond, Unfit, RefusedText, SyntaxError) as error:
        raise Refused(f"the emitted text: {error}") from None


def _entries(claimed: str, reads: str) -> tuple[list[Any], int, str]:
    """The proofs of a certificate, which one is that of a program read so, and the local program in it."""
    try:
        document: Any = json.loads(claimed)
        entries: list[Any] = list(document["proofs"])
        at = [each["reads"] for each in entries].index(reads)
        return entries, at, str(document["local"] or "")
    except (ValueError, KeyError, TypeError):
        raise Refused(
            f"the certificate cannot be read, or has no proof of a program that is {reads}"
        ) from None


def _draws(claimed: Any, near: Thresholds) -> list[Draw]:
    try:
        found = [Draw(draw["seed"], draw["kind"], draw["divides"], near) for draw in claimed["draws"]]
    except (ValueError, KeyError, TypeError):
        raise Refused("the certificate cannot be read") from None
    if not all(map(_is_draw, found)) or (
        not near.intervals and any(draw.kind == THRESHOLDS for draw in found)
    ):
        raise Refused("the certificate has draws that there are not")
    if not 0 < len(found) <= MOST_DRAWS or len({draw.seed for draw in found}) < len(found):
        raise Refused("the certificate has no draws, or one twice, or too many")
    return found


def _is_draw(draw: Draw) -> bool:
    """Whether there is such a draw: what a certificate says may be anything."""
    kinds = (type(draw.seed), type(draw.kind), type(draw.divides))
    return kinds == (int, str, bool) and draw.seed >= 0 and draw.kind in ALL


def _plan(claimed: Any) -> Plan:
    """What is done with the loops. Any plan proves what it proves."""
    try:
        loops: Any = claimed["loops"]
        full: Any = claimed["layers_in_full"]
        plan = Plan(set(loops["in_full"]), {loop: set(also) for loop, also in loops["also"]})
        plan.layers = None if full is None else set(full)
    except (ValueError, KeyError, TypeError):
        raise Refused("the certificate cannot be read") from None
    numbers = [number for each in (plan.in_full, plan.layers or (), *plan.also.values()) for number in each]
    if any(type(number) is not int for number in numbers):
        raise Refused("the certificate has iterations that there are not")
    return plan


def _replay(
    shapes: Reduced, full: Graph, draw: Draw, plan: Plan, law: bool, lemmas: Lemmas | None
) -> _Replay:
    inputs = draw.inputs(shapes.whole, full)
    try:
        if law:
            note_exponents(shapes.whole, shapes.local, draw, full, plan)
        wanted, have, loops = evaluate_both(shapes.whole, shapes.local, draw, inputs, plan, lemmas)
    except (Replan, NoLemma):
        raise Refused(f"draw {draw.seed}: a loop or a layer is not proved by induction") from None
    except (DrawAgain, Beyond, ShardcError) as error:
        raise Refused(f"draw {draw.seed}: {error}") from None
    number = wanted.differs(have)
    if number is not None:
        raise Refused(f"draw {draw.seed}: result {number} differs")
    return _Replay(draw, wanted, have, loops.proved, lemmas.made() if lemmas else {})


def _facts(shapes: Reduced, replays: Sequence[_Replay], plan: Plan, law: bool, as_local: bool) -> Facts:
    draws = [replay.draw for replay in replays]
    uniform = [draw for draw in draws if draw.uniform]
    divides = any(draw.divides for draw in uniform)
    last = replays[-1]
    degrees = [
        Degrees(graph, ran.trips, divides, ran.proved)
        for graph, ran in ((shapes.whole, last.whole), (shapes.local, last.local))
    ]
    missed = chance(degrees, uniform, law)
    decisions, places = one_way(draws)
    results = [list(replay.whole.arrays()) for replay in replays]
    loops, made = [replay.loops for replay in replays], [replay.layers for replay in replays]
    return Facts(shapes, draws, results, missed, decisions, len(places), loops, plan, law, made, as_local)


def main(argv: Sequence[str] | None = None) -> int:
    """Check a certificate; 1 if it does not hold."""
    parser = argparse.ArgumentParser(prog="shardc-check", description="Runs a proof of shardc --prove again.")
    for name, help in (
        ("whole", "the global program, as --emit ir prints it"),
        ("local", "the per-device program, as --emit local prints it; or the emitted .py file"),
        ("certificate", "what --prove FILE wrote"),
    ):
        parser.add_argument(name, metavar=f"{name.upper()}", help=help)
    options = parser.parse_args(argv)
    try:
        texts = [_text(cast(str, path)) for path in (options.whole, options.local, options.certificate)]
        facts = check(*texts, reads=_reads(cast(str, options.local), texts[1]))
    except Refused as error:
        print(f"shardc-check: {error}", file=sys.stderr)
        return 1
    except ShardcError as error:
        print(error.diagnostic, file=sys.stderr)
        return 1
    print(f"holds: {len(facts.draws)} draws, chance of a miss below {facts.chance * 1.05:.0e}")
    return 0


def _reads(path: str, text: str) -> str:
    """What the second program is: Python that imports JAX or does not, or the IR."""
    if not path.endswith(".py"):
        return LOCAL
    if "\nAXES = " in text:
        return "mpi"
    return "jax" if "\nimport jax\n" in text else "numpy"


def _text(path: str) -> str:
    """A file's text as it is, ends of lines too: a byte that is another one is another text."""
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        raise Refused(f"cannot read {path}") from None
    if "\0" in text:
        raise Refused(f"{path} is no text")
    return text


if __name__ == "__main__":
    sys.exit(main())
