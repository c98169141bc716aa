"""The number of dimensions of every tensor that a configuration names, from a first lowering."""

from __future__ import annotations

from collections.abc import Mapping

from shardc.diagnostics import ShardcError
from shardc.frontend.onnx.devices import Stated
from shardc.frontend.onnx.lowering import Lowering
from shardc.frontend.onnx.model import Model
from shardc.frontend.onnx.values import Array


def ranks_of(model: Model, stated: Stated, dims: Mapping[str, int], values: Mapping[str, Array]) -> list[int]:
    """In the order of the specifications. The model is lowered without them."""
    lowering = Lowering(model, dims, values)
    lowering.build()
    ranks: list[int] = []
    for _, name, _ in stated.specs:
        if name not in lowering.tensors.types:
            raise ShardcError(f"{model.file}: a sharding of {name}, which is no tensor of the program")
        ranks.append(lowering.tensors.types[name].rank)
    return ranks
