"""The number of dimensions of every tensor that a configuration names, from a first lowering."""

from __future__ import annotations

from collections.abc import Mapping

from shardc.frontend.onnx.devices import Stated
from shardc.frontend.onnx.lowering import Lowering
from shardc.frontend.onnx.model import Model
from shardc.frontend.onnx.values import Array


def ranks_of(
    model: Model, stated: Stated, dims: Mapping[str, int], values: Mapping[str, Array]
) -> list[int | None]:
    """In the order of the specifications; None for a tensor of a branch that is not taken.

    The model is lowered without the specifications.
    """
    lowering = Lowering(model, dims, values)
    lowering.build()
    types = lowering.tensors.types
    return [types[name].rank if name in types else None for _, name, _ in stated.specs]
