"""A Loop turn after turn: each knows its number, and the condition is known before the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import GraphProto

from shardc.frontend.onnx.errors import Dynamic, Invalid
from shardc.frontend.onnx.node import Node
from shardc.frontend.onnx.operators.loops import Once
from shardc.frontend.onnx.operators.maths import concat
from shardc.frontend.onnx.values import Array, Value
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType

MOST_TURNS = 1024

_WHY = "the number of turns depends on the value of"


def unrolled(
    n: Node, graph: GraphProto, start: Sequence[Value], turns: int | None, stacked: int
) -> list[Value | Tensor]:
    """The carried values after the last turn, then the stacked results.

    Dynamic if a condition is not known after its turn; Unsupported after MOST_TURNS.
    """
    true = n.bodies.known("", np.array(True))
    if turns is None and n.has(0):
        n.known(0, _WHY)
    holds = n.value(1) if n.has(1) else true
    carried, layers, count = list(start), [list[Value]() for _ in range(stacked)], 0
    while turns is None or count < turns:
        if holds.array is None:
            raise Dynamic(holds.name, _WHY)
        if not holds.array.reshape(-1)[0]:
            break
        if count == MOST_TURNS:
            raise n.unsupported(f"of more than {MOST_TURNS} turns that must be made one by one")
        number = n.bodies.known("", np.full(counter_shape(graph), count))
        holds, *results = n.bodies.body(graph, [number, true, *carried])
        carried = results[: len(start)]
        for layer, value in zip(layers, results[len(start) :], strict=True):
            layer.append(value)
        count += 1
    return (
        [*carried, *(_stacked(n, layer) for layer in layers)] if count else [*start, *_empty(n, graph, start)]
    )


def counter_shape(graph: GraphProto) -> tuple[int, ...]:
    """The shape of a body's first input: none, or one element."""
    if len(graph.input) < 2 or len(graph.output) < 1:
        raise Invalid(f"the body of a Loop has {len(graph.input)} inputs and {len(graph.output)} results")
    return tuple(1 for _ in graph.input[0].type.tensor_type.shape.dim)


def _stacked(n: Node, layer: Sequence[Value]) -> Value | Tensor:
    if len({value.type for value in layer}) > 1:
        raise Invalid("the results of a body differ in shape from turn to turn")
    arrays: list[Array] = [value.array for value in layer if value.array is not None]
    if len(arrays) == len(layer):
        return n.bodies.known("", np.stack(arrays))
    e = n.e
    return concat(e, [e.reshape(value.tensor(), (1, *value.type.shape)) for value in layer], 0)


def _empty(n: Node, graph: GraphProto, start: Sequence[Value]) -> list[Tensor]:
    """Stacks of no layers, of the types that a turn would give."""
    number = n.bodies.known("", np.zeros(counter_shape(graph), np.int64))
    true = n.bodies.known("", np.array(True))

    def turn(counter: Tensor, carried: list[Tensor]) -> list[Tensor]:
        return [value.tensor() for value in n.bodies.body(graph, [number, true, *start])[1 + len(start) :]]

    types = Once(n, [value.type for value in start], turn).types
    return [n.e.splat(0, TensorType((0, *type.shape), type.dtype)) for type in types]
