"""The proof of every compilation whose work is small: what `shardc prog.shard` says on standard error.

    proved: equal for all arguments where no denominator is zero; chance of a miss below 2e-15

It has two draws (three where integers are sampled, one to eight more where there are decisions), of the
per-device program as --emit local prints it. How much work that may be follows from the programs' sizes, so
that a proof takes at most about half as long as the compilation.
"""

from __future__ import annotations

from shardc.diagnostics import UNKNOWN, ShardcError
from shardc.graph import Graph
from shardc.proof.effort import FOUND, beyond
from shardc.proof.prove import Proof, Verdict, prove
from shardc.proof.report import lines

LIMIT = 1 << 22
"""Elements computed in a draw, at reduced sizes, up to which any program is proved without being asked."""

START, LEAST, EACH = 5 << 18, 1 << 18, 3 << 10
"""The work of a draw that is done for a command, which takes long to start, that which is always done within
a process, a tenth of a second, and how much more for each operation.
"""


def proof_of(whole: Graph, local: Graph, way_out: str, most: int, few: int | None = None) -> Proof:
    """What is proved. ShardcError where the programs differ; `way_out` says how to have them all the same.

    most: the work up to which they are proved. few: that of few of many equal layers, where it is known.
    """
    proof = prove(whole, local, most=most, few=few)
    if proof.verdict is Verdict.DIFFERS:
        raise _error(proof, way_out)
    return proof


def by_command(count: int) -> int:
    """The work of a draw that is done where a command compiles: all draws take half as long as its start and
    the operations of both programs, `count` together.
    """
    return min(LIMIT, START + EACH * count)


def in_process(count: int) -> int:
    """The work of a draw that is done where a compilation is a call of Python, not a command that starts
    first: all draws take as long as compiling about half so many operations.
    """
    return min(LIMIT, max(LEAST, EACH * count))


def too_many(count: int) -> str | None:
    """The line on a program of so many operations, where that alone says that it is not proved."""
    least = count * FOUND
    return f"not proved: {beyond(f'{least:,} elements or more', LIMIT)}" if least > LIMIT else None


def _error(proof: Proof, way_out: str) -> ShardcError:
    first, *path = lines(proof)
    loc = proof.difference.whole if proof.difference is not None else UNKNOWN
    hint = f"this is a fault of the compiler; {way_out} the program all the same"
    return ShardcError(f"the compiled program {first}", loc, "\n".join([*map(str.strip, path), hint]))
