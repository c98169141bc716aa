"""chlo.ragged_dot: read and written; nothing here knows how to split or run it."""

from __future__ import annotations

from shardc.ops.definition import COMPUTES, OpDef, Syntax
from shardc.ops.registry import define

ragged_dot = define(
    OpDef(
        name="chlo.ragged_dot",
        doc="A product whose groups of rows have their own right operand.",
        work=COMPUTES,
        syntax=Syntax(
            ("lhs", "rhs", "group_sizes"),
            attrs={
                "ragged_dot_dimension_numbers": "ragged_dot",
                "precision_config": "chlo_precision_config?",
            },
        ),
    )
)
