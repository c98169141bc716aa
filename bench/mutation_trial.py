"""What finds the mutants (mutants.py) of one program: the type check, a comparison, and the proof.

`verdict` is what the two checks say: refused by the type check, wrong on the inputs of --run, equivalent
(right on all inputs that are tried), or missed. `proof` is what the proof says: it differs (or cannot run),
it is the same (proved, and right on all inputs), right (not proved, and right on all inputs), open (not
proved, and wrong), or MISSED: proved, and wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp

from bench.mutants import Mutant, mutants
from bench.suites import JUDGED, texts
from shardc.check.varying import check_graph
from shardc.cli.driver import load
from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.mlir import read
from shardc.graph import Graph
from shardc.interpret.arguments import random_inputs
from shardc.interpret.compare import compare
from shardc.interpret.distance import TOLERANCE, distance
from shardc.interpret.reference import GraphReference
from shardc.interpret.run import run
from shardc.passes.pipeline import run_to
from shardc.proof.prove import Verdict as Proved
from shardc.proof.prove import prove
from shardc.semantics.blocks import BlockError

ROOT = Path(__file__).parents[1]
SEEDS = (1, 2, 3, 4)
"""Of the further inputs that decide what is equivalent; --run has seed 0."""

Verdict = str
TYPE, NUMBERS, EQUIVALENT, MISSED = "type check", "comparison", "equivalent", "missed"


PROOF_FOUND, PROOF_SAME, PROOF_RIGHT, PROOF_OPEN, PROOF_MISSED = "differs", "same", "right", "open", "MISSED"


class Found(Struct, frozen=True):
    """A mutant: what it is, whether a reduction is lost in it, and what the checks and the proof say."""

    mutant: str
    lost: bool
    verdict: Verdict
    proof: Verdict = ""


class Tried(Struct):
    """One program: what the proof says of it, its seconds of processor time, and all its mutants."""

    proved: str = ""
    compiling: float = 0.0
    proving: float = 0.0
    found: list[Found] = []

    def count(self, *verdicts: Verdict) -> int:
        return sum(each.verdict in verdicts for each in self.found)

    def count_proofs(self, verdict: Verdict) -> int:
        return sum(each.proof == verdict for each in self.found)

    @property
    def lost_reductions(self) -> list[Verdict]:
        """What found the reductions that were dropped or moved, where that changes anything."""
        return [each.verdict for each in self.found if each.lost and each.verdict != EQUIVALENT]


def compiled(module: ModuleOp) -> tuple[Graph, Graph]:
    """The single-device program and the per-device one."""
    with collecting():
        whole = snapshot(module.clone()).graph
        run_to(make_context(), module, "local")
        return whole, snapshot(module).graph


def attempt(
    whole: Graph,
    local: Graph,
    proofs: bool = False,
    made: Callable[[Graph], Iterable[Mutant]] = mutants,
) -> Tried:
    """Try every mutant of a per-device program that is `made`; with `proofs` all of them are proved, too."""
    tried, reference = Tried(), _Reference(whole, local)
    for mutant in made(local):
        with mutant.applied():
            proof = _proof(reference) if proofs else ""
            tried.found.append(Found(str(mutant), mutant.loses_reduction, _verdict(reference), proof))
    return tried


def trial(name: str) -> Tried:
    """A program by its name: compiled, proved, and all its mutants tried."""
    start = time.process_time()
    whole, local = compiled(programs()[name]())
    between = time.process_time()
    proof = prove(whole, local)
    end = time.process_time()
    tried = attempt(whole, local, proofs=True)
    tried.proved = f"{proof.verdict.value}: {proof.reason}" if proof.reason else proof.verdict.value
    tried.compiling, tried.proving = between - start, end - between
    return tried


class _Reference(Struct):
    """The results that are right, by the seed of the inputs."""

    whole: Graph
    local: Graph
    wanted: dict[int, tuple[list[np.ndarray], list[np.ndarray]]] = {}

    def differs(self, seed: int) -> bool:
        """Whether the per-device program as it is now is wrong on these inputs, or its devices disagree.

        What is near enough in the program's own dtypes is compared as --run does it, in f64 too.
        """
        if seed not in self.wanted:
            inputs = random_inputs(self.whole.types(self.whole.main.body.args), seed)
            self.wanted[seed] = inputs, run(self.whole, inputs)
        inputs, wanted = self.wanted[seed]
        try:
            got = run(self.local, inputs)
        except (ShardcError, BlockError):
            return True
        dtypes = [self.whole.type(value).dtype for value in self.whole.main.body.results]
        far = any(
            distance(want, have) > TOLERANCE.get(dtype, 0)
            for want, have, dtype in zip(wanted, got, dtypes, strict=True)
        )
        return far or not all(
            found.same for found in compare(GraphReference(self.whole), self.local, inputs, got, in_f64=True)
        )


def _verdict(reference: _Reference) -> Verdict:
    try:
        with collecting():
            check_graph(reference.local)
    except ShardcError:
        return TYPE
    if reference.differs(0):
        return NUMBERS
    return MISSED if any(map(reference.differs, SEEDS)) else EQUIVALENT


def _proof(reference: _Reference) -> Verdict:
    try:
        with collecting():
            said = prove(reference.whole, reference.local, manual=True).verdict
    except ShardcError:
        return PROOF_FOUND
    if said is Proved.DIFFERS:
        return PROOF_FOUND
    wrong = any(map(reference.differs, (0, *SEEDS)))
    if said is Proved.PROVED:
        return PROOF_MISSED if wrong else PROOF_SAME
    return PROOF_OPEN if wrong else PROOF_RIGHT


def programs() -> dict[str, Callable[[], ModuleOp]]:
    """Name -> what reads the program, as a module of stage ir."""
    found: dict[str, Callable[[], ModuleOp]] = {}
    for path in sorted([*ROOT.glob("examples/*/*.shard"), *ROOT.glob("tests/e2e/programs/*.shard")]):
        name = path.stem if path.stem not in found else f"{path.stem}_2"
        found[name] = lambda path=path: load(str(path), {}, None)
    for name, text in texts(JUDGED):
        found[name] = lambda name=name, text=text: read(text(), f"{name}.mlir")
    return found
