"""Scatters that multiply, of updates that are split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardc.analysis.build import GraphBuilder, program
from shardc.graph import ScatterDims, TensorType
from shardc.layout import Mesh

SIX = Mesh("m", (("x", 2), ("y", 3)))
ROWS = ScatterDims(
    update_window_dims=(1,),
    inserted_window_dims=(0,),
    scatter_dims_to_operand_dims=(0,),
    index_vector_dim=1,
)


def multiplied(count: int, dtype: str) -> Any:
    """`count` rows of four that are multiplied into three."""
    table, scalar = TensorType((3, 4), dtype), TensorType((), dtype)

    def times(b: GraphBuilder, old: int, new: int) -> list[int]:
        return [b.one("stablehlo.multiply", old, new)]

    def body(b: GraphBuilder, *args: int) -> list[int]:
        return b.op(
            "stablehlo.scatter",
            *args,
            results=[table],
            regions=[([scalar, scalar], times)],
            scatter_dimension_numbers=ROWS,
        )

    return program([table, TensorType((count, 1), "i32"), TensorType((count, 4), dtype)], body)


@pytest.mark.parametrize("count", [2, 6, 7])
@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_devices_multiply_what_is_theirs(count: int, dtype: str, check_forms: Any) -> None:
    rng = np.random.default_rng(count)
    table, updates = (rng.integers(1, 4, (n, 4)).astype(TensorType((), dtype).numpy) for n in (3, count))
    places = rng.integers(0, 4, (count, 1)).astype(np.int32)  # 3 is dropped
    choices = check_forms(multiplied(count, dtype), [table, places, updates], SIX)
    candidates = [c for c in choices if c.form == "candidates"]
    assert candidates
    assert all(c.collectives == 1 for c in candidates)
