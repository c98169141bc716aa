"""The builder: what it builds prints, verifies, and comes back from a snapshot with the same attributes."""

import numpy as np
import pytest
from xdsl.ir import Operation

from shardc.dialects.build import IRBuilder
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.dialects.wellformed import verify
from shardc.frontend.mlir import read
from shardc.graph import ConvDims, Dense, DotDims, GatherDims, Location, ScatterDims, TensorType, walk
from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.ops import ShapeError

T = TensorType
MESH = Mesh("pod", (("x", 4), ("y", 2)))
X, Y = MESH.axis("x"), MESH.axis("y")
ROWS = Sharding(MESH, (Dim((X,)), Dim()))
SCALAR = T((), "f32")


def add(b, p, q):
    return [b.one("stablehlo.add", p, q)]


def built(types, build, **options):
    """A module whose main is `build(builder, *arguments)`, and its nodes but the return."""
    b = IRBuilder()
    b.mesh(MESH)
    with b.func("main", types, **options) as args:
        b.ret(build(b, *args))
    verify(b.module)
    text = print_module(b.module)
    assert print_module(read(text)) == text
    return b.module, snapshot(b.module).graph.main.body.nodes[:-1]


IMAGE = T((1, 8, 8, 3), "f32")
CASES = {
    "stablehlo.transpose": ([T((2, 3), "f32")], {"permutation": (1, 0)}),
    "stablehlo.reverse": ([T((2, 3), "f32")], {"dimensions": (1,)}),
    "stablehlo.concatenate": ([T((2,), "i32"), T((3,), "i32")], {"dimension": 0}),
    "stablehlo.compare": ([SCALAR, SCALAR], {"comparison_direction": "LT", "compare_type": "FLOAT"}),
    "stablehlo.slice": (
        [T((8, 4), "f32")],
        {"start_indices": (0, 1), "limit_indices": (8, 4), "strides": (2, 1)},
    ),
    "stablehlo.pad": (
        [T((8,), "f32"), SCALAR],
        {"edge_padding_low": (1,), "edge_padding_high": (-1,), "interior_padding": (0,)},
    ),
    "stablehlo.dot_general": (
        [T((2, 3, 4), "f32"), T((2, 4, 5), "f32")],
        {
            "dot_dimension_numbers": DotDims((0,), (0,), (2,), (1,)),
            "precision_config": ("DEFAULT", "HIGHEST"),
        },
    ),
    "stablehlo.dynamic_slice": ([T((8, 4), "f32"), T((), "i32"), T((), "i32")], {"slice_sizes": (1, 4)}),
    "stablehlo.gather": (
        [T((8, 4), "f32"), T((5, 1), "i32")],
        {
            "dimension_numbers": GatherDims((1,), (0,), (), (), (0,), 1),
            "slice_sizes": (1, 4),
            "indices_are_sorted": False,
        },
    ),
    "stablehlo.convolution": (
        [IMAGE, T((3, 3, 3, 4), "f32")],
        {
            "window_strides": (1, 1),
            "padding": ((1, 1), (1, 1)),
            "window_reversal": (False, True),
            "dimension_numbers": ConvDims(0, 3, (1, 2), 2, 3, (0, 1), 0, 3, (1, 2)),
            "feature_group_count": 1,
            "batch_group_count": 1,
        },
    ),
    "stablehlo.cholesky": ([T((4, 4), "f32")], {"lower": True}),
    "chlo.top_k": ([T((8,), "f32")], {"k": 2}),
    "sdy.reshard": ([T((8, 4), "f32")], {"sharding": ROWS}),
    "sdy.all_gather": (
        [T((8, 4), "f32")],
        {"gathering_axes": ((Axis("x", 2, 2),), ()), "out_sharding": Sharding(MESH, (Dim(), Dim((Y,))))},
    ),
    "sdy.all_to_all": (
        [T((8, 4), "f32")],
        {"params": (((X,), 0, 1),), "out_sharding": Sharding(MESH, (Dim(), Dim((X,))))},
    ),
    "sdy.all_reduce": (
        [T((8, 4), "f32")],
        {
            "reduction_axes": (Y,),
            "out_sharding": Sharding(MESH, (Dim(), Dim()), unreduced=(X,), kind="max"),
        },
    ),
    "sdy.propagation_barrier": ([SCALAR], {"allowed_direction": "FORWARD"}),
}


@pytest.mark.parametrize("name", CASES)
def test_attributes_come_back(name):
    types, attrs = CASES[name]
    _, (node,) = built(types, lambda b, *args: b.op(name, *args, **attrs))
    assert node.name == name
    assert dict(node.attrs) == attrs


REGIONS = {
    "stablehlo.reduce": ([T((8, 4), "f32"), SCALAR], {"dimensions": (1,)}),
    "stablehlo.reduce_window": (
        [T((8,), "f32"), SCALAR],
        {"window_dimensions": (2,), "window_strides": (2,), "padding": ((0, 0),)},
    ),
    "stablehlo.scatter": (
        [T((8, 4), "f32"), T((5, 1), "i32"), T((5, 4), "f32")],
        {
            "scatter_dimension_numbers": ScatterDims((1,), (0,), (), (), (0,), 1),
            "indices_are_sorted": False,
            "unique_indices": True,
        },
    ),
}


