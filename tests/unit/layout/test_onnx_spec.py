"""ONNX sharding specifications: reading, structure, placement, and the shardings that they are."""

from __future__ import annotations

import json

import numpy as np
import pytest

from shardc.layout import Dim, LayoutError, Mesh, Sharding
from shardc.layout.notations import onnx
from shardc.layout.notations.onnx_placement import placement
from shardc.layout.notations.onnx_proto import from_proto, to_proto
from shardc.layout.notations.onnx_spec import ShardedDim, ShardingSpec, SimpleShard
from shardc.layout.notations.onnx_text import from_fields, read_spec, to_dict, write_spec

ROWS = ShardingSpec((-1, -2), (ShardedDim(0, (SimpleShard(2),)),), ((-1, (0, 1)), (-2, (2, 3))))
TEXTS = [
    """{ device = [-1, -2] // keys into device_map
         device_map = {-1: [0, 1], -2: [2, 3]}
         sharded_dim =[ { axis = 0 simple_sharding = [ { num_shards = 2 } ] } ] }""",
    """device: -1 device: -2
       index_to_device_group_map { key: -1 value: 0 value: 1 }
       index_to_device_group_map { key: -2 value: [2, 3] }
       sharded_dim { axis: 0 simple_sharding { num_shards: 2 } }""",
    """{"device": [-1, -2], "device_map": {"-1": [0, 1], "-2": [2, 3]},
        "sharded_dim": [{"axis": 0, "num_shards": 2}]}""",
]


def fused(*factors: tuple[int, int], device: tuple[int, ...]) -> ShardingSpec:
    """Axis 0 with factors of (size, shards)."""
    shards = tuple(SimpleShard(count, size) for size, count in factors)
    return ShardingSpec(device, (ShardedDim(0, shards),))


def held(spec: ShardingSpec, *shape: int) -> dict[int, list[list[int]]]:
    """Device -> the elements of arange, per shard."""
    tensor = np.arange(np.prod(shape)).reshape(shape)
    parts = placement(spec, shape).items()
    return {d: [tensor[np.ix_(*p.indices())].reshape(-1).tolist() for p in ps] for d, ps in parts}


@pytest.mark.parametrize("text", TEXTS)
def test_ways_to_write_it(text: str):
    assert read_spec(text) == ROWS


def test_written_and_read():
    assert read_spec(write_spec(ROWS)) == ROWS
    assert from_fields(json.loads(json.dumps(to_dict(ROWS)))) == ROWS
    spec = fused((2, 1), (4, 2), device=(0, 1))
    assert read_spec(write_spec(spec)) == spec


def test_protobuf():
    pytest.importorskip("onnx")
    symbol = ShardingSpec((0, 1), (ShardedDim(-1, (SimpleShard(2, "N"),)),), (), "x")
    for spec in (ROWS, symbol, fused((2, 1), (4, 2), device=(0, 1)), ShardingSpec()):
        assert from_proto(to_proto(spec)) == spec


@pytest.mark.parametrize(
    ("spec", "shape", "expected"),
    [
        (fused((2, 1), (4, 2), device=(0, 1)), (8,), {0: [[0, 1, 4, 5]], 1: [[2, 3, 6, 7]]}),
        (fused((2, 2), (4, 1), device=(0, 1)), (8,), {0: [[0, 1, 2, 3]], 1: [[4, 5, 6, 7]]}),
        (
            fused((4, 2), (4, 2), device=(0, 1, 2, 3)),
            (16,),
            {0: [[0, 1, 4, 5]], 1: [[2, 3, 6, 7]], 2: [[8, 9, 12, 13]], 3: [[10, 11, 14, 15]]},
        ),
        (ShardingSpec((-1,), (), ((-1, (3, 5)),)), (2,), {3: [[0, 1]], 5: [[0, 1]]}),
        (
            ShardingSpec((0, 1, 0, 1), (ShardedDim(0, (SimpleShard(4),)),)),
            (4,),
            {0: [[0], [2]], 1: [[1], [3]]},
        ),
        (
            ShardingSpec((0, 1, 2, 3), (ShardedDim(1, (SimpleShard(2),)), ShardedDim(0, (SimpleShard(2),)))),
            (2, 2),
            {0: [[0]], 1: [[2]], 2: [[1]], 3: [[3]]},
        ),
    ],
)
def test_placement(spec: ShardingSpec, shape: tuple[int, ...], expected: dict[int, list[list[int]]]):
    assert held(spec, *shape) == expected


def test_uneven_shards_need_a_policy():
    spec = ShardingSpec((0, 1), (ShardedDim(0, (SimpleShard(2),)),))
    with pytest.raises(LayoutError, match=r"axis 0 of \(3,\): 3 elements are not divisible"):
        placement(spec, (3,))
    assert [p[0].slices() for p in placement(spec, (3,), "balanced").values()] == [
        (slice(0, 2),),
        (slice(2, 3),),
    ]


