"""Sequences are lists while compiling: programs have none, and give what ONNX's own evaluator gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper
from onnx.reference import ReferenceEvaluator

from shardc.dialects.snapshot import snapshot
from shardc.interpret.run import run
from tests.onnx_small import lowering, model, refused
from tests.tolerance import assert_near

X = np.arange(7 * 4, dtype=np.float32).reshape(7, 4)
NUMBERS = {name: np.array(value, np.int64) for name, value in (("zero", 0), ("two", 2), ("last", -1))}


def at(sequence: str, place: str, result: str) -> Any:
    return helper.make_node("SequenceAt", [sequence, place], [result])


def joined(sequence: str, axis: int = 0, **attributes: Any) -> Any:
    return helper.make_node("ConcatFromSequence", [sequence], ["y"], axis=axis, **attributes)


def split(*inputs: str, result: str = "s", **attributes: Any) -> Any:
    return helper.make_node("SplitToSequence", ["x", *inputs], [result], **attributes)


ONES: dict[str, list[Any]] = {
    "parts of one size": [split("two", axis=0), at("s", "last", "y")],
    "parts of stated sizes": [split("sizes", axis=1), at("s", "zero", "y")],
    "parts of one element": [split(axis=0), at("s", "two", "y")],
    "without the dimension": [split(axis=1, keepdims=0), at("s", "two", "y")],
    "a list and its end": [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("SequenceConstruct", ["x", "r", "x"], ["s"]),
        helper.make_node("SequenceErase", ["s", "zero"], ["t"]),
        helper.make_node("SequenceErase", ["t"], ["u"]),
        helper.make_node("SequenceInsert", ["u", "x", "zero"], ["v"]),
        joined("v"),
    ],
    "stacked": [split("two", axis=1), joined("s", axis=1, new_axis=1)],
    "stacked at the end": [split("two", axis=1), joined("s", axis=-1, new_axis=1)],
    "from nothing": [
        helper.make_node("SequenceEmpty", [], ["none"]),
        helper.make_node("SequenceInsert", ["none", "x"], ["s"]),
        helper.make_node("SequenceInsert", ["s", "x", "last"], ["t"]),
        joined("t", axis=1),
    ],
    "a shape of parts": [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("SplitToSequence", ["shape"], ["s"], axis=0, keepdims=1),
        at("s", "last", "columns"),
        at("s", "zero", "rows"),
        helper.make_node("SequenceConstruct", ["columns", "rows"], ["t"]),
        helper.make_node("ConcatFromSequence", ["t"], ["turned"], axis=0),
        helper.make_node("Reshape", ["x", "turned"], ["y"]),
    ],
    "as long as it is": [
        split(axis=0),
        helper.make_node("SequenceLength", ["s"], ["n"]),
        helper.make_node("Cast", ["n"], ["float"], to=1),
        helper.make_node("Mul", ["x", "float"], ["y"]),
    ],
}


def made(nodes: list[Any]) -> ModelProto:
    return model(nodes, {"x": list(X.shape)}, ["y"], sizes=np.array([1, 3]), **NUMBERS)


@pytest.mark.parametrize("nodes", ONES.values(), ids=ONES)
def test_as_onnx_evaluates_it(nodes: list[Any]) -> None:
    proto = made(nodes)
    (wanted,) = ReferenceEvaluator(proto).run(None, {"x": X})
    (got,) = run(snapshot(lowering(proto).module).graph, [X])
    assert_near(got, wanted)


REFUSED = {
    "place 7 of a sequence of 7": [split(axis=0), at("s", "seven", "y")],
    "parts [2, 3] of axis 0": [split("wrong", axis=0), joined("s")],
    "the place in a sequence depends on the value of": [
        helper.make_node("ArgMax", ["x"], ["rows"], axis=0, keepdims=0),
        helper.make_node("ReduceMax", ["rows"], ["i"], keepdims=0),
        split(axis=0),
        at("s", "i", "y"),
    ],
    "Relu of sequence": [split(axis=0), helper.make_node("Relu", ["s"], ["y"])],
    "output of kind sequence": [split(axis=0, result="y")],
    "an empty sequence cannot be joined": [helper.make_node("SequenceEmpty", [], ["s"]), joined("s")],
    "input 0 is no sequence": [at("x", "zero", "y")],
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_no_list_while_compiling(message: str) -> None:
    more = {"seven": np.array(7), "wrong": np.array([2, 3])}
    proto = model(REFUSED[message], {"x": list(X.shape)}, ["y"], **NUMBERS, **more)
    assert message in refused(proto)
