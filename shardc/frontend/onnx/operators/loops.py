"""Loops whose bodies are built by functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shardc.frontend.onnx.operators.maths import add, compare
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType
from shardc.ops import hlo

COUNTER = TensorType((), "i32")


def counted(
    e: Emitter, turns: int, start: Sequence[Tensor], body: Callable[[Tensor, list[Tensor]], Sequence[Tensor]]
) -> list[Tensor]:
    """values = body(i, values) for i below `turns`; the last values."""

    def condition(counter: Tensor, *_: Tensor) -> list[Tensor]:
        return [compare(e, "LT", counter, turns)]

    def turn(counter: Tensor, *values: Tensor) -> list[Tensor]:
        return [add(e, counter, 1), *body(counter, list(values))]

    return loop(e, [e.splat(0, COUNTER), *start], condition, turn)[1:]


def loop(
    e: Emitter,
    start: Sequence[Tensor],
    condition: Callable[..., list[Tensor]],
    body: Callable[..., list[Tensor]],
) -> list[Tensor]:
    """While the condition holds for the values, values = body(*values)."""
    types = [tensor.type for tensor in start]
    regions = [(types, condition), (types, body)]
    return e.ops(hlo.while_.name, *start, results=types, regions=regions, weak=False)
