"""Operator -> its lowering; operators of domains other than the standard one as `domain:Name`."""

from __future__ import annotations

from shardc.frontend.onnx.node import Lower
from shardc.frontend.onnx.operators import (
    activations,
    casts,
    constants,
    control,
    convolution,
    elementwise,
    features,
    indexing,
    normalisation,
    padding,
    pooling,
    products,
    quantise,
    recurrent,
    reductions,
    regions,
    resize,
    sampling,
    sequences,
    shapes,
    signal,
    training,
)

FAMILIES = {
    "elementwise": elementwise,
    "activations": activations,
    "casts": casts,
    "constants": constants,
    "reductions": reductions,
    "products": products,
    "convolution": convolution,
    "pooling": pooling,
    "normalisation": normalisation,
    "shapes": shapes,
    "padding": padding,
    "resize": resize,
    "sampling": sampling,
    "sequences": sequences,
    "indexing": indexing,
    "recurrent": recurrent,
    "quantise": quantise,
    "signal": signal,
    "control": control,
    "regions": regions,
    "training": training,
    "features": features,
}

OPERATORS: dict[str, Lower] = {
    name: lower for family in FAMILIES.values() for name, lower in family.OPERATORS.items()
}
