"""Process-local data. The cases are results of jax 0.10.2 in four real processes, with the devices' order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardc
from shardc.layout import LayoutError, Sharding
from shardc.runtime import (
    Mesh,
    NamedSharding,
    P,
    ReplicationError,
    global_shape_of,
    global_shapes_of,
    local_shape_of,
    make_array_from_callback,
    make_array_from_process_local_data,
    num_addressable_indices,
    sharding_of,
    uniformity,
)

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "process_local.json").read_text())
AXES = {2: "xy", 3: "abc"}
SPECS = {
    "P()": P(),
    "P('x', 'y')": P("x", "y"),
    "P(('x', 'y'),)": P(("x", "y")),
    "P(('a', 'b', 'c'), None)": P(("a", "b", "c")),
    "P(('a', 'b'), None)": P(("a", "b")),
    "P(None, ('a', 'c'))": P(None, ("a", "c")),
    "P(('a', 'c'), 'b')": P(("a", "c"), "b"),
    "P('a', ('b', 'c'))": P("a", ("b", "c")),
}


def sharding(given: dict[str, Any]) -> Sharding:
    shape = given["mesh_shape"]
    axes = dict(zip(AXES[len(shape)], shape, strict=True))
    return sharding_of(Mesh(axes, given["devices"], given["processes"]), SPECS[given["spec"]], 2)


def local_data(given: dict[str, Any]) -> list[np.ndarray]:
    base = np.arange(np.prod(given["local_shape"])).reshape(given["local_shape"])
    step = 100 if given["local_data"].startswith("100") else 0
    return [base + step * process for process in range(given["processes"])]


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_what_jax_does(case: dict[str, Any]):
    given, expected = case["input"], case["expected"]
    layout = sharding(given)
    assert [v.shares for v in uniformity(layout)] == expected["distinct_shards_per_dim"]
    if None in expected["inferred_global"]:
        with pytest.raises(LayoutError):
            global_shape_of(layout, given["local_shape"])
    else:
        assert list(global_shape_of(layout, given["local_shape"])) == expected["inferred_global"]
    if expected["num_addressable_indices"]:
        assert list(local_shape_of(layout, given["global_shape"])) == expected["num_addressable_indices"]
    if expected["error"]:
        with pytest.raises(LayoutError, match="dimension"):
            make_array_from_process_local_data(layout, local_data(given), given["global_shape"])
        return
    array = make_array_from_process_local_data(
        layout, local_data(given), given["global_shape"], check_replicas=False
    )
    assert list(array.shape) == expected["result_shape"]
    for device, index, data in expected["shards"]:
        assert array.shards[device].index == tuple(map(tuple, index))
        assert array.shards[device].data.tolist() == data


FIGURE_1 = Mesh({"x": 4, "y": 4}, [0, 1, 4, 5, 6, 2, 3, 7, 8, 12, 13, 9, 10, 11, 14, 15], 4)
FIGURE_2 = Mesh({"x": 2, "y": 4}, [0, 2, 1, 3, 4, 6, 5, 7], 4)


def test_why_the_columns_of_the_first_figure_are_not_uniform():
    rows, columns = uniformity(sharding_of(FIGURE_1, P("x", "y"), 2))
    assert (rows.shares, rows.reason) == (2, None)
    assert (columns.shares, columns.reason) == (
        None,
        "process 0 addresses blocks 0, 1, 2, process 1 blocks 0, 2, 3",
    )


def test_an_unequal_number_of_blocks():
    mesh = Mesh({"x": 2, "y": 4}, [0, 2, 3, 4, 1, 5, 6, 7], 4)
    (verdict,) = uniformity(sharding_of(mesh, P("y"), 1))
    assert verdict.held[:2] == (1, 2)
    assert verdict.reason == "process 0 addresses 1 of its 4 blocks, process 1 2"


def test_the_error_lists_the_legal_global_shapes():
    layout = sharding_of(FIGURE_1, P("x", "y"), 2)
    with pytest.raises(LayoutError) as error:
        global_shape_of(layout, (2, 4))
    assert str(error.value) == (
        "dimension 1 has no one global size: process 0 addresses blocks 0, 1, 2, process 1 blocks 0, 2, 3. "
        "Give the global shape; legal for local (2, 4): 4 in dimension 0, 4 in dimension 1"
    )


def test_the_second_figure_doubled_has_four_legal_global_shapes():
    layout = sharding_of(FIGURE_2, P("x", "y"), 2)
    data = [np.zeros((4, 4))] * 4
    for shape in [(4, 4), (4, 8), (8, 4), (8, 8)]:
        assert make_array_from_process_local_data(layout, data, shape).shape == shape
    with pytest.raises(LayoutError) as error:
        make_array_from_process_local_data(layout, data, (12, 4))
    assert str(error.value) == (
        "dimension 0 of the data of process 0 has 4 elements; for global shape (12, 4) it must have 12, "
        "all of them, "
        "or 6, those its devices hold. As global sizes, legal for local (4, 4): 4 or 8 in dimension 0, "
        "4 or 8 in dimension 1"
    )


def test_a_dimension_that_does_not_divide():
    layout = sharding_of(FIGURE_2, P("x", "y"), 2)
    with pytest.raises(LayoutError) as error:
        make_array_from_process_local_data(layout, np.zeros((2, 2)), (2, 2))
    assert str(error.value) == (
        "dimension 1 of global shape (2, 2) has 2 elements, which are not divisible into 4 blocks"
    )


def test_slices_with_gaps_are_found_packed():
    mesh = Mesh({"x": 8}, [0, 2, 1, 4, 6, 5, 3, 7], 4)
    layout = sharding_of(mesh, P("x"), 1)
    data = [np.arange(8) + 10 * process for process in range(4)]
    array = make_array_from_process_local_data(layout, data)
    assert array.shape == (32,)
    assert [s.index for s in array.addressable_shards(0)] == [((0, 4),), ((8, 12),)]
    assert [s.data.tolist() for s in array.addressable_shards(0)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert np.asarray(array)[8:12].tolist() == [4, 5, 6, 7]


def test_replicas_on_different_processes_that_disagree():
    layout = sharding_of(Mesh({"x": 2, "y": 2}, processes=2), P(None, "y"), 2)
    data = [np.zeros((2, 2)), np.ones((2, 2))]
    with pytest.raises(ReplicationError, match="device 0 of process 0 and device 2 of process 1"):
        make_array_from_process_local_data(layout, data)
    array = make_array_from_process_local_data(layout, data, check_replicas=False)
    with pytest.raises(ReplicationError, match="hold the same block"):
        array.check_replicas()


def test_replicas_that_agree():
    layout = sharding_of(Mesh({"x": 2, "y": 2}, processes=2), P(None, "y"), 2)
    array = make_array_from_process_local_data(layout, np.array([[1.0, np.nan]]))
    assert array.shape == (1, 2)
    array.check_replicas()


def test_one_process_gives_the_whole_array():
    layout = sharding_of(Mesh({"x": 4}), P("x"), 1)
    assert make_array_from_process_local_data(layout, np.arange(8)).shape == (8,)
    with pytest.raises(LayoutError, match="dimension 0 of the data of process 0 has 8 elements"):
        make_array_from_process_local_data(layout, np.arange(8), (16,))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([np.zeros(4)], "there are 2 processes, but data of 1"),
        ([np.zeros(4), np.zeros((2, 2))], "process 1 gives float64 of 2 dimensions, process 0 float64 of 1"),
        (np.zeros((4, 1)), "local data has 2 dimensions, the sharding [x] has 1"),
    ],
)
def test_data_that_cannot_be(data: Any, message: str):
    layout = sharding_of(Mesh({"x": 4}, processes=2), P("x"), 1)
    with pytest.raises(LayoutError) as error:
        make_array_from_process_local_data(layout, data)
    assert str(error.value) == message


def test_the_example_of_the_documentation():
    """With 4 processes of 2 devices; every process gives other rows."""
    mesh = Mesh(np.arange(8).reshape(2, 4), ("x", "y"), processes=4)
    sharding = NamedSharding(mesh, P(("x", "y")))
    rows_per_device, feature_length = 2, 32
    per_device_shape = (rows_per_device, feature_length)
    per_host_shape = (rows_per_device * len(mesh.local_devices), feature_length)
    per_host_data = [np.arange(np.prod(per_host_shape)).reshape(per_host_shape) + 1000 * p for p in range(4)]
    global_shape = (rows_per_device * len(sharding.device_set), *per_device_shape[1:])
    output = make_array_from_process_local_data(sharding, per_host_data, global_shape)
    assert output.addressable_data(0).shape == per_device_shape == sharding.shard_shape(global_shape)
    assert output.shape == global_shape == (16, 32)
    assert output.addressable_data(1, process=3)[0, 0] == 3064
    same = make_array_from_callback(global_shape, sharding, np.asarray(output).__getitem__)
    assert np.array_equal(same, np.asarray(output))
    assert sharding.devices_indices_map(global_shape)[3] == (slice(6, 8), slice(0, 32))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (P("z"), "has no axis z; it has x, y"),
        (P("x", "x"), "axis x is used twice"),
        ("x", "a partition spec is P"),
    ],
)
def test_shardings_that_cannot_be(spec: Any, message: str):
    with pytest.raises(LayoutError, match=message):
        NamedSharding(Mesh({"x": 2, "y": 4}), spec)


def test_a_global_shape_is_of_whole_numbers():
    sharding = NamedSharding(Mesh({"x": 2}), P("x"))
    size: Any = 4.0
    with pytest.raises(LayoutError, match=r"dimension 0 of global shape \(4.0,\) is no whole number"):
        make_array_from_process_local_data(sharding, np.zeros(4), (size,))


def test_which_global_shapes_fit():
    """The second figure with twice the sizes, since its 2 columns are no 4 parts."""
    mesh = Mesh(np.array([[0, 2, 1, 3], [4, 6, 5, 7]]), ("x", "y"), processes=4)
    layout = sharding_of(mesh, P("x", "y"), 2)
    assert global_shapes_of(layout, (4, 4)) == [(4, 4), (4, 8), (8, 4), (8, 8)]
    assert global_shapes_of(layout, (2, 2)) == [(2, 4), (4, 4)]
    assert global_shapes_of(layout, (4, 3)) == []
    assert [num_addressable_indices(layout, dim, (8, 8)) for dim in (0, 1)] == [4, 4]


def test_meshes_that_cannot_be():
    with pytest.raises(LayoutError, match="array of 2 dimensions of device numbers needs as many axis names"):
        Mesh(np.arange(8).reshape(2, 4), ("x",))
    with pytest.raises(LayoutError, match="there is no process 4; mesh mesh has 4"):
        Mesh({"x": 8}, processes=4).devices_of(4)
    layout = sharding_of(Mesh({"x": 2}), P("x"), 1)
    with pytest.raises(LayoutError, match=r"device 0 is to have a block of shape \(2,\), not \(4,\)"):
        make_array_from_callback((4,), layout, lambda index: np.zeros(4))


def test_processes_reach_the_emitted_program():
    text = "mesh pod[data=4] processes 2\n\ndef main(x: f32[8@data]):\n    return x + x\n"
    program = shardc.compile(text, target="numpy")
    assert program.mesh is not None and program.mesh.processes == 2
    assert "processes=2" in program.source
    assert program.module.mesh().processes == 2
