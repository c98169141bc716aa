"""Convolutions and window reductions along split dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardc.analysis.build import GraphBuilder, program
from shardc.graph import ConvDims, TensorType
from shardc.layout import Mesh
from shardc.ops import infer

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


def unpool(
    shape: tuple[int, ...], window: tuple[int, ...], direction: str = "GE", padded: bool = False, **attrs: Any
) -> Any:
    """select_and_scatter of small whole numbers and infinities: many windows are ties. padded: of a tensor
    with padding, which may be selected."""
    number, geometry = TensorType((), "f32"), {"window_dimensions": window, **attrs}
    x = TensorType(shape, "f32")
    (source,) = infer("stablehlo.reduce_window", [x, number], geometry)
    lowest = np.float32(-np.inf if direction == "GE" else np.inf)

    def prefer(b: GraphBuilder, a: int, c: int) -> list[int]:
        return [b.one("stablehlo.compare", a, c, comparison_direction=direction)]

    def add(b: GraphBuilder, a: int, c: int) -> list[int]:
        return [b.one("stablehlo.add", a, c)]

    def body(b: GraphBuilder, *operands: int) -> list[int]:
        bodies = [([number] * 2, prefer), ([number] * 2, add)]
        name = "shardc.unpool" if padded else "stablehlo.select_and_scatter"
        return b.op(name, *operands, regions=bodies, **geometry)

    fills = [number] * padded
    return program([x, source, *fills, number], body), [
        np.where(RNG.random(shape) < 0.5, lowest, RNG.integers(0, 3, shape).astype(np.float32)),
        RNG.integers(1, 9, source.shape).astype(np.float32),
        *([lowest] * padded),
        np.float32(3),
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
    "scattered": unpool((8, 3), (3, 1), padding=((0, 1), (0, 0)), window_strides=(2, 1)),
    "scattered around": unpool((8, 3), (3, 1), padding=((1, 1), (0, 0)), window_strides=(2, 1)),
    "scattered, uneven": unpool((9, 6), (3, 3), padding=((1, 1), (0, 1)), window_strides=(2, 1)),
    "scattered, the smallest": unpool((7, 6), (4, 2), "LE", padding=((2, 3), (0, 0)), window_strides=(2, 2)),
    "scattered far": unpool((10,), (7,), padding=((3, 4),)),
    "scattered with gaps": unpool((13,), (2,), padding=((-1, 1),), window_strides=(3,)),
    "padded": unpool((8, 6), (3, 3), padded=True, padding=((1, 1), (1, 0)), window_strides=(2, 2)),
    "padded, uneven": unpool((9, 4), (3, 2), "LE", True, padding=((2, 3), (0, 0)), window_strides=(2, 2)),
    "padded by more than a window": unpool((7,), (2,), padded=True, padding=((3, 3),)),
    "tiles, uneven": pool("maximum", (6, 4), (2, 2), window_strides=(2, 2)),
    "patches, uneven": conv(12, 2, window_strides=(2,)),
    "scattered in tiles, uneven": unpool((6, 4), (2, 2), window_strides=(2, 2)),
    "dilated sums": pool("add", (6, 2), (3, 1), base_dilations=(2, 1), window_dilations=(2, 1)),
}


@pytest.mark.parametrize("mesh", MESHES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_right_under_every_assignment(name: str, mesh: Mesh, check_forms: Any) -> None:
    graph, arrays = CASES[name]
    assert any(choice.form == "moved" for choice in check_forms(graph, arrays, mesh))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(18))
def test_scattered_in_windows_of_any_kind(seed: int, check_forms: Any) -> None:
    rng = np.random.default_rng(seed)

    def drawn(low: int, high: int) -> tuple[int, int]:
        return int(rng.integers(low, high)), int(rng.integers(low, high))

    padded = bool(rng.integers(2))
    window, least = drawn(1, 5), 0 if padded else -1
    padding = tuple(drawn(least, 4 if padded else length) for length in window)
    graph, arrays = unpool(
        drawn(6, 14), window, ["GE", "LE"][seed % 2], padded, padding=padding, window_strides=drawn(1, 4)
    )
    check_forms(graph, arrays, MESHES[seed // 2 % 2])


def test_a_border_is_all_that_is_sent(check_forms: Any) -> None:
    """Of 2 x 2 x 8 numbers, 2 x 2 go to either neighbour."""
    graph, arrays = CASES["same"]
    choices = check_forms(graph, arrays, Mesh("m", (("x", 4),)))
    split = [c for c in choices if c.form == "moved" and c.operands[0].dims[2].axes]
    assert {(c.moved, c.collectives) for c in split} == {(2 * 2 * 2 * 4, 2)}


def test_an_element_goes_to_either_neighbour_and_back(check_forms: Any) -> None:
    """Of 3 x 8 numbers, in windows that reach over a border by one."""
    graph, arrays = unpool((8, 3), (3, 1), padded=True, padding=((0, 1), (0, 0)), window_strides=(2, 1))
    choices = check_forms(graph, arrays, Mesh("m", (("x", 4),)))
    split = [c for c in choices if c.operands[0].dims[0].axes]
    assert {(c.moved, c.collectives) for c in split} == {(2 * 3 * 4, 2)}
    assert all(c.operands[1].dims == c.operands[0].dims == c.results[0].dims for c in split)
