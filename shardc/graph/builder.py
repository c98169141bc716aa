"""The interface that operations are built through.

Frontends and local forms are written once against it. Interpreters of it: `dialects.build.IRBuilder` emits
xDSL operations, `analysis.build.GraphBuilder` a graph, `forms.cost.CostBuilder` only counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from shardc.graph.types import TensorType

V = TypeVar("V")

Body = tuple[Sequence[TensorType], Callable[..., Sequence[Any]]]
"""A region: the types of its arguments, and a function (builder, *arguments) -> results."""


class Builder(Protocol[V]):
    """Builds one operation after another. V is whatever stands for a value."""

    def type_of(self, value: V) -> TensorType:
        """The type of a value."""
        ...

    def op(
        self,
        name: str,
        /,
        *operands: V,
        results: Sequence[TensorType] | None = None,
        regions: Sequence[Body] = (),
        **attrs: object,
    ) -> list[V]:
        """Build operation `name` ("stablehlo.add"); `attrs` follow graph/attrs.py.

        `results` may be left out where the definition can tell them. Raises shardc.ops.ShapeError where
        the operands don't fit.
        """
        ...

    def one(self, name: str, /, *operands: V, result: TensorType | None = None, **attrs: object) -> V:
        """The same for an operation with one result and no regions."""
        ...
