"""The proof of every compilation whose work is small: what `shardc prog.shard` says on standard error.

    proved: equal for all arguments where no denominator is zero; chance of a miss below 2e-15

It has two draws (three where integers are sampled, one more where there are decisions), of the per-device
program as --emit local prints it. At LIMIT a proof takes about half as long as the command without it.
"""

from __future__ import annotations

from functools import partial

from shardc.analysis.loops import Constants, counted
from shardc.diagnostics import UNKNOWN, ShardcError
from shardc.graph import Graph, Node, Region, walk
from shardc.ops import Trait, func, has, hlo, sdy
from shardc.proof.prove import Proof, Verdict, prove
from shardc.proof.report import brief, lines

LIMIT = 1 << 22
"""Elements computed, at reduced sizes, up to which a program is proved unless it is told otherwise."""

OPERATION, APART = 1000, 4
"""An operation takes as long as so many elements; so many devices compute it apart, others share it."""

LEAST, EACH = 1 << 18, 1 << 12
"""Within a process: the work that is always done, a tenth of a second, and how much for each operation."""

TRIPS, SORT = 64, 2048
"""How often a loop is taken to run that does not count, and what an element of a sort is taken for."""


def verdict(whole: Graph, local: Graph, way_out: str, most: int) -> str:
    """One line. ShardcError where the programs differ; `way_out` says how to have them all the same.

    most: the work up to which they are proved.
    """
    proof = prove(whole, local, beyond=partial(_large, most))
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
    least = operations * OPERATION
    return f"not proved: {_beyond(f'{least:,} elements or more', LIMIT)}" if least > LIMIT else None


def _error(proof: Proof, way_out: str) -> ShardcError:
    first, *path = lines(proof)
    loc = proof.difference.whole if proof.difference is not None else UNKNOWN
    hint = f"this is a fault of the compiler; {way_out} the program all the same"
    return ShardcError(f"the compiled program {first}", loc, "\n".join([*map(str.strip, path), hint]))


def _large(most: int, whole: Graph, local: Graph) -> str | None:
    """Why programs are not proved without being asked for, if they are not."""
    total = effort(whole) + effort(local)
    return None if total <= most else _beyond(f"{total:,} elements", most)


def _beyond(size: str, most: int) -> str:
    return f"its work is that of {size}, and up to {most:,} are proved unasked"


def effort(graph: Graph) -> int:
    """The elements that a program computes on all devices, and what its operations take besides."""
    devices = max((mesh.size for mesh in graph.meshes.values()), default=1)
    constants = Constants(graph)

    def of_region(region: Region, on: int) -> int:
        return sum(of_node(node, on) for node in region.nodes)

    def of_node(node: Node, on: int) -> int:
        if node.name == func.call.name:
            return of_region(graph.functions[str(node.attrs["callee"])].body, on)
        if node.name == hlo.while_.name:
            counts = counted(node, constants)
            return (TRIPS if counts is None else counts.trips) * of_region(node.regions[1], on)
        inside = devices if node.name == sdy.manual_computation.name else on
        each = sum(graph.type(value).size for value in node.results)
        own = on * each * (SORT if node.name == hlo.sort.name else 1) + OPERATION * min(on, APART)
        return own + sum(of_region(r, inside) for r in node.regions if has(node.name, Trait.REGION))

    return of_region(graph.main.body, 1)
