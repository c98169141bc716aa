"""Programs written through GraphBuilder."""

import numpy as np
import pytest

from shardc.analysis.build import GraphBuilder, program
from shardc.graph import Dense, TensorType, walk
from shardc.graph.types import Location
from shardc.layout import Dim, Mesh, Sharding
from shardc.ops import ShapeError, op_of

F32, I32 = TensorType((), "f32"), TensorType((), "i32")
MATRIX = TensorType((8, 4), "f32")
MESH = Mesh("pod", (("x", 2),))


def test_ids_are_dense_and_names_kept():
    sharding = Sharding(MESH, (Dim((MESH.axis("x"),)), Dim()))
    graph = program(
        [MATRIX, MATRIX],
        lambda b, x, y: [b.one("stablehlo.add", x, y)],
        names=["x", "y"],
        arg_shardings=[sharding, None],
    )
    assert [value.id for value in graph.values] == list(range(len(graph.values)))
    assert [graph.values[arg].loc.name for arg in graph.main.body.args] == ["x", "y"]
    assert graph.values[0].sharding == sharding
    assert graph.meshes == {"pod": MESH}
    assert [node.name for node in graph.main.body.nodes] == ["stablehlo.add", "func.return"]


def test_regions_end_in_their_terminators():
    def body(b, x):
        zero = b.one("stablehlo.constant", value=Dense(np.zeros((), np.float32), ()))
        add = ([F32, F32], lambda b, left, right: [b.one("stablehlo.add", left, right)])
        return b.op("stablehlo.reduce", x, zero, dimensions=(0, 1), regions=[add])

    graph = program([MATRIX], body)
    reduce = graph.main.body.nodes[1]
    assert op_of(graph, reduce).combiner == "sum"
    assert [node.name for node in reduce.regions[0].nodes] == ["stablehlo.add", "stablehlo.return"]
    ids = [node.id for node in walk(graph.main.body)]
    assert sorted(ids) == list(range(len(ids)))


def test_calls_have_the_types_of_their_callee():
    builder = GraphBuilder()
    builder.function("twice", [MATRIX], lambda b, x: [b.one("stablehlo.add", x, x)], public=False)
    builder.function("main", [MATRIX], lambda b, x: b.op("func.call", x, callee="twice"))
    assert builder.graph.types(builder.graph.main.body.results) == (MATRIX,)
    with pytest.raises(ShapeError, match="'thrice', which is no function"):
        builder.function("f", [MATRIX], lambda b, x: b.op("func.call", x, callee="thrice"))


def test_building_goes_on_where_a_graph_ends():
    graph = program([MATRIX], lambda b, x: [b.one("stablehlo.negate", x)])
    builder = GraphBuilder(graph)
    builder.function("more", [MATRIX], lambda b, x: [b.one("stablehlo.negate", x)])
    ids = [node.id for function in graph.functions.values() for node in walk(function.body)]
    assert sorted(ids) == list(range(4))


def test_operations_have_the_location_they_are_built_at():
    place = Location("prog.shard", 3, 5)

    def body(b, x):
        with b.at(place):
            return [b.name(b.one("stablehlo.negate", x), "y")]

    graph = program([MATRIX], body)
    assert graph.main.body.nodes[0].loc == place
    assert graph.values[graph.main.body.results[0]].loc == place.named("y")


def test_operations_outside_a_function_are_refused():
    builder = GraphBuilder()
    with pytest.raises(ValueError, match="built outside a function"):
        builder.one("stablehlo.iota", result=I32.with_shape((3,)), iota_dimension=0)
