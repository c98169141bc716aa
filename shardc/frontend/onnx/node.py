"""One node as operators see it: typed attributes, tensors, and known values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from msgspec import Struct
from onnx import GraphProto, TensorProto
from xdsl.ir import Block

from shardc.frontend.onnx.errors import Dynamic, Invalid, Unsupported
from shardc.frontend.onnx.values import Array, Listed, Value
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType

MOST_PLACES = 1 << 20

MOST_PARTS = 1 << 12


class Bodies(Protocol):
    """Lowers the bodies of If, Loop and Scan at the place of the node. Lost if one cannot be made."""

    def body(self, graph: GraphProto, inputs: Sequence[Value]) -> list[Value]: ...

    def stored(self, tensor: TensorProto) -> Value:
        """The value of a Constant node, whose tensor gets the name by which emitted files find it."""
        ...

    def known(self, name: str, array: Array) -> Value: ...

    def aside(self, block: Block) -> AbstractContextManager[None]: ...

    def tried(
        self, build: Callable[[], list[Value | Tensor]], otherwise: Callable[[], list[Value | Tensor]]
    ) -> list[Value | Tensor]:
        """What `build` makes, or what `otherwise` makes if a shape in a body depends on data."""
        ...

    def undoing(self) -> AbstractContextManager[None]:
        """Names that are given inside are free again after an error."""
        ...

    def place(self) -> Block: ...


class Node(Struct, frozen=True):
    """A node to lower. `version` is the opset that its schema is of; `declared` the stated output types;
    `lists` the inputs that are sequences, which are None among `inputs`.
    """

    e: Emitter
    op: str
    version: int
    attributes: Mapping[str, Any]
    inputs: Sequence[Value | None]
    outputs: Sequence[str]
    declared: Sequence[TensorType | None]
    bodies: Bodies
    lists: Mapping[int, Listed] = {}

    def has(self, index: int) -> bool:
        """Whether an optional input is there."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def items(self, index: int) -> tuple[Value, ...]:
        """The tensors of an input that is a sequence."""
        if index not in self.lists:
            raise Invalid(f"input {index} is no sequence")
        return self.lists[index].items

    def value(self, index: int) -> Value:
        value = self.inputs[index] if index < len(self.inputs) else None
        if value is None:
            raise Invalid(f"input {index} is missing")
        return value

    def x(self, index: int) -> Tensor:
        """Input `index` as a tensor of the program."""
        return self.value(index).tensor()

    def xs(self) -> list[Tensor]:
        """All inputs that are there."""
        return [value.tensor() for value in self.inputs if value is not None]

    def type(self, index: int) -> TensorType:
        return self.value(index).type

    def known(self, index: int, why: str = "the result's shape depends on the value of") -> Array:
        """The value of an input that must be known while compiling; Dynamic if it is not."""
        value = self.value(index)
        if value.array is None:
            raise Dynamic(value.name, why)
        return value.array

    def numbers(self, index: int, why: str = "the result's shape depends on the value of") -> tuple[int, ...]:
        """The same as a tuple of integers."""
        return tuple(int(item) for item in self.known(index, why).reshape(-1))

    def int(self, name: str, default: int = 0) -> int:
        return int(self.attributes.get(name, default))

    def float(self, name: str, default: float = 0.0) -> float:
        return float(self.attributes.get(name, default))

    def text(self, name: str, default: str = "") -> str:
        return str(self.attributes.get(name, default))

    def ints(self, name: str) -> tuple[int, ...] | None:
        """A list of integers, None if it is not given."""
        value = self.attributes.get(name)
        return None if value is None else tuple(int(item) for item in value)

    def wants(self, index: int) -> bool:
        """Whether output `index` is used."""
        return index < len(self.outputs) and bool(self.outputs[index])

    def places(self, count: int) -> int:
        """A number of positions that are listed in the program; Unsupported if they would fill it."""
        return self._bounded(count, MOST_PLACES, "places")

    def parts(self, count: int) -> int:
        """The same for parts that have operations of their own."""
        return self._bounded(count, MOST_PARTS, "parts")

    def _bounded(self, count: int, most: int, what: str) -> int:
        if count > most:
            raise self.unsupported(f"with {count} {what}, more than {most}")
        return count

    def unsupported(self, what: str) -> Unsupported:
        return Unsupported(f"{self.op} {what}")


Result = Tensor | Value | Listed | Sequence[Tensor | Value | None]
Lower = Callable[[Node], Result]
