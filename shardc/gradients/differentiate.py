"""vjp of a program: forwards once, and back for each cotangent; jvp: forwards with tangents.

results, pull = vjp(program, writer, args, wanted)
gradients = pull(cotangents)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from shardc.gradients import branches, calls, loops, manual
from shardc.gradients.along import Along
from shardc.gradients.backward import Backward
from shardc.gradients.backward import Special as BackwardSpecial
from shardc.gradients.forward import Forward
from shardc.gradients.forward import Special as ForwardSpecial
from shardc.gradients.program import Program
from shardc.gradients.recording import Recorder, Writer
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


class Pull(Struct, frozen=True, dict=True):
    """What takes the cotangents of the results to those of the wanted arguments, None for zero."""

    program: Program
    writer: Writer[Any]
    known: Mapping[int, Any]
    wanted: Sequence[int]

    def __call__(self, cotangents: Sequence[Any], residuals: Sequence[Any] | None = None) -> list[Any]:
        """With `residuals`, in another body than that of the function: these are the values of it there."""
        program = self.program
        known = self.known if residuals is None else dict(zip(self._needed, residuals, strict=True))
        values = Values(program, self.writer, program.region, known)
        back = run_back(program, self.writer, values, cotangents)
        return [back.cotangents.take(program.region.args[i]) for i in self.wanted]

    @property
    def residuals(self) -> list[Any]:
        """The values of the function that the backward pass reads."""
        return [self.known[value] for value in self._needed]

    @cached_property
    def _needed(self) -> Sequence[int]:
        """Found by a rehearsal."""
        program, recorder, needed = self.program, Recorder(self.program.graph), list[int]()

        def lacking(value: int) -> int:
            needed.append(value)
            return recorder.fresh(program.graph.type(value))

        values = Values(program, recorder, program.region, {}, lacking=lacking)
        seeds = [recorder.fresh(program.graph.type(value)) for value in program.region.results]
        back = run_back(program, recorder, values, seeds)
        for i in self.wanted:
            back.cotangents.take(program.region.args[i])
        return needed


def vjp(
    program: Program, writer: Writer[Any], args: Sequence[Any], wanted: Sequence[int]
) -> tuple[list[Any], Pull]:
    """Build the function for these arguments; its results, and what takes cotangents back to the `wanted`
    arguments. Raises ShardcError at an operation that has no derivative.
    """
    prepare(program, wanted)
    known = dict(zip(program.region.args, args, strict=True))
    results = run_forward(program, writer, known)
    return results, Pull(program, writer, known, wanted)


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


def run_back(program: Program, writer: Writer[Any], values: Values, cotangents: Sequence[Any]) -> Backward:
    """The backward pass."""
    back = Backward(program, writer, values, program.backward)
    back.seed(program.region.results, cotangents)
    back.region(program.region)
    return back
