"""slice, pad, concatenate and reverse along split dimensions, even and not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardc.analysis.build import GraphBuilder, program
from shardc.graph import TensorType
from shardc.layout import Mesh

MESHES = [Mesh("m", (("x", 2), ("y", 3))), Mesh("m", (("x", 4),)), Mesh("m", (("x", 8),))]
RNG = np.random.default_rng(0)


def one(name: str, *shapes: tuple[int, ...], **attrs: Any) -> Any:
    def body(b: GraphBuilder, *args: int) -> list[int]:
        return [b.one(name, *args, **attrs)]

    graph = program([TensorType(shape, "f32") for shape in shapes], body)
    return graph, [RNG.normal(size=shape).astype(np.float32) for shape in shapes]


def slice_(
    shape: tuple[int, ...], start: tuple[int, ...], limit: tuple[int, ...], step: tuple[int, ...]
) -> Any:
    return one("stablehlo.slice", shape, start_indices=start, limit_indices=limit, strides=step)


def pad(shape: tuple[int, ...], low: int, high: int, interior: int) -> Any:
    return one(
        "stablehlo.pad",
        shape,
        (),
        edge_padding_low=(low, 0),
        edge_padding_high=(high, 1),
        interior_padding=(interior, 0),
    )


CASES = {
    "slice": slice_((8, 3), (1, 0), (7, 3), (1, 1)),
    "slice to one": slice_((8, 3), (5, 0), (6, 3), (1, 1)),
    "slice of uneven": slice_((13, 3), (4, 0), (13, 2), (1, 1)),
    "slice by strides": slice_((16, 2), (1, 0), (16, 2), (2, 1)),
    "slice by long strides": slice_((17, 2), (2, 0), (17, 2), (5, 1)),
    "slice of both": slice_((9, 8), (2, 1), (9, 8), (2, 3)),
    "slice of less than a block each": slice_((24, 1), (20, 0), (24, 1), (1, 1)),
    "pad": pad((8, 3), 1, 1, 0),
    "pad by more than a block": pad((8, 3), 5, 2, 0),
    "pad that shifts": pad((8, 3), -2, 2, 0),
    "pad that cuts": pad((9, 3), -2, -1, 0),
    "pad inside": pad((7, 3), 2, 0, 2),
    "pad inside, cut": pad((7, 3), -4, -1, 2),
    "concatenate": one("stablehlo.concatenate", (8, 2), (8, 2), dimension=0),
    "concatenate uneven": one("stablehlo.concatenate", (5, 2), (1, 2), (7, 2), dimension=0),
    "concatenate long": one("stablehlo.concatenate", (16, 2), (3, 2), dimension=0),
    "roll": one("shardc.join", (8, 2), (8, 2), dimension=0, start_indices=(7, 0), limit_indices=(8, 7)),
    "join": one("shardc.join", (9, 2), (6, 2), dimension=0, start_indices=(4, 1), limit_indices=(8, 6)),
    "reverse": one("stablehlo.reverse", (8, 3), dimensions=(0,)),
    "reverse uneven": one("stablehlo.reverse", (7, 3), dimensions=(0, 1)),
}


@pytest.mark.parametrize("mesh", MESHES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_right_under_every_assignment(name: str, mesh: Mesh, check_forms: Any) -> None:
    graph, arrays = CASES[name]
    assert any(choice.form == "moved" for choice in check_forms(graph, arrays, mesh))


def updated(shape: tuple[int, ...], update: tuple[int, ...], starts: tuple[int, ...], dtype: str) -> Any:
    """dynamic_update_slice at these starts."""

    def body(b: GraphBuilder, *args: int) -> list[int]:
        return [b.one("stablehlo.dynamic_update_slice", *args)]

    index = TensorType((), dtype)
    graph = program([TensorType(shape, "f32"), TensorType(update, "f32"), *(index for _ in starts)], body)
    arrays = [RNG.normal(size=each).astype(np.float32) for each in (shape, update)]
    return graph, [*arrays, *(np.array(start, index.numpy) for start in starts)]


@pytest.mark.parametrize("mesh", MESHES, ids=str)
@pytest.mark.parametrize(
    ("update", "starts", "dtype"),
    [
        *(((1, 2), (start, 1), "i32") for start in (-3, 0, 4, 10, 99)),
        ((1, 1), (9, 2), "u32"),
        *(((2, 3), (start, 0), "i64") for start in (0, 1, 3, 8, 30)),
        ((3, 1), (5, 3), "i8"),
        ((7, 3), (2, 1), "u8"),
        ((11, 1), (0, 2), "i32"),
    ],
)
def test_updates_are_written_where_they_are(
    update: tuple[int, ...], starts: tuple[int, ...], dtype: str, mesh: Mesh, check_forms: Any
) -> None:
    graph, arrays = updated((11, 4), update, starts, dtype)
    assert check_forms(graph, arrays, mesh)
