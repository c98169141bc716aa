"""vjp of a program: forwards once, and back for each cotangent; jvp: forwards with tangents.

results, pull = vjp(program, writer, args, wanted)
gradients = pull(cotangents)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shardc.gradients import branches, calls, loops, manual
from shardc.gradients.along import Along
from shardc.gradients.backward import Backward
from shardc.gradients.backward import Special as BackwardSpecial
from shardc.gradients.cotangents import Pending
from shardc.gradients.forward import Forward
from shardc.gradients.forward import Special as ForwardSpecial
from shardc.gradients.program import Program
from shardc.gradients.recording import Writer
from shardc.gradients.values import Values
from shardc.ops import func, hlo, sdy

FORWARD: Mapping[str, ForwardSpecial] = {
    func.call.name: calls.forward,
    hlo.case.name: branches.forward,
    hlo.if_.name: branches.forward,
    hlo.while_.name: loops.forward,
    sdy.manual_computation.name: manual.forward,
}
BACKWARD: Mapping[str, BackwardSpecial] = {
    func.call.name: calls.backward,
    hlo.case.name: branches.backward,
    hlo.if_.name: branches.backward,
    hlo.while_.name: loops.backward,
    sdy.manual_computation.name: manual.backward,
}

Pull = Callable[[Sequence[Any]], list[Any]]
"""The cotangents of the results -> those of the wanted arguments; None for zero."""


def vjp(
    program: Program, writer: Writer[Any], args: Sequence[Any], wanted: Sequence[int]
) -> tuple[list[Any], Pull]:
    """Build the function for these arguments; its results, and what takes cotangents back to the `wanted`
    arguments. Raises ShardcError at an operation that has no derivative.
    """
    region = program.region
    prepare(program, wanted)
    known = dict(zip(region.args, args, strict=True))
    results = run_forward(program, writer, known)

    def pull(cotangents: Sequence[Any]) -> list[Any]:
        back = run_back(program, writer, known, cotangents, None)
        return [back.cotangents.take(region.args[i]) for i in wanted]

    return results, pull


def jvp(
    program: Program, writer: Writer[Any], args: Sequence[Any], tangents: Mapping[int, Any]
) -> tuple[list[Any], list[Any]]:
    """Build the function with the tangents of some arguments, by position; its results, and theirs."""
    region = program.region
    prepare(program, sorted(tangents))
    known = dict(zip(region.args, args, strict=True))
    own = {region.args[i]: tangent for i, tangent in tangents.items()}
    run = Along(program, writer)
    run.region(region, known, own)
    return [known[v] for v in region.results], [run.tangent(v, own) for v in region.results]


def prepare(program: Program, wanted: Sequence[int]) -> None:
    """What depends on the wanted arguments, and how operations run backwards."""
    program.activate([program.region.args[i] for i in wanted])
    program.backward, program.forward = BACKWARD, FORWARD


def run_forward(program: Program, writer: Writer[Any], known: dict[int, Any]) -> list[Any]:
    """Build the program, and store what the backward pass needs."""
    return Forward(program, writer, FORWARD).region(program.region, known)


def run_back(
    program: Program,
    writer: Writer[Any],
    known: Mapping[int, Any],
    cotangents: Sequence[Any],
    over: Sequence[Pending] | None,
) -> Backward:
    """The backward pass, from cotangents that differ between devices along the axes `over`."""
    back = Backward(program, writer, Values(program, writer, program.region, known), program.backward)
    back.seed(program.region.results, cotangents, over)
    back.region(program.region)
    return back
