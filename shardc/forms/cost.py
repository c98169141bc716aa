"""What a local form sends, found by building it with a builder that only counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from shardc.forms.site import Site, local_type
from shardc.graph import Op, TensorType
from shardc.graph.builder import Body
from shardc.layout import Axis, Sharding, size_of
from shardc.ops import Trait, has, infer, sent


class FormCollective(NamedTuple):
    """A collective of a form: the operation's name, the axes, the block, and what its attributes say: the
    dimension that is gathered or scattered, how it combines, and which position sends to which."""

    name: str
    over: tuple[Axis, ...]
    block: TensorType
    dim: int | None = None
    kind: str | None = None
    pairs: tuple[tuple[int, int], ...] = ()

    @property
    def bytes(self) -> int:
        """What a device sends."""
        return sent(self.name, self.block.nbytes, size_of(self.over))


class CostBuilder:
    """A `graph.builder.Builder` whose values are types. `collectives` are those that were built."""

    def __init__(self) -> None:
        self.collectives: list[FormCollective] = []

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
            said = {key: attrs[key] for key in ("dim", "kind", "pairs") if key in attrs}
            axes = cast("tuple[Axis, ...]", attrs["axes"])
            self.collectives.append(FormCollective(name, axes, block, **cast("dict[str, Any]", said)))
        return list(infer(name, operands, attrs) if results is None else results)

    def one(
        self, name: str, /, *operands: TensorType, result: TensorType | None = None, **attrs: object
    ) -> TensorType:
        """Count an operation with one result."""
        (value,) = self.op(name, *operands, results=None if result is None else [result], regions=(), **attrs)
        return value


def exchanges(
    build: Callable[[Site], list[Any]], op: Op, operands: Sequence[Sharding], results: Sequence[Sharding]
) -> tuple[FormCollective, ...]:
    """The collectives of a device when `op` runs as `build` makes it."""
    builder = CostBuilder()
    blocks = tuple(map(local_type, op.operands, operands))
    build(Site(builder, op, tuple(operands), tuple(results), blocks))
    return tuple(builder.collectives)
