"""Loops whose bodies are built by functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Block

from shardc.dialects.types import attr_of_type
from shardc.frontend.onnx.node import Node
from shardc.frontend.onnx.operators.maths import add, compare
from shardc.frontend.onnx.values import Value
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType
from shardc.ops import hlo

COUNTER = TensorType((), "i32")


def named(tensor: Tensor, name: str = "") -> Value:
    """A tensor as a value of the model."""
    return Value(name, tensor.type, emitted=tensor)


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


class Once:
    """A turn of a loop, built once: for the types of what it gives, and then as the loop's body.

    A body that was built for each would be built 2^d times at depth d.
    """

    def __init__(
        self, n: Node, carried: Sequence[TensorType], build: Callable[[Tensor, list[Tensor]], list[Tensor]]
    ) -> None:
        self._n = n
        self._block = Block(arg_types=[attr_of_type(type) for type in (COUNTER, *carried)])
        counter, *values = (
            Tensor(arg, type) for arg, type in zip(self._block.args, (COUNTER, *carried), strict=True)
        )
        with n.bodies.aside(self._block):
            self._results = build(counter, values)

    @property
    def types(self) -> list[TensorType]:
        """The types of the carried values, then of the results."""
        return [tensor.type for tensor in self._results]

    def placed(self, counter: Tensor, carried: list[Tensor]) -> list[Tensor]:
        """The turn at the place where the builder stands; once only."""
        arguments = dict(zip(self._block.args, (counter, *carried), strict=True))
        for argument, tensor in arguments.items():
            argument.replace_all_uses_with(tensor.value)
        place = self._n.bodies.place()
        for op in list(self._block.ops):
            op.detach()
            place.add_op(op)
        return [arguments.get(t.value, t) for t in self._results]  # pyright: ignore


def put(e: Emitter, stack: Tensor, new: Tensor, counter: Tensor) -> Tensor:
    """The stack with one more layer."""
    zeros = [e.splat(0, COUNTER) for _ in new.shape]
    return e.op(hlo.dynamic_update_slice.name, stack, e.reshape(new, (1, *new.shape)), counter, *zeros)
