"""shardc.compile(…, prove=True): a compilation that is refused where the per-device program differs."""

from __future__ import annotations

from shardc.diagnostics import UNKNOWN, ShardcError, warn
from shardc.graph import Graph
from shardc.proof.prove import Proof, Verdict, prove
from shardc.proof.report import lines


def demand(whole: Graph, local: Graph) -> Proof:
    """Prove the per-device program equal to the global one.

    ShardcError at the result that differs, with its first element that does and the operations back to the
    first wrong value. What is not proved is a warning, with the reason: it may be right.
    """
    proof = prove(whole, local)
    said = lines(proof)
    if proof.verdict is Verdict.DIFFERS:
        loc = proof.difference.whole if proof.difference is not None else UNKNOWN
        raise ShardcError(f"the compiled program {said[0]}", loc, "\n".join(map(str.strip, said[1:])) or None)
    if proof.verdict is Verdict.NOT_PROVED:
        warn(said[0])
    return proof
