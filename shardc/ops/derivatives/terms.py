"""Values of whatever is built, with arithmetic: what formulas are written in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from shardc.graph.attrs import Dense
from shardc.graph.builder import Body, Builder
from shardc.graph.types import TensorType, is_complex
from shardc.ops import hlo
from shardc.ops.definition import OpDef


class Term(Struct, frozen=True, eq=False):
    """A value `v` of the builder `b`. Operands of arithmetic are terms of its type, or numbers."""

    b: Builder[Any]
    v: Any

    @property
    def type(self) -> TensorType:
        return self.b.type_of(self.v)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    def op(self, op: OpDef, *others: Term, result: TensorType | None = None, **attrs: object) -> Term:
        """An operation with one result, of this and other terms."""
        return Term(self.b, self.b.one(op.name, self.v, *(o.v for o in others), result=result, **attrs))

    def ops(
        self,
        op: OpDef,
        *others: Term,
        results: Sequence[TensorType] | None = None,
        regions: Sequence[Body] = (),
        **attrs: object,
    ) -> list[Term]:
        """The same with any results, and regions."""
        made = self.b.op(op.name, self.v, *(o.v for o in others), results=results, regions=regions, **attrs)
        return [Term(self.b, value) for value in made]

    def filled(self, value: float, type: TensorType | None = None) -> Term:
        """One number as a tensor of this type, or of another."""
        type = type or self.type
        data = np.array(value, dtype=type.numpy)
        return Term(self.b, self.b.one(hlo.constant.name, result=type, value=Dense(data, type.shape)))

    def _with(self, op: OpDef, other: Term | float) -> Term:
        return self.op(op, other if isinstance(other, Term) else self.filled(other))

    def __add__(self, other: Term | float) -> Term:
        return self._with(hlo.add, other)

    def __sub__(self, other: Term | float) -> Term:
        return self._with(hlo.subtract, other)

    def __mul__(self, other: Term | float) -> Term:
        return self._with(hlo.multiply, other)

    def __truediv__(self, other: Term | float) -> Term:
        return self._with(hlo.divide, other)

    def __radd__(self, other: float) -> Term:
        return self.filled(other) + self

    def __rsub__(self, other: float) -> Term:
        return self.filled(other) - self

    def __rmul__(self, other: float) -> Term:
        return self.filled(other) * self

    def __rtruediv__(self, other: float) -> Term:
        return self.filled(other) / self

    def __neg__(self) -> Term:
        return self.op(hlo.negate)

    def __and__(self, other: Term) -> Term:
        return self.op(hlo.and_, other)

    def compare(self, direction: str, other: Term | float) -> Term:
        """A truth value for each element: EQ, LT, …"""
        other = other if isinstance(other, Term) else self.filled(other)
        return self.op(hlo.compare, other, comparison_direction=direction)

    def where(self, condition: Term, other: Term | float = 0.0) -> Term:
        """Itself where a condition holds, elsewhere something else."""
        other = other if isinstance(other, Term) else self.filled(other)
        return condition.op(hlo.select, self, other)

    def cast(self, dtype: str) -> Term:
        """In another dtype; of complex numbers, the real part of what becomes real."""
        if self.type.dtype == dtype:
            return self
        term = self.op(hlo.real) if is_complex(self.type.dtype) and not is_complex(dtype) else self
        if term.type.dtype == dtype:
            return term
        return term.op(hlo.convert, result=term.type.with_dtype(dtype))

    # ---- shapes

    def reshape(self, shape: Sequence[int]) -> Term:
        if self.shape == tuple(shape):
            return self
        return self.op(hlo.reshape, result=self.type.with_shape(tuple(shape)))

    def transpose(self, permutation: Sequence[int]) -> Term:
        if tuple(permutation) == tuple(range(len(self.shape))):
            return self
        return self.op(hlo.transpose, permutation=tuple(permutation))

    def broadcast(self, shape: Sequence[int], dims: Sequence[int]) -> Term:
        """Dimension i becomes dimension dims[i]."""
        if self.shape == tuple(shape) and tuple(dims) == tuple(range(len(shape))):
            return self
        type = self.type.with_shape(tuple(shape))
        return self.op(hlo.broadcast_in_dim, result=type, broadcast_dimensions=tuple(dims))

    def sum(self, dims: Sequence[int]) -> Term:
        """The sum over some dimensions, which go."""
        return self.reduced(hlo.add, 0.0, dims)

    def reduced(self, op: OpDef, start: float, dims: Sequence[int]) -> Term:
        """The elements along some dimensions combined by an operation."""
        if not dims:
            return self
        scalar = self.type.with_shape(())
        (result,) = self.ops(
            hlo.reduce, self.filled(start, scalar), regions=[combining(op, scalar)], dimensions=tuple(dims)
        )
        return result

    def pad(
        self, low: Sequence[int], high: Sequence[int], interior: Sequence[int], value: float = 0.0
    ) -> Term:
        """With `value` before, behind and between the elements; negative numbers take elements away."""
        if not any((*low, *high, *interior)):
            return self
        return self.op(
            hlo.pad,
            self.filled(value, self.type.with_shape(())),
            edge_padding_low=tuple(low),
            edge_padding_high=tuple(high),
            interior_padding=tuple(interior),
        )

    def slice(
        self, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] | None = None
    ) -> Term:
        strides = strides or (1,) * len(starts)
        return self.op(
            hlo.slice_, start_indices=tuple(starts), limit_indices=tuple(limits), strides=tuple(strides)
        )

    def iota(self, type: TensorType, dim: int) -> Term:
        """The position along a dimension, of that type."""
        return Term(self.b, self.b.one(hlo.iota.name, result=type, iota_dimension=dim))


def combining(op: OpDef, scalar: TensorType) -> Body:
    """A body that combines two scalars."""

    def build(b: Any, x: Any, y: Any) -> Sequence[Any]:
        return [b.one(op.name, x, y)]

    return (scalar, scalar), build