def test_absurd_shapes_are_not_made():
    parts = placement(fused((2, 2), (10**17, 1), device=(0, 1)), (2 * 10**17,))
    assert parts[1][0].slices() == (slice(10**17, 2 * 10**17),)
    assert parts[1][0].shape == (10**17,)


def test_separate_stretches_are_no_slice():
    with pytest.raises(LayoutError, match="separate stretches of axis 0"):
        placement(fused((2, 1), (4, 2), device=(0, 1)), (8,))[0][0].slices()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{device=[0,1,2,3] sharded_dim=[{axis=0 num_shards=2} {axis=-2 num_shards=2}]}", "axis 0 is"),
        ("{device=[0,4] sharded_dim=[{axis=0 num_shards=2}]}", "device index 4 is out of range; there are 4"),
        ("{device=[0,1] sharded_dim=[{axis=2 num_shards=2}]}", "axis 2 is outside a tensor of 2 dimensions"),
        ("{device=[0] sharded_dim=[{axis=0 num_shards=2}]}", "2 shards, but 1 devices are listed"),
        ("{sharded_dim=[{axis=0 num_shards=2}]}", "2 shards, but no devices are listed"),
        ("{device=[0,-1] sharded_dim=[{axis=0 num_shards=2}]}", "device -1 is no device and no key"),
        ("{device=[-1] device_map={-1: [0, 0]}}", "needs different members"),
        ("{device=[-1] device_map={-1: []}}", "needs different members"),
        ("{device=[] sharded_dim=[{axis=0 num_shards=0}]}", "needs at least one shard"),
        ("{device=[0] sharded_dim=[{axis=0 num_shards=100000000}]}", "100000000 shards; at most"),
    ],
)
def test_structure(text: str, message: str):
    with pytest.raises(LayoutError, match=message):
        read_spec(text).check(2, 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{devices = [0]}", "has no devices"),
        ("{device = ['a']}", "device is a list of numbers, not a"),
        ("{device_map = {a: [0]}}", "a is no key of a device group"),
        ("{sharded_dim = [{num_shards = 2}]}", "needs its axis"),
        ("{sharded_dim = [{axis = 0}]}", "needs num_shards"),
        ("{sharded_dim = [{axis = 0 size = 2 num_shards = 1}]}", "no size; it has dim_value, dim_param"),
        ("[0, 1]", r"expected fields such as axis: 0, not \[0, 1\]"),
        ("{sharded_dim = 3}", "expected fields in braces"),
        ("{device = [0}", "expected a comma"),
    ],
)
def test_unreadable(text: str, message: str):
    with pytest.raises(LayoutError, match=message):
        read_spec(text)


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        (((2, 1), (4, 2)), "axis 0 has 9 elements, its factors are"),
        (((None, 1), (None, 2)), "axis 0 has 2 factors without a number as size"),
    ],
)
def test_factors_must_fit(factors: tuple[tuple[int, int], ...], message: str):
    with pytest.raises(LayoutError, match=message):
        placement(fused(*factors, device=(0, 1)), (9,))


# As shardings


def test_devices_anywhere():
    spec = read_spec("{device=[7, 4, 6, 5] sharded_dim=[{axis=1 num_shards=4}]}")
    sharding = onnx.sharding_of(spec, rank=2)
    assert sharding.mesh.ranks == (4, 5, 6, 7)
    assert onnx.spec_of(sharding) == spec


def test_on_a_given_mesh():
    mesh = Mesh("mesh", (("x", 2), ("y", 2)))
    assert onnx.sharding_of(ROWS, mesh, 2) == Sharding(mesh, (Dim((mesh.axis("x"),)), Dim()))
    with pytest.raises(LayoutError, match=r"is for devices \[0, 1, 2, 3\], mesh m\[z=3\] has \[0, 1, 2\]"):
        onnx.sharding_of(ROWS, Mesh("m", (("z", 3),)), 2)


def test_one_device():
    sharding = onnx.read("{device = [3]}", rank=1)
    assert sharding.mesh == Mesh("mesh", (), (3,)) and onnx.write(sharding) == "{device = [3]}"


def test_fused_axes_that_are_slices():
    sharding = onnx.sharding_of(fused((2, 2), (4, 2), device=(0, 1, 2, 3)))
    assert sharding.dims[0].parts == 4 and onnx.write(sharding).count("num_shards = 4") == 1


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (fused((2, 1), (4, 2), device=(0, 1)), "separate stretches of it; no sharding says that"),
        (ShardingSpec((0, 1, 0, 1), (ShardedDim(0, (SimpleShard(4),)),)), "device 0 holds shards 0 and 2"),
        (
            ShardingSpec((0, -1), (ShardedDim(0, (SimpleShard(2),)),), ((-1, (1, 2)),)),
            "no mesh has this layout: 1 devices hold block 0, 2 block 1",
        ),
        (ShardingSpec(), "lists no devices"),
        (ShardingSpec((0, 1), (ShardedDim(-1, (SimpleShard(2),)),)), "give the rank"),
    ],
)
def test_specifications_that_are_no_sharding(spec: ShardingSpec, message: str):
    with pytest.raises(LayoutError, match=message):
        onnx.sharding_of(spec)