@pytest.mark.parametrize("name", REGIONS)
def test_bodies_come_back(name):
    types, attrs = REGIONS[name]
    region = ([SCALAR, SCALAR], add)
    _, (node,) = built(types, lambda b, *args: b.op(name, *args, regions=[region], **attrs))
    assert dict(node.attrs) == attrs
    assert [inner.name for inner in node.regions[0].nodes] == ["stablehlo.add", "stablehlo.return"]
    assert node.regions[0].nodes[0].operands == node.regions[0].args


def test_a_loop_prints_its_names_once():
    counter = T((), "i32")

    def loop(b, start):
        def cond(b, i):
            return [b.one("stablehlo.compare", i, i, comparison_direction="NE")]

        return b.op("stablehlo.while", start, regions=[([counter], cond), ([counter], lambda b, i: [i])])

    module, (node,) = built([counter], loop)
    assert len(node.regions) == 2 and node.regions[1].results == node.regions[1].args
    assert "stablehlo.while(%2 = %0) : tensor<i32> cond {" in print_module(module)


def test_per_device_code():
    local = T((2, 4), "f32")

    def body(b, block):
        block = b.one("spmd.all_reduce", block, axes=(X, Axis("y", 2)), kind="max")
        return [b.one("spmd.collective_permute", block, axes=(X,), pairs=((0, 1), (1, 0)))]

    def build(b, x):
        return b.manual_computation(
            [x],
            body,
            local_types=[local],
            in_shardings=[ROWS],
            out_shardings=[ROWS],
            results=[T((8, 4), "f32")],
        )

    module, (node,) = built([T((8, 4), "f32")], build)
    assert node.attrs == {"in_shardings": (ROWS,), "out_shardings": (ROWS,), "manual_axes": ("x", "y")}
    reduce, permute, _ = node.regions[0].nodes
    assert reduce.attrs == {"axes": (X, Y), "kind": "max"}
    assert permute.attrs == {"axes": (X,), "pairs": ((0, 1), (1, 0))}
    assert '"spmd.all_reduce"(%2) {axes = ["x", "y"], kind = "max"}' in print_module(module)


def test_names_places_and_tags():
    b = IRBuilder()
    with b.func("main", [SCALAR], locs=[Location("p.shard", 1, 7, "x")]) as (x,):
        with b.at(Location("p.shard", 2, 3, "h")), b.tagged({"shardc.group": "softmax#1/1"}):
            h = b.one("stablehlo.exponential", x)
        b.ret([h])
    text = print_module(b.module, locations=True)
    assert '%x: tensor<f32> loc("x"("p.shard":1:7))' in text
    assert '%h = stablehlo.exponential %x {shardc.group = "softmax#1/1"} : tensor<f32>' in text
    assert 'loc("h"("p.shard":2:3))' in text
    graph = snapshot(read(text)).graph
    (node, _) = graph.main.body.nodes
    assert node.attrs == {"shardc.group": "softmax#1/1"} and node.loc == Location("p.shard", 2, 3, "h")
    assert graph.values[0].loc == Location("p.shard", 1, 7, "x")


def test_constants_keep_their_splat():
    value = Dense(np.array(-np.inf, np.float32), (10**9, 10**9))
    _, (node,) = built([], lambda b: [b.one("stablehlo.constant", value=value)])
    assert node.attrs["value"] == value


def test_insertion_before_an_operation():
    b = IRBuilder()
    with b.func("main", [SCALAR]) as (x,):
        y = b.one("stablehlo.exponential", x)
        b.ret([y])
    assert isinstance(y.owner, Operation)
    b.before(y.owner)
    b.one("stablehlo.negate", x)
    names = [node.name for node in walk(snapshot(b.module).graph.main.body)]
    assert names == ["stablehlo.negate", "stablehlo.exponential", "func.return"]


def test_what_does_not_fit():
    b = IRBuilder()
    with b.func("main", [SCALAR, T((4,), "f32")]) as (x, y):
        with pytest.raises(ShapeError):
            b.one("stablehlo.add", x, y)
        with pytest.raises(ValueError, match=r"stablehlo\.iota has no attribute dim; it has iota_dimension"):
            b.one("stablehlo.iota", result=T((4,), "i32"), iota_dimension=0, dim=0)
        with pytest.raises(ValueError, match=r"stablehlo\.ad is no operation"):
            b.one("stablehlo.ad", x, x)
        b.ret([])


def test_calls():
    b = IRBuilder()
    with b.func("twice", [SCALAR], public=False) as (x,):
        b.ret([b.one("stablehlo.add", x, x)])
    with b.func("main", [SCALAR]) as (x,):
        b.ret(b.op("func.call", x, results=[SCALAR], callee="twice"))
    verify(b.module)
    graph = snapshot(b.module).graph
    assert not graph.functions["twice"].public
    assert graph.main.body.nodes[0].attrs == {"callee": "twice"}
