"""Loops whose turns must be known one by one, and those whose number depends on data."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper

import shardc
from tests.onnx_small import model, refused
from tests.tolerance import assert_near


def loop(nodes: list[Any], stacked: list[str], *, most: int | None, stored: dict[str, Any]) -> ModelProto:
    """x is carried: y = x after the last turn, and what is stacked."""
    infos = [("i", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), ("v", TensorProto.FLOAT, [4])]
    results = [("on", TensorProto.BOOL), ("w", TensorProto.FLOAT), *((s, TensorProto.FLOAT) for s in stacked)]
    body = helper.make_graph(
        nodes,
        "turn",
        [helper.make_tensor_value_info(*info) for info in infos],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in results],
    )
    outputs = ["y", *(f"all_{s}" for s in stacked)]
    node = helper.make_node("Loop", ["m" if most is not None else "", "", "x"], outputs, body=body)
    given = stored if most is None else stored | {"m": np.array(most)}
    return model([node], {"x": [4]}, outputs, **given)


SLICES = [
    helper.make_node("Identity", ["go"], ["on"]),
    helper.make_node("Add", ["i", "one"], ["next"]),
    helper.make_node("Unsqueeze", ["next", "zeros"], ["end"]),
    helper.make_node("Slice", ["v", "zeros", "end"], ["part"]),
    helper.make_node("ReduceSum", ["part"], ["s"], keepdims=0),
    helper.make_node("Add", ["v", "s"], ["w"]),
]
ONE = {"one": np.array(1), "zeros": np.array([0]), "three": np.array(3)}
X = np.array([1, 2, -3, 5], np.float32)


def sliced(turns: int) -> tuple[np.ndarray, np.ndarray]:
    values, sums = X, []
    for i in range(turns):
        sums.append(values[: i + 1].sum())
        values = values + sums[-1]
    return values, np.array(sums, np.float32)


def test_a_body_that_needs_its_number_is_unrolled() -> None:
    program = shardc.from_onnx(loop(SLICES, ["s"], most=3, stored=ONE), target="numpy")
    assert "while" not in program.source
    for ours, theirs in zip(program.main(X), sliced(3), strict=True):
        assert_near(ours, theirs)


def test_a_known_condition_ends_a_loop_with_stacked_results() -> None:
    until = [helper.make_node("Less", ["next", "three"], ["on"]), *SLICES[1:3], *SLICES[3:]]
    until.insert(0, until.pop(1))
    for most in (9, None):
        program = shardc.from_onnx(loop(until, ["s"], most=most, stored=ONE), target="numpy")
        for ours, theirs in zip(program.main(X), sliced(3), strict=True):
            assert_near(ours, theirs)


def test_no_turns_stack_nothing() -> None:
    program = shardc.from_onnx(loop(SLICES, ["s"], most=0, stored=ONE), target="numpy")
    last, sums = program.main(X)
    np.testing.assert_array_equal(last, X)
    assert sums.shape == (0,)


def test_no_turns_stack_nothing_where_no_turn_needs_its_number() -> None:
    nodes = [
        helper.make_node("Identity", ["go"], ["on"]),
        helper.make_node("Tanh", ["v"], ["w"]),
        helper.make_node("Mul", ["v", "v"], ["s"]),
    ]
    program = shardc.from_onnx(loop(nodes, ["s"], most=0, stored={}), target="numpy")
    last, squares = program.main(X)
    np.testing.assert_array_equal(last, X)
    assert squares.shape == (0, 4)


def test_a_scan_of_no_rows_gives_what_it_began_with() -> None:
    rows = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("v", "row", "w", "s")]
    nodes = [helper.make_node("Add", ["v", "row"], ["w"]), helper.make_node("Mul", ["w", "row"], ["s"])]
    body = helper.make_graph(nodes, "turn", rows[:2], rows[2:])
    node = helper.make_node("Scan", ["x", "rows"], ["y", "all"], body=body, num_scan_inputs=1)
    program = shardc.from_onnx(model([node], {"x": [4], "rows": [0, 4]}, ["y", "all"]), target="numpy")
    last, products = program.main(X, np.ones((0, 4), np.float32))
    np.testing.assert_array_equal(last, X)
    assert products.shape == (0, 4)


def test_a_condition_that_depends_on_data_is_told() -> None:
    nodes = [
        helper.make_node("ReduceSum", ["v"], ["s"], keepdims=0),
        helper.make_node("Cast", ["s"], ["on"], to=TensorProto.BOOL),
        helper.make_node("Neg", ["v"], ["w"]),
    ]
    text = refused(loop(nodes, ["s"], most=3, stored={}))
    assert "y, all_s = Loop: the number of turns depends on the value of on <- s <- v <- x" in text
    program = shardc.from_onnx(loop(nodes[:3], [], most=3, stored={}), target="numpy")
    np.testing.assert_array_equal(program.main(X), -X)


def test_shapes_in_the_body_are_told_with_the_condition() -> None:
    """The loop cannot be one, for a slice, and not be unrolled, for its condition: both are told."""
    nodes = [
        helper.make_node("ReduceSum", ["v"], ["sum"], keepdims=0),
        helper.make_node("Less", ["sum", "limit"], ["on"]),
        *SLICES[1:],
    ]
    text = refused(loop(nodes, [], most=3, stored={**ONE, "limit": np.float32(9)}))
    assert "part = Slice: the result's shape depends on the value of end <- next <- i" in text
    assert "y = Loop: the number of turns depends on the value of on <- sum <- v <- x" in text


def test_turns_are_bounded() -> None:
    forever = [helper.make_node("Identity", ["go"], ["on"]), *SLICES[1:]]
    assert "more than 1024 turns" in refused(loop(forever, ["s"], most=None, stored=ONE))
    assert "more than 1024 turns" in refused(loop(forever, ["s"], most=10**15, stored=ONE))


def test_a_body_of_a_known_if_says_why_it_cannot_be_made() -> None:
    """The shape in the branch depends on data, which is the one reason."""
    names = ["depends"]
    then = helper.make_graph(
        [
            helper.make_node("Cast", ["x"], ["c"], to=TensorProto.INT64),
            helper.make_node("Range", ["zero", "c", "one"], ["r"]),
            helper.make_node("Cast", ["r"], names, to=TensorProto.FLOAT),
        ],
        "then",
        [],
        [helper.make_tensor_value_info("depends", TensorProto.FLOAT, None)],
    )
    node = helper.make_node("If", ["true"], ["y"], then_branch=then, else_branch=then)
    stored = {"zero": np.array(0), "one": np.array(1), "true": np.array(True)}
    text = refused(model([node], {"x": []}, ["y"], **stored))
    assert "r = Range: the result's shape depends on the value of c <- x" in text
    assert "body" not in text
