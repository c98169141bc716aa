"""shardc.compile(…, prove=True): a compilation that is refused where the per-device program differs."""

from __future__ import annotations

from shardc.diagnostics import UNKNOWN, ShardcError, warn
from shardc.graph import Graph
from shardc.proof.prove import Verdict, prove
from shardc.proof.reading.readers import READ
from shardc.proof.reading.text import prove_text
from shardc.proof.report import lines


def demand(whole: Graph, local: Graph, text: str, target: str) -> None:
    """Prove the per-device program equal to the global one, and its text where that is read back.

    ShardcError where a text does not fit, and at the result that differs, with its first element that does
    and the operations back to the first wrong value. What is not proved is a warning, with the reason: it may
    be right.
    """
    proofs = {"the compiled program": prove(whole, local)}
    if target in READ:
        proofs[f"the emitted {READ[target]} text"] = prove_text(whole, text, target)
    for what, proof in proofs.items():
        said = lines(proof)
        if proof.fails:
            loc = proof.difference.whole if proof.difference is not None else UNKNOWN
            raise ShardcError(f"{what} {said[0]}", loc, "\n".join(map(str.strip, said[1:])) or None)
    for what, proof in proofs.items():
        if proof.verdict is Verdict.NOT_PROVED:
            warn(f"{what} is {lines(proof)[0]}")
            return
