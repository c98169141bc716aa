"""Proofs as a file: what shardc-check needs to run them again.

There is a proof of the per-device program that --emit local prints, and one of the emitted Python where that
is read back. Everything in a proof follows from its two programs and the draws' seeds, so the checker makes
it anew and compares. Nothing in it depends on lines of the source.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256

from msgspec import Struct

from shardc.graph import Graph
from shardc.proof.draws import Draw
from shardc.proof.induction import Note, Plan
from shardc.proof.reduced import Reduced
from shardc.proof.report import ASSUMED
from shardc.proof.values import parts
from shardc.proof.verdict import Proof
from shardc.semantics.arrays import Array

FORMAT = 6
LOCAL = "local"
"""How a program is read that --emit local prints."""


class Facts(Struct, frozen=True):
    """What a certificate states."""

    shapes: Reduced
    draws: Sequence[Draw]
    results: Sequence[Sequence[Array]]
    chance: float
    decisions: int
    one_way: int
    loops: Sequence[Sequence[Note]]
    plan: Plan
    law: bool = False
    layers: Sequence[Mapping[int, Sequence[Array]]] = ()
    as_local: bool = False


def certificate(*proofs: tuple[Proof, Sequence[str], str]) -> str:
    """The certificate of proofs: each with the texts of its programs and how the second is read (LOCAL, or a
    target). The first is the global one; or the local one, which stands in the certificate then.
    """
    entries = [entry(_facts(proof), texts, reads) for proof, texts, reads in proofs]
    return text_of(entries, next((texts[0] for proof, texts, _ in proofs if proof.as_local), None))


def _facts(proof: Proof) -> Facts:
    assert proof.shapes is not None and proof.plan is not None
    return Facts(
        proof.shapes,
        proof.draws,
        [list(results()) for results in proof.results],
        proof.chance,
        proof.decisions,
        len(proof.one_way),
        proof.loops,
        proof.plan,
        proof.law,
        proof.layers_made,
        proof.as_local,
    )


def text_of(entries: Sequence[object], local: str | None) -> str:
    """A certificate's bytes; the digest is that of the entries. local: the program that an emitted text was
    proved equal to, instead of the global one.
    """
    document = {
        "format": FORMAT,
        "local": local,
        "proofs": entries,
        "digest": sha256(json.dumps(entries).encode()).hexdigest(),
    }
    return json.dumps(document, indent=1) + "\n"


def entry(facts: Facts, texts: Sequence[str], reads: str) -> dict[str, object]:
    """A proof as its certificate has it."""
    return {
        "reads": reads,
        "law_of_exp": facts.law,
        "equal_to": "local" if facts.as_local else "whole",
        "programs": [sha256(text.encode()).hexdigest() for text in texts],
        "units": [list(unit) for unit in facts.shapes.units],
        "axes": [list(axis) for axis in facts.shapes.axes],
        "shorter": [list(axis) for axis in facts.shapes.short],
        "shapes": [_shapes(graph) for graph in (facts.shapes.whole, facts.shapes.local)],
        "loops": {
            "in_full": sorted(facts.plan.in_full),
            "also": [[loop, sorted(also)] for loop, also in sorted(facts.plan.also.items())],
        },
        "layers_in_full": None if facts.plan.layers is None else sorted(facts.plan.layers),
        "draws": [
            {
                "seed": draw.seed,
                "kind": draw.kind,
                "divides": draw.divides,
                "hashes": sum(sites.total() for sites in draw.hashed.values()),
                "loops": [_loop(note) for note in loops],
                "layers": [[kind, *map(digest, arrays)] for kind, arrays in sorted(layers.items())],
                "results": [digest(array) for array in results],
            }
            for draw, results, loops, layers in zip(
                facts.draws, facts.results, facts.loops, facts.layers, strict=True
            )
        ],
        "chance": facts.chance,
        "decisions": facts.decisions,
        "one_way": facts.one_way,
        "assumed": ASSUMED,
    }


def _loop(note: Note) -> dict[str, object]:
    """A run of a loop: which one, the iterations that were proved, and what came out of each."""
    return {
        "loop": note.loop,
        "count": note.count,
        "proved": list(note.chosen),
        "results": [digest(array) for arrays in (note.first, *note.after) for array in arrays],
    }


def digest(array: Array) -> str:
    """A hash of an array's elements; of exact ones their residues, of complex ones those of both parts."""
    made_of = [part["residue"] for part in parts(array)] or [array]
    shape = repr((array.shape, made_of[0].dtype.str)).encode()
    return sha256(shape + b"".join(elements.tobytes() for elements in made_of)).hexdigest()


def _shapes(graph: Graph) -> list[str]:
    return [str(graph.type(value)) for value in graph.main.body.args]
