"""Convolutions and window reductions along split dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardc.analysis.build import GraphBuilder, program
from shardc.graph import ConvDims, TensorType
from shardc.layout import Mesh

MESHES = [Mesh("m", (("x", 2), ("y", 2))), Mesh("m", (("x", 5),))]
LINE = ConvDims(0, 1, (2,), 1, 0, (2,), 0, 1, (2,))
RNG = np.random.default_rng(0)


def conv(size: int, window: int, **attrs: Any) -> Any:
    full = {
        "window_strides": (1,),
        "padding": ((0, 0),),
        "lhs_dilation": (1,),
        "rhs_dilation": (1,),
        "window_reversal": (False,),
        "dimension_numbers": LINE,
        "feature_group_count": 1,
        "batch_group_count": 1,
        **attrs,
    }
    shapes = [(2, 2, size), (3, 2, window)]

    def body(b: GraphBuilder, x: int, k: int) -> list[int]:
        return [b.one("stablehlo.convolution", x, k, **full)]

    graph = program([TensorType(shape, "f32") for shape in shapes], body)
    return graph, [RNG.normal(size=shape).astype(np.float32) for shape in shapes]


def pool(kind: str, shape: tuple[int, ...], window: tuple[int, ...], **attrs: Any) -> Any:
    number = TensorType((), "f32")

    def combine(b: GraphBuilder, a: int, c: int) -> list[int]:
        return [b.one(f"stablehlo.{kind}", a, c)]

    def body(b: GraphBuilder, x: int, init: int) -> list[int]:
        return b.op(
            "stablehlo.reduce_window",
            x,
            init,
            regions=[([number] * 2, combine)],
            window_dimensions=window,
            **attrs,
        )

    init = np.float32(0 if kind == "add" else -np.inf)
    return program([TensorType(shape, "f32"), number], body), [
        RNG.normal(size=shape).astype(np.float32),
        init,
    ]


CASES = {
    "same": conv(8, 3, padding=((1, 1),)),
    "valid": conv(9, 3),
    "strides": conv(16, 3, window_strides=(2,), padding=((1, 1),)),
    "strides, uneven": conv(13, 4, window_strides=(3,), padding=((2, 1),)),
    "dilated window": conv(10, 3, rhs_dilation=(2,), padding=((2, 2),)),
    "dilated operand": conv(5, 3, lhs_dilation=(2,), padding=((1, 2),)),
    "dilated operand, strides": conv(7, 3, lhs_dilation=(3,), window_strides=(2,), padding=((2, 2),)),
    "negative padding": conv(12, 3, padding=((-2, -1),)),
    "reversed window": conv(8, 3, window_reversal=(True,), padding=((1, 1),)),
    "long window": conv(12, 7, padding=((3, 3),)),
    "gradient of a kernel": conv(8, 8, padding=((1, 1),)),
    "gradient of a kernel, uneven": conv(9, 7, padding=((0, 0),), rhs_dilation=(1,)),
    "gradient of a kernel, strides": conv(9, 4, padding=((1, 1),), rhs_dilation=(2,)),
    "sums": pool("add", (8, 3), (3, 1), padding=((1, 1), (0, 0))),
    "maxima": pool("maximum", (9, 6), (3, 3), padding=((1, 1), (0, 1)), window_strides=(2, 1)),
    "maxima of pairs": pool("maximum", (8, 6), (3, 2), window_strides=(1, 2)),
    "dilated sums": pool("add", (6, 2), (3, 1), base_dilations=(2, 1), window_dilations=(2, 1)),
}


@pytest.mark.parametrize("mesh", MESHES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_right_under_every_assignment(name: str, mesh: Mesh, check_forms: Any) -> None:
    graph, arrays = CASES[name]
    assert any(choice.form == "moved" for choice in check_forms(graph, arrays, mesh))


def test_a_border_is_all_that_is_sent(check_forms: Any) -> None:
    """Of 2 x 2 x 8 numbers, 2 x 2 go to either neighbour."""
    graph, arrays = CASES["same"]
    choices = check_forms(graph, arrays, Mesh("m", (("x", 4),)))
    split = [c for c in choices if c.form == "moved" and c.operands[0].dims[2].axes]
    assert {(c.moved, c.collectives) for c in split} == {(2 * 2 * 2 * 4, 2)}
