"""The built-in of an operation that names one: `language=` and `takes=` of its definition in shardc/ops.

cbrt = unary("stablehlo.cbrt", …, language="cbrt")      makes      cbrt(x)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from shardc.frontend.text.builtins.elementwise import float_together, no_order, numeric, truth
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Operand, Tensor
from shardc.graph.types import is_complex, is_inexact
from shardc.ops import OpDef, hlo
from shardc.ops.definition import Takes


@cache
def builtin_of(operation: OpDef) -> Callable[..., Tensor]:
    """The function of as many operands as the operation has: one or two, elementwise."""
    return _BY_OPERANDS[_operands(operation)](operation)


def _operands(operation: OpDef) -> int:
    assert operation.syntax is not None, f"{operation.name} has a built-in and no syntax"
    return len(operation.syntax.operands)


def _unary(operation: OpDef) -> Callable[[Emitter, Operand], Tensor]:
    def lower(e: Emitter, x: Operand) -> Tensor:
        return _build(e, operation, x)

    return lower


def _binary(operation: OpDef) -> Callable[[Emitter, Operand, Operand], Tensor]:
    def lower(e: Emitter, x: Operand, y: Operand) -> Tensor:
        return _build(e, operation, x, y)

    return lower


_BY_OPERANDS = {1: _unary, 2: _binary}


def _build(e: Emitter, operation: OpDef, *operands: Operand) -> Tensor:
    takes = operation.spelling.takes
    tensors = _TAKEN[takes](e, *operands)
    if operation in (hlo.maximum, hlo.minimum) and is_complex(tensors[0].dtype):
        raise no_order(e, tensors[0])
    if takes is Takes.ROUNDS and not is_inexact(tensors[0].dtype):
        return tensors[0]
    return e.op(operation.name, *tensors)


def _floats(e: Emitter, *operands: Operand) -> list[Tensor]:
    return [e.inexact(operands[0])] if len(operands) == 1 else float_together(e, *operands)


def _numbers(e: Emitter, *operands: Operand) -> list[Tensor]:
    return [numeric(e, tensor) for tensor in e.together(*operands)]


def _alike(e: Emitter, *operands: Operand) -> list[Tensor]:
    return e.together(*operands)


def _truths(e: Emitter, *operands: Operand) -> list[Tensor]:
    return e.together(*(truth(e, operand) for operand in operands))


_TAKEN: dict[Takes, Callable[..., list[Tensor]]] = {
    Takes.FLOATS: _floats,
    Takes.NUMBERS: _numbers,
    Takes.ROUNDS: _alike,
    Takes.ALIKE: _alike,
    Takes.TRUTHS: _truths,
}
"""What becomes of the operands before the operation is built."""
