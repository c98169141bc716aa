"""Sizes of dimensions, which are all known, as constants.

%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<8x4xf32>) -> tensor<i32>
->
%n = stablehlo.constant dense<8> : tensor<i32>

A split tensor's block has another size than the tensor, which is what a global program asks for.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from shardc.dialects.build import IRBuilder
from shardc.dialects.locations import location_of
from shardc.dialects.nested import nested
from shardc.dialects.types import type_of
from shardc.graph import Dense
from shardc.ops import hlo


def read_sizes(module: ModuleOp) -> None:
    """Replace every get_dimension_size of a module, in place."""
    builder = IRBuilder(module)
    for op in [op for op in nested([module]) if op.name == hlo.get_dimension_size.name]:
        dim = op.properties["dimension"]
        assert isinstance(dim, IntegerAttr)
        type = type_of(op.results[0].type)
        size = np.asarray(type_of(op.operands[0].type).shape[dim.value.data], type.numpy)
        builder.before(op)
        with builder.at(location_of(op.location)):
            made = builder.one(hlo.constant.name, result=type, value=Dense(size, type.shape))
        op.results[0].replace_all_uses_with(made)
        op.detach()
        op.erase()
