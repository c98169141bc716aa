"""What a compilation is asked to prove of what it makes: all, what is small, or nothing.

    asked = ask(module, prove)                  before the module is compiled
    asked.answer(local, source, target)         a line on what came out; ShardcError where the programs differ

`prove` is that of shardc.compile, shardc.jit, shardc.from_jax and shardc.from_onnx; the command asks for what
is small.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp

from shardc.analysis.sizes import has_absolute
from shardc.diagnostics import UNKNOWN, ShardcError, collecting, warn
from shardc.dialects.nested import nested
from shardc.dialects.snapshot import snapshot
from shardc.graph import Graph
from shardc.proof import LARGE, VARIABLE, default
from shardc.proof.effort import operations
from shardc.proof.outlined import Outlined, outlined
from shardc.proof.prove import prove
from shardc.proof.report import brief, lines
from shardc.proof.short import least_of
from shardc.proof.verdict import Verdict
from shardc.rewrite.folding.weight import Weight
from shardc.rewrite.kept_program import Sought


class Asked(Struct, frozen=True):
    """The global program, as it was before it was compiled, and whether all is to be proved.

    seen: what was seen of it where it is not a graph yet, and `again` reads it. kept: what the cache folder
    has of the program. weight: the least work of a draw with few of many equal layers, for compiling to find.
    """

    whole: Graph | None = None
    said: str | None = None
    all: bool = False
    kept: Sought | None = None
    weight: Weight | None = None
    seen: Outlined | None = None
    again: Callable[[], ModuleOp] | None = None

    def answer(self, local: Graph, text: str, target: str, way_out: str | None = None) -> str | None:
        """What is claimed, in a line, or why nothing is; None if nothing was asked.

        way_out: how the command has the program without a proof; in Python an argument says so. Raises
        ShardcError where the programs differ.
        """
        if self.whole is None and self.seen is None:
            if self.kept is not None and self.said is not None:
                self.kept.remember(LARGE, self.said)
            return self.said
        whole, few = self.whole, self.weight and self.weight.found
        most = default.by_command if way_out else default.in_process
        proof = self.seen.too_large(local, few, most) if self.seen is not None else None
        if proof is None:
            whole = self._graph()
            if self.all:
                return demand(whole, local, text, target)
            count = operations(whole, local)
            proof = default.proof_of(whole, local, way_out or "prove=False gives", most(count), few)
        if self.kept is not None and proof.undrawn and not self._has_absolute(whole, local):
            self.kept.remember(LARGE, brief(proof))
        return brief(proof)

    def _graph(self) -> Graph:
        """The global program; reading it again has nothing to warn of that was not said."""
        if self.whole is not None:
            return self.whole
        assert self.again is not None
        with collecting():
            return snapshot(self.again()).graph

    def _has_absolute(self, whole: Graph | None, local: Graph) -> bool:
        """Whether there is an absolute value in one of the programs."""
        graphs = (local,) if whole is None else (whole, local)
        seen = whole is None and self.seen is not None and self.seen.absolute
        return seen or any(has_absolute(each.body) for graph in graphs for each in graph.functions.values())


def ask(
    module: ModuleOp,
    prove: bool | None,
    kept: Sought | None = None,
    again: Callable[[], ModuleOp] | None = None,
) -> Asked:
    """Keep a module of stage ir for a proof: of all, or with None of what is small, where VARIABLE allows.

    kept: what the cache folder has of the program, where a command asks; a program that is too large is so
    whatever numbers are in it. again: reads the module once more, where it need not be a graph before it is
    compiled.
    """
    if prove is False or (prove is None and os.environ.get(VARIABLE) == "off"):
        return Asked()
    known = kept.recall(LARGE) if kept is not None and prove is None else None
    if known is not None:
        return Asked(said=known)
    said = None if prove else default.too_many(len(nested([module])))
    weight = None if said or prove else Weight(least_of)
    seen = None if said or prove or again is None else outlined(module)
    whole = None if said or seen else snapshot(module).graph
    return Asked(whole, said, prove is True, kept, weight, seen, again)


def demand(whole: Graph, local: Graph, text: str, target: str) -> str:
    """Prove the per-device program equal to the global one, and its text where that is read back.

    ShardcError where a text does not fit, and at the result that differs, with its first element that does
    and the operations back to the first wrong value. What is not proved is a warning, with the reason: it may
    be right.
    """
    from shardc.proof.reading.readers import READ
    from shardc.proof.reading.text import prove_text

    first = prove(whole, local)
    proofs = {"the compiled program": first}
    if target in READ:
        by = local if first.verdict is Verdict.PROVED else None
        proofs[f"the emitted {READ[target]} text"] = prove_text(whole, text, target, by)
    for what, proof in proofs.items():
        said = lines(proof)
        if proof.fails:
            loc = proof.difference.whole if proof.difference is not None else UNKNOWN
            raise ShardcError(f"{what} {said[0]}", loc, "\n".join(map(str.strip, said[1:])) or None)
    for what, proof in proofs.items():
        if proof.verdict is Verdict.NOT_PROVED:
            warn(f"{what} is {lines(proof)[0]}")
            return brief(proof)
    return brief(next(iter(proofs.values())))
