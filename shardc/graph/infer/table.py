"""The table of all operations, and the two ways to use it: infer result types, or verify an operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shardc.graph.infer.call import Call, Rule, ShapeError, Types, types_text
from shardc.graph.infer.communication import COMMUNICATION
from shardc.graph.infer.contraction import CONTRACTION
from shardc.graph.infer.control import CONTROL
from shardc.graph.infer.elementwise import ELEMENTWISE
from shardc.graph.infer.indexing import INDEXING
from shardc.graph.infer.movement import MOVEMENT
from shardc.graph.infer.reduction import REDUCTION
from shardc.graph.infer.window import WINDOW
from shardc.graph.program import Op
from shardc.graph.types import TensorType

INFER: dict[str, Rule] = {
    **ELEMENTWISE,
    **MOVEMENT,
    **CONTRACTION,
    **REDUCTION,
    **WINDOW,
    **INDEXING,
    **CONTROL,
    **COMMUNICATION,
}


def infer(
    name: str,
    operand_types: Sequence[TensorType],
    attrs: Mapping[str, object],
    *,
    results: Sequence[TensorType] | None = None,
    region_results: Sequence[Sequence[TensorType]] = (),
) -> Types:
    """The result types of operation `name`.

    `results` are the types the program states: used where the operands cannot tell (reshape, convert,
    iota, …), checked everywhere else. `region_results` are, per region, the types it returns.
    Raises ShapeError, with the dimensions and sizes that don't fit.
    """
    if name not in INFER:
        raise ShapeError(f"{name} is no known operation")
    given = None if results is None else tuple(results)
    call = Call(name, tuple(operand_types), attrs, given, tuple(map(tuple, region_results)))
    types = INFER[name](call)
    if given is not None and given != types:
        raise call.error(f"gives {types_text(types)}, not {types_text(given)}")
    return types


def verify(op: Op) -> None:
    """Raise ShapeError unless operands, attributes and results fit; regions are not looked at."""
    infer(op.name, op.operands, op.attrs, results=op.results)
