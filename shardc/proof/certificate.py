"""A proof as a file: what shardc-check needs to run it again.

Everything in it follows from the two programs and the draws' seeds, so the checker makes it anew and compares
the bytes. Nothing in it depends on lines of the source.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from shardc.graph import Graph
from shardc.proof.draws import Draw
from shardc.proof.prove import Proof
from shardc.proof.reduced import Reduced
from shardc.proof.report import ASSUMED
from shardc.proof.values import is_exact
from shardc.semantics.arrays import Array

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Facts:
    """What a certificate states."""

    shapes: Reduced
    draws: Sequence[Draw]
    results: Sequence[Sequence[Array]]
    chance: float
    decisions: int
    one_way: int


def certificate(proof: Proof, texts: Sequence[str]) -> str:
    """The certificate of a proof of the programs with these texts, the global one first."""
    assert proof.shapes is not None
    facts = Facts(proof.shapes, proof.draws, proof.results, proof.chance, proof.decisions, len(proof.one_way))
    return text_of(facts, texts)


def text_of(facts: Facts, texts: Sequence[str]) -> str:
    """A certificate's bytes."""
    document = {
        "format": FORMAT,
        "programs": [sha256(text.encode()).hexdigest() for text in texts],
        "units": [list(unit) for unit in facts.shapes.units],
        "shapes": [_shapes(graph) for graph in (facts.shapes.whole, facts.shapes.local)],
        "draws": [
            {
                "seed": draw.seed,
                "kind": draw.kind,
                "divides": draw.divides,
                "hashes": draw.hashes,
                "results": [digest(array) for array in results],
            }
            for draw, results in zip(facts.draws, facts.results, strict=True)
        ],
        "chance": facts.chance,
        "decisions": facts.decisions,
        "one_way": facts.one_way,
        "assumed": ASSUMED,
    }
    return json.dumps(document, indent=1) + "\n"


def digest(array: Array) -> str:
    """A hash of an array's elements; of exact ones their residues."""
    elements = array["residue"] if is_exact(array) else array
    return sha256(repr((array.shape, elements.dtype.str)).encode() + elements.tobytes()).hexdigest()


def _shapes(graph: Graph) -> list[str]:
    return [str(graph.type(value)) for value in graph.main.body.args]
