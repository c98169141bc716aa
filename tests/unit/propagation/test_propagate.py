"""Whole programs through every layer, built without any IR; expected shardings by hand."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.analysis.build import GraphBuilder, program
from shardc.diagnostics import ShardcError, collecting
from shardc.graph import Dense, DotDims, TensorType
from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.propagation import Options, Result, propagate

MESH = Mesh("m", (("x", 2), ("y", 4)))
X, Y = MESH.axis("x"), MESH.axis("y")
MATMUL = DotDims(lhs_contracting=(1,), rhs_contracting=(0,))
SQUARE = TensorType((8, 8), "f32")
VECTOR = TensorType((8,), "f32")
ONES = Dense(np.ones((), np.float32), (8,))
TRUE = Dense(np.ones((), np.bool_), ())


def open_(*dims: tuple[Axis, ...]) -> Sharding:
    return Sharding(MESH, tuple(Dim(axes, True) for axes in dims))


def closed(*dims: tuple[Axis, ...]) -> Sharding:
    return Sharding(MESH, tuple(Dim(axes) for axes in dims))


def found(result: Result, *values: int) -> list[str]:
    return [str(result.sharding(value)) for value in values]


def test_a_layer_with_split_weights() -> None:
    values: list[int] = []

    def body(b: GraphBuilder, x: int, w1: int, w2: int) -> list[int]:
        h = b.one("stablehlo.tanh", b.one("stablehlo.dot_general", x, w1, dot_dimension_numbers=MATMUL))
        values.extend([x, w1, w2, h])
        return [b.one("stablehlo.dot_general", h, w2, dot_dimension_numbers=MATMUL)]

    given = [open_((X,), ()), open_((), (Y,)), None]
    result = propagate(program([SQUARE] * 3, body, arg_shardings=given))
    assert found(result, *values) == ["[x?, -?]", "[-?, y?]", "[y?, -?]", "[x?, y?]"]
    assert [str(s) for s in result.results["main"]] == ["[x?, -?]"]


def test_nothing_is_found_where_nothing_is_stated() -> None:
    result = propagate(program([SQUARE], lambda b, x: [b.one("stablehlo.tanh", x)]))
    assert result.results == {"main": [None]} and result.conflicts == []


def test_the_graph_is_left_alone() -> None:
    graph = program([VECTOR], lambda b, x: [b.one("stablehlo.tanh", x)], arg_shardings=[open_((X,))])
    before = [(v.id, v.sharding) for v in graph.values]
    propagate(graph)
    assert [(v.id, v.sharding) for v in graph.values] == before


def test_op_priorities_let_elementwise_operations_decide_first() -> None:
    # all at once, the contraction decides about its result, as it comes first in the program
    def body(b: GraphBuilder, x: int, w: int, bias: int) -> list[int]:
        h = b.one("stablehlo.dot_general", x, w, dot_dimension_numbers=MATMUL)
        return [b.one("stablehlo.add", h, bias)]

    given = [open_((X,), ()), None, open_((Y,), (X,))]
    graph = program([SQUARE] * 3, body, arg_shardings=given)
    contraction = graph.main.body.nodes[0].results[0]
    rounds, at_once = (
        str(propagate(graph, Options(op_priorities=on)).sharding(contraction)) for on in (True, False)
    )
    assert (rounds, at_once) == ("[y?, x?]", "[x?, -?]")


def test_user_priorities() -> None:
    late = Sharding(MESH, (Dim((X,), True, priority=1),))

    def body(b: GraphBuilder, x: int, y: int) -> list[int]:
        return [b.one("stablehlo.add", x, y)]

    graph = program([VECTOR] * 2, body, arg_shardings=[late, open_((Y,))])
    result = propagate(graph)
    assert found(result, *graph.main.body.args) == ["[x?]", "[y?]"]
    assert str(result.results["main"][0]) == "[y?]"
    ignored = propagate(graph, Options("basic", user_priorities=False))
    assert ignored.results["main"] == [None]


def test_a_loop_is_one_place() -> None:
    flag = TensorType((), "bool")

    def body(b: GraphBuilder, x: int) -> list[int]:
        return b.op(
            "stablehlo.while",
            x,
            regions=[
                ([VECTOR], lambda b, v: [b.one("stablehlo.constant", result=flag, value=TRUE)]),
                ([VECTOR], lambda b, v: [b.one("stablehlo.tanh", v)]),
            ],
            results=[VECTOR],
        )

    graph = program([VECTOR], body, arg_shardings=[open_((Y,))])
    result = propagate(graph)
    assert {str(s) for s in result.bodies[0].shardings.values() if s is not None} == {"[y?]"}
    (loop,) = graph.main.body.nodes[:-1]
    inner = [*loop.regions[0].args, *loop.regions[1].args, *loop.regions[1].results]
    assert found(result, *inner) == ["[y?]"] * 3


def test_every_call_has_a_body_of_its_own() -> None:
    builder = GraphBuilder()
    builder.mesh(MESH)
    builder.function("f", [VECTOR], lambda b, v: [b.one("stablehlo.tanh", v)], public=False)

    def body(b: GraphBuilder, x: int, y: int) -> list[int]:
        return [b.one("func.call", x, callee="f"), b.one("func.call", y, callee="f")]

    builder.function("main", [VECTOR] * 2, body, arg_shardings=[open_((X,)), open_((Y,))])
    result = propagate(builder.graph)
    inner = [{str(s) for s in b.shardings.values()} for b in result.bodies if b.function == "f"]
    assert inner == [{"[x?]"}, {"[y?]"}]
    assert [str(s) for s in result.results["main"]] == ["[x?]", "[y?]"]


def test_a_function_that_calls_itself_is_an_error() -> None:
    builder = GraphBuilder()
    builder.function("f", [VECTOR], lambda b, v: [v], public=False)
    builder.function("f", [VECTOR], lambda b, v: [b.one("func.call", v, callee="f")], public=False)
    builder.function("main", [VECTOR], lambda b, v: [b.one("func.call", v, callee="f")])
    with pytest.raises(ShardcError, match="@f calls itself"):
        propagate(builder.graph)


def test_constants_are_copied_for_uses_that_differ() -> None:
    def body(b: GraphBuilder, x: int, y: int) -> list[int]:
        c = b.one("stablehlo.constant", result=VECTOR, value=ONES)
        return [b.one("stablehlo.add", x, c), b.one("stablehlo.add", y, c)]

    graph = program([VECTOR] * 2, body, arg_shardings=[open_((X,)), open_((Y,))])
    result = propagate(graph)
    constants = [n for n in result.graph.main.body.nodes if n.name == "stablehlo.constant"]
    assert [found(result, *node.results) for node in constants] == [["[x?]"], ["[y?]"]]
    same = program([VECTOR] * 2, body, arg_shardings=[open_((X,)), open_((X,))])
    assert propagate(same).copies == {}


def test_a_closed_constraint_is_stated_of_its_operand() -> None:
    def body(b: GraphBuilder, x: int) -> list[int]:
        h = b.one("stablehlo.tanh", x)
        return [b.one("sdy.sharding_constraint", h, sharding=closed((Y,))), h]

    graph = program([VECTOR], body)
    result = propagate(graph)
    assert [str(s) for s in result.results["main"]] == ["[y?]", "[y?]"]
    assert str(result.sharding(graph.main.body.nodes[0].results[0])) == "[y]"


def test_a_barrier_lets_shardings_through_one_way() -> None:
    def body(b: GraphBuilder, x: int) -> list[int]:
        (y,) = b.op("sdy.propagation_barrier", x, results=[VECTOR], allowed_direction="BACKWARD")
        return [y]

    forward = propagate(program([VECTOR], body, arg_shardings=[open_((X,))]))
    assert forward.results["main"] == [None]
    graph = program([VECTOR], body, result_shardings=[open_((X,))])
    assert found(propagate(graph), *graph.main.body.args) == ["[x?]"]


def test_groups() -> None:
    def body(b: GraphBuilder, x: int, y: int) -> list[int]:
        b.op("sdy.sharding_group", x, results=[], group_id=7)
        b.op("sdy.sharding_group", y, results=[], group_id=7)
        return [b.one("stablehlo.tanh", y)]

    result = propagate(program([VECTOR] * 2, body, arg_shardings=[open_((X,)), None]))
    assert [str(s) for s in result.results["main"]] == ["[x?]"]
    with collecting() as warnings:
        result = propagate(program([VECTOR] * 2, body, arg_shardings=[open_((X,)), open_((Y,))]))
    assert len(result.added) == 2 and result.conflicts == warnings
    assert "sharding group 7 start with different shardings: [x?], [y?]" in warnings[0].message
    wrong = program([VECTOR, SQUARE], body)
    with pytest.raises(ShardcError, match=r"for groupId: 7(.|\n)*values of shapes \[8\] and \[8, 8\]"):
        propagate(wrong)


def test_two_meshes_in_one_operation_are_reported() -> None:
    other = Mesh("n", MESH.axes, tuple(reversed(range(8))))
    given = [open_((X,)), Sharding(other, (Dim((X,), True),))]
    with collecting() as warnings:
        propagate(program([VECTOR] * 2, lambda b, x, y: [b.one("stablehlo.add", x, y)], arg_shardings=given))
    assert "stablehlo.add has tensors on the meshes m[x=2, y=4] and n[x=2, y=4]" in warnings[0].message


def test_axes_of_size_one_say_nothing() -> None:
    mesh = Mesh("m", (("one", 1), ("x", 2)))
    given = Sharding(mesh, (Dim((mesh.axis("one"), mesh.axis("x")), True),))
    graph = program([VECTOR], lambda b, x: [b.one("stablehlo.tanh", x)], arg_shardings=[given])
    assert [str(s) for s in propagate(graph).results["main"]] == ["[x?]"]


def test_changes_are_told() -> None:
    told: list[tuple[str, int, str]] = []
    graph = program([VECTOR], lambda b, x: [b.one("stablehlo.tanh", x)], arg_shardings=[open_((X,))])
    propagate(graph, on_change=lambda link, tensor, old, new: told.append((link.kind, tensor, str(new))))
    assert told == [("stablehlo.tanh", 1, "[x?]"), ("func.return", 1, "[x?]")]


def test_export_options() -> None:
    odd = TensorType((6,), "f32")
    graph = program([odd], lambda b, x: [b.one("stablehlo.tanh", x)], arg_shardings=[closed((Y,))])
    assert found(propagate(graph, Options(divisible=True)), *graph.main.body.args) == ["[y:(1)2]"]
    assert [str(s) for s in propagate(graph, Options(closed=True)).results["main"]] == ["[y]"]
