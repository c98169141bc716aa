"""The proof of every compilation whose work is small: what `shardc prog.shard` says on standard error.

    proved: equal for all arguments where no denominator is zero; chance of a miss below 2e-15

It has two draws (three where integers are sampled, one to eight more where there are decisions), of the
per-device program as --emit local prints it. At LIMIT a proof takes about half as long as the command without
it.
"""

from __future__ import annotations

from shardc.diagnostics import UNKNOWN, ShardcError
from shardc.graph import Graph, walk
from shardc.proof.effort import beyond
from shardc.proof.prove import Proof, Verdict, prove
from shardc.proof.report import brief, lines

LIMIT = 1 << 22
"""Elements computed, at reduced sizes, up to which a program is proved unless it is told otherwise."""

FOUND = 100
"""An operation that is not run, but is found to be one of equal layers, takes as long as so many elements."""

LEAST, EACH = 1 << 18, 1 << 12
"""Within a process: the work that is always done, a tenth of a second, and how much for each operation."""


def verdict(whole: Graph, local: Graph, way_out: str, most: int) -> str:
    """One line. ShardcError where the programs differ; `way_out` says how to have them all the same.

    most: the work up to which they are proved.
    """
    proof = prove(whole, local, most=most)
    if proof.verdict is Verdict.DIFFERS:
        raise _error(proof, way_out)
    return brief(proof)


def in_process(whole: Graph, local: Graph) -> int:
    """The work that is done where a compilation is a call of Python, not a command that starts first: as long
    as compiling about half so many operations takes.
    """
    functions = [function for graph in (whole, local) for function in graph.functions.values()]
    operations = sum(1 for function in functions for _ in walk(function.body))
    return min(LIMIT, max(LEAST, EACH * operations))


def too_many(operations: int) -> str | None:
    """The line on a program of so many operations, where that alone says that it is not proved."""
    least = operations * FOUND
    return f"not proved: {beyond(f'{least:,} elements or more', LIMIT)}" if least > LIMIT else None


def _error(proof: Proof, way_out: str) -> ShardcError:
    first, *path = lines(proof)
    loc = proof.difference.whole if proof.difference is not None else UNKNOWN
    hint = f"this is a fault of the compiler; {way_out} the program all the same"
    return ShardcError(f"the compiled program {first}", loc, "\n".join([*map(str.strip, path), hint]))
