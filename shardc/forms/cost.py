"""What a local form sends, found by building it with a builder that only counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from shardc.forms.site import Site, local_type
from shardc.graph import Op, TensorType
from shardc.graph.builder import Body
from shardc.layout import Axis, Sharding, size_of
from shardc.ops import Trait, has, infer, sent


class CostBuilder:
    """A `graph.builder.Builder` whose values are types. `bytes` a device sends, in `collectives`."""

    def __init__(self) -> None:
        self.bytes = 0
        self.collectives = 0

    def type_of(self, value: TensorType) -> TensorType:
        return value

    def op(
        self,
        name: str,
        /,
        *operands: TensorType,
        results: Sequence[TensorType] | None = None,
        regions: Sequence[Body] = (),
        **attrs: object,
    ) -> list[TensorType]:
        """Count one operation; bodies send nothing. An operation with regions needs `results`."""
        if has(name, Trait.COLLECTIVE):
            (block,) = operands
            axes = cast("tuple[Axis, ...]", attrs["axes"])
            self.bytes += sent(name, block.size * block.numpy.itemsize, size_of(axes))
            self.collectives += 1
        return list(infer(name, operands, attrs) if results is None else results)

    def one(
        self, name: str, /, *operands: TensorType, result: TensorType | None = None, **attrs: object
    ) -> TensorType:
        """Count an operation with one result."""
        (value,) = self.op(name, *operands, results=None if result is None else [result], regions=(), **attrs)
        return value


def cost(
    build: Callable[[Site], list[Any]], op: Op, operands: Sequence[Sharding], results: Sequence[Sharding]
) -> tuple[int, int]:
    """(bytes that a device sends, in how many collectives) when `op` runs as `build` makes it."""
    builder = CostBuilder()
    blocks = tuple(map(local_type, op.operands, operands))
    build(Site(builder, op, tuple(operands), tuple(results), blocks))
    return builder.bytes, builder.collectives
