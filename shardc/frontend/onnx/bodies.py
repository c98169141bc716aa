"""The bodies of one node, lowered in the scope of that node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from onnx import GraphProto, TensorProto
from xdsl.ir import Block

from shardc.frontend.onnx.errors import Dynamic, Lost
from shardc.frontend.onnx.values import Scope, Value
from shardc.frontend.text.values import Tensor

if TYPE_CHECKING:
    from shardc.frontend.onnx.lowering import Lowering


Made = Value | Tensor


class NodeBodies:
    """What operators see of the lowering: node.Bodies."""

    def __init__(self, lowering: Lowering, scope: Scope) -> None:
        self._lowering = lowering
        self._scope = scope
        self.known = lowering.constants.known
        self.aside = lowering.builder.inside

    def stored(self, tensor: TensorProto) -> Value:
        tensor.name = "/".join((*self._lowering.calls[-1:], tensor.name))
        return self._lowering.constants.constant(tensor)

    def body(self, graph: GraphProto, inputs: Sequence[Value]) -> list[Value]:
        return self._lowering.body(graph, inputs, self._scope)

    def tried(self, build: Callable[[], list[Made]], otherwise: Callable[[], list[Made]]) -> list[Made]:
        """What `build` makes; what `otherwise` makes if only shapes that depend on data were in the way.

        If they are in the way of both, those of both are told.
        """
        problems = self._lowering.problems
        mark = problems.mark()
        try:
            return build()
        except Lost:
            found = problems.forget(mark)
            if not found:
                raise
        try:
            return otherwise()
        except (Dynamic, Lost):
            problems.remember(found)
            raise

    def undoing(self) -> AbstractContextManager[None]:
        """Names that are given inside are free again after an error."""
        constants = self._lowering.constants
        return self._lowering.tensors.names.undoing(constants.weights)

    def place(self) -> Block:
        return self._lowering.builder.current_block
