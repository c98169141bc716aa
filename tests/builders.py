"""Builders that compute an operation at once, on arrays or on the blocks of all devices of a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shardc.analysis.build import GraphBuilder
from shardc.graph.builder import Body
from shardc.graph.types import TensorType
from shardc.interpret.collectives import Blocks, Place
from shardc.interpret.devices import ONE_DEVICE, Lockstep
from shardc.interpret.hooks import Env
from shardc.semantics.arrays import Array
from shardc.semantics.reduction import dtype_name


class BlocksBuilder:
    """Implements `graph.builder.Builder` on the blocks of all devices of `place`, computing at once."""

    def __init__(self, place: Place = ONE_DEVICE) -> None:
        self.place = place

    def type_of(self, value: Blocks) -> TensorType:
        return TensorType(value[0].shape, dtype_name(value[0].dtype))

    def op(
        self,
        name: str,
        /,
        *operands: Blocks,
        results: Sequence[TensorType] | None = None,
        regions: Sequence[Body] = (),
        **attrs: object,
    ) -> list[Blocks]:
        """Compute one operation; see `Builder.op`."""
        recorder = _Recorder(self)

        def body(builder: Any) -> list[int]:
            return builder.op(name, *operands, results=results, regions=regions, **attrs)

        recorder.function("main", [], body)
        graph = recorder.graph
        node = graph.main.body.nodes[0]
        machine = Lockstep(graph, self.place)
        return machine.node(node, [recorder.env[value] for value in node.operands], recorder.env)

    def one(
        self, name: str, /, *operands: Blocks, result: TensorType | None = None, **attrs: object
    ) -> Blocks:
        """Compute an operation with one result and no regions."""
        results = None if result is None else [result]
        (value,) = self.op(name, *operands, results=results, regions=(), **attrs)
        return value


class _Recorder(GraphBuilder):
    """Builds one operation; blocks that it or its regions use become values known in `env`."""

    def __init__(self, owner: BlocksBuilder) -> None:
        super().__init__()
        self.env: Env = {}
        self._owner = owner

    def lift(self, value: Any) -> int:
        """The id of a value that may be blocks from outside."""
        if isinstance(value, int):
            return value
        blocks: Blocks = [value] if isinstance(value, np.ndarray) else value
        lifted = self.new_value(self._owner.type_of(blocks))
        self.env[lifted] = blocks
        return lifted


class ArrayBuilder:
    """Implements `graph.builder.Builder` on NumPy arrays, computing at once."""

    def __init__(self) -> None:
        self._blocks = BlocksBuilder()

    def type_of(self, value: Array) -> TensorType:
        return TensorType(np.shape(value), dtype_name(value.dtype))

    def op(
        self,
        name: str,
        /,
        *operands: Array,
        results: Sequence[TensorType] | None = None,
        regions: Sequence[Body] = (),
        **attrs: object,
    ) -> list[Array]:
        """Compute one operation; see `Builder.op`."""
        operand_blocks = [[operand] for operand in operands]
        values = self._blocks.op(name, *operand_blocks, results=results, regions=regions, **attrs)
        return [blocks[0] for blocks in values]

    def one(self, name: str, /, *operands: Array, result: TensorType | None = None, **attrs: object) -> Array:
        """Compute an operation with one result and no regions."""
        results = None if result is None else [result]
        (value,) = self.op(name, *operands, results=results, regions=(), **attrs)
        return value
