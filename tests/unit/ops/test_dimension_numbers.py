"""Dimension numbers that name a dimension twice, and axes that overlap, give no types."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from shardc.analysis.build import GraphBuilder
from shardc.graph import ConvDims, GatherDims, ScatterDims, TensorType
from shardc.layout import Axis, Mesh
from shardc.ops import ShapeError, hlo, spmd
from shardc.proof.reading.recorded import Recorded, Recorder
from shardc.proof.reading.regions import combination

CONV = ConvDims(0, 1, (2, 3), 1, 0, (2, 3), 0, 1, (2, 3))


def _built(name: str, types: list[TensorType], **attrs: Any) -> None:
    recorder = Recorder()
    builder = recorder.builder
    builder.mesh(Mesh("m", (("x", 4), ("y", 2))))
    given: dict[str, Any] = dict(attrs)
    if name == hlo.scatter.name:
        given["regions"] = [combination(recorder, "sum", "f32")]

    def body(_: GraphBuilder, *values: int) -> list[int]:
        return [builder.op(name, *(Recorded(recorder, v).value for v in values), **given)[0]]

    builder.function("main", types, body)


IMAGES = [TensorType((2, 4, 5, 5), "f32"), TensorType((4, 4, 3, 3), "f32")]


@pytest.mark.parametrize(
    "wrong",
    [{"kernel_spatial": (2, 2)}, {"output_batch": -1}, {"input_feature": 2}, {"output_spatial": (2, 4)}],
)
def test_dimensions_of_convolutions_are_each_named_once(wrong: dict[str, Any]) -> None:
    _built(hlo.convolution.name, IMAGES, dimension_numbers=CONV)
    with pytest.raises(ShapeError, match="in some order"):
        _built(hlo.convolution.name, IMAGES, dimension_numbers=replace(CONV, **wrong))


def test_a_gather_indexes_no_batching_dimension() -> None:
    types = [TensorType((6, 10), "f32"), TensorType((6, 3, 1), "i32")]
    dims = GatherDims((), (1,), (0,), (0,), (1,), 2)
    _built(hlo.gather.name, types, dimension_numbers=dims, slice_sizes=(1, 1))
    wrong = replace(dims, start_index_map=(0,))
    with pytest.raises(ShapeError, match="twice"):
        _built(hlo.gather.name, types, dimension_numbers=wrong, slice_sizes=(1, 1))


def test_a_scatter_indexes_no_batching_dimension() -> None:
    types = [TensorType((6, 10), "f32"), TensorType((6, 3, 1), "i32"), TensorType((6, 3), "f32")]
    dims = ScatterDims((), (1,), (0,), (0,), (1,), 2)
    _built(hlo.scatter.name, types, scatter_dimension_numbers=dims)
    with pytest.raises(ShapeError, match="twice"):
        _built(
            hlo.scatter.name,
            types,
            scatter_dimension_numbers=replace(dims, scatter_dims_to_operand_dims=(0,)),
        )


@pytest.mark.parametrize("twice", [("x", "x"), (("x", 2, 1), ("x", 4, 1))])
def test_collectives_run_along_an_axis_once(twice: tuple[object, object]) -> None:
    axes = tuple(Axis(*each) if isinstance(each, tuple) else Axis(str(each), 4) for each in twice)
    types = [TensorType((16, 16), "f32")]
    _built(spmd.all_reduce.name, types, axes=(Axis("x", 4), Axis("y", 2)), kind="sum")
    with pytest.raises(ShapeError, match="overlap"):
        _built(spmd.all_reduce.name, types, axes=axes, kind="sum")
