"""Exact meanings of sliding windows: what each of them combines to, and which of its elements it selects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from shardc.graph import Op
from shardc.graph.attrs import ScatterDims
from shardc.ops import hlo
from shardc.proof.draws import Draw
from shardc.proof.table import exact, exact_complex
from shardc.proof.window_folds import FOLDS, folded
from shardc.semantics import ops
from shardc.semantics.arrays import Array, Body

_WINDOW = ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding")


@exact_complex(hlo.reduce_window)
@exact(hlo.reduce_window)
def reduce_window(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    count = len(arrays) // 2
    geometry: dict[str, Any] = {key: op.attrs[key] for key in _WINDOW if key in op.attrs}
    if count == 1 and op.combiner in FOLDS:
        return [folded(arrays[0], arrays[1], bodies[0], **geometry)]
    return ops.reduce_window_with(arrays[:count], arrays[count:], bodies[0], **geometry)


_FLAT = ScatterDims(
    inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), index_vector_dim=1, update_window_dims=()
)
"""Of a scatter of elements to places of a flat array."""


@exact(hlo.select_and_scatter)
def select_and_scatter(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """Selected are the elements' numbers, by what the first body says of the elements."""
    (operand, source, init), (select, scatter) = arrays, bodies
    ones = (1,) * operand.ndim
    length, strides = (cast("Sequence[int]", op.attrs.get(key) or ones) for key in _WINDOW[:2])
    around: Any = op.attrs.get("padding") or ((0, 0),) * operand.ndim
    padded = ops.pad(
        np.arange(operand.size).reshape(operand.shape),
        np.asarray(-1),
        edge_padding_low=[low for low, _ in around],
        edge_padding_high=[high for _, high in around],
    )
    windows: Array = ops.windows(padded, length, strides, ones).reshape((*source.shape, -1))
    flat, chosen = operand.reshape(-1), windows[..., 0]
    for number in range(1, windows.shape[-1]):
        other = windows[..., number]
        (preferred,) = select(flat[np.maximum(chosen, 0)], flat[np.maximum(other, 0)])
        chosen = np.where((other < 0) | (chosen >= 0) & preferred, chosen, other)
    (result,) = ops.scatter(
        [np.array(np.broadcast_to(init, flat.shape))],
        chosen.reshape(-1, 1),
        [source.reshape(-1)],
        scatter,
        scatter_dimension_numbers=_FLAT,
    )
    return [result.reshape(operand.shape)]
