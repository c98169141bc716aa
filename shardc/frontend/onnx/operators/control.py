"""If and Loop. A condition that is known while compiling chooses its branch there and then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from onnx import GraphProto

from shardc.diagnostics import ShardcError, warn
from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.loops import Once, counted, loop, named, put
from shardc.frontend.onnx.operators.maths import add, compare
from shardc.frontend.onnx.operators.scans import scan
from shardc.frontend.onnx.operators.unrolling import counter_shape, unrolled
from shardc.frontend.onnx.values import Value
from shardc.frontend.text.emitter import NewRegion
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType
from shardc.ops import hlo

_BRANCHES = ("then_branch", "else_branch")


class _Unfit(Exception):
    """A branch whose shapes do not fit each other at these sizes."""

    def __init__(self, branch: str, error: ShardcError) -> None:
        super().__init__(branch)
        self.branch = branch
        self.error = error


class _Differ(Exception):
    """The branches give other types."""


def _if(n: Node) -> list[Value | Tensor]:
    condition = n.value(0)
    if condition.array is not None:
        return list(n.bodies.body(n.attributes[_BRANCHES[not condition.array.reshape(-1)[0]]], []))
    pred = n.e.reshape(n.x(0), ())
    for results in (_as_made, _as_declared):
        try:
            with n.bodies.undoing():
                return _branches(n, pred, results)
        except _Differ:
            continue
        except _Unfit as unfit:
            return _one_branch(n, pred, unfit)
    n.known(0, "the branches differ in shape, and which one runs depends on the value of")
    raise Invalid("the branches differ in shape")


def _branches(
    n: Node, pred: Tensor, results: Callable[[Node, GraphProto], list[Tensor]]
) -> list[Value | Tensor]:
    """Both branches; _Differ or _Unfit if they do not fit each other, or their own shapes."""
    first: list[TensorType] = []

    def region(branch: str) -> list[Tensor]:
        try:
            made = results(n, n.attributes[branch])
        except ShardcError as error:
            if error.diagnostic.loc.file is None:
                raise  # what the user said is wrong
            raise _Unfit(branch, error) from None
        types = [result.type for result in made]
        if branch == _BRANCHES[0]:
            first[:] = types
        elif types != first:
            raise _Differ
        return made

    bodies: list[NewRegion] = [((), partial(region, branch)) for branch in _BRANCHES]
    return list(n.e.ops(hlo.if_.name, pred, regions=bodies, weak=False))


def _as_made(n: Node, graph: GraphProto) -> list[Tensor]:
    return [value.tensor() for value in n.bodies.body(graph, [])]


def _as_declared(n: Node, graph: GraphProto) -> list[Tensor]:
    """A branch's results in the shapes that it states, where only dimensions of size 1 are more or fewer."""
    found: list[Tensor] = []
    for tensor, info in zip(_as_made(n, graph), graph.output, strict=True):
        known = info.type.tensor_type
        shape = tuple(int(dim.dim_value) for dim in known.shape.dim)
        same = known.HasField("shape") and _wide(shape) == _wide(tensor.shape)
        found.append(n.e.reshape(tensor, shape) if same else tensor)
    return found


def _wide(shape: Sequence[int]) -> list[int]:
    return [size for size in shape if size != 1]


def _one_branch(n: Node, pred: Tensor, unfit: _Unfit) -> list[Value | Tensor]:
    """The branch that fits; NaN where the condition chooses the other, which ONNX could not run either."""
    fits = next(branch for branch in _BRANCHES if branch != unfit.branch)
    types: list[TensorType] = []

    def region() -> list[Tensor]:
        results = [value.tensor() for value in n.bodies.body(n.attributes[fits], [])]
        types[:] = [result.type for result in results]
        return results

    def marked() -> list[Tensor]:
        message = unfit.error.diagnostic.message
        if any(type.dtype[0] != "f" and type.dtype != "bf16" for type in types):
            n.known(0, f"{unfit.branch} does not fit ({message}), and which one runs depends on the value of")
        warn(
            f"the {unfit.branch} of If does not fit at these sizes: {message}; the results are NaN where the "
            "condition chooses it",
            n.e.loc,
            "-D NAME=NUMBER fixes the input that the condition depends on",
        )
        return [n.e.splat(float("nan"), type) for type in types]

    chosen = pred if fits == _BRANCHES[0] else n.e.op(hlo.not_.name, pred)
    return list(n.e.ops(hlo.if_.name, chosen, regions=[((), region), ((), marked)], weak=False))


def _loop(n: Node) -> list[Value | Tensor]:
    """A loop of the program, or turn after turn where a turn needs to know its number.

    Stacked results need a number of turns that is known.
    """
    graph: GraphProto = n.attributes["body"]
    turns = int(n.known(0).reshape(-1)[0]) if n.has(0) and n.value(0).array is not None else None
    start = [value for value in n.inputs[2:] if value is not None]
    stacked = len(graph.output) - 1 - len(start)
    if stacked < 0:
        raise Invalid(f"a body of {len(graph.output)} results for {len(start)} carried values")
    if n.has(1) and n.value(1).array is not None and not n.known(1).reshape(-1)[0]:
        turns = 0
    always = _always(graph)
    if stacked and turns is None and n.has(0) and always:
        n.known(0, "the number of turns depends on the value of")
    tensors = [value.tensor() for value in start]

    def turn_by_turn() -> list[Value | Tensor]:
        return unrolled(n, graph, start, turns, stacked)

    if not stacked and (turns is None or not always):
        return n.bodies.tried(lambda: list(_while(n, graph, tensors)), turn_by_turn)
    if turns is not None and (always or not turns):
        counts = turns
        return n.bodies.tried(lambda: list(_stacking(n, graph, tensors, counts)), turn_by_turn)
    return turn_by_turn()


def _stacking(n: Node, graph: GraphProto, start: list[Tensor], turns: int) -> list[Tensor]:
    e = n.e
    once = Once(n, [t.type for t in start], lambda i, v: _turn(n, graph, e.cast(i, "i64"), v)[1:])
    stacks = [e.splat(0, TensorType((turns, *type.shape), type.dtype)) for type in once.types[len(start) :]]
    if not turns:
        return [*start, *stacks]

    def body(counter: Tensor, values: list[Tensor]) -> list[Tensor]:
        carried, results = values[: len(start)], values[len(start) :]
        outputs = once.placed(counter, carried)
        news = outputs[len(start) :]
        return [
            *outputs[: len(start)],
            *(put(e, r, new, counter) for r, new in zip(results, news, strict=True)),
        ]

    return counted(e, turns, [*start, *stacks], body)


def _turn(n: Node, graph: GraphProto, counter: Tensor, carried: list[Tensor]) -> list[Tensor]:
    """One turn of a Loop: the condition, the carried values, the results."""
    true = n.bodies.known("", np.array(True))
    values = [named(n.e.reshape(counter, counter_shape(graph))), true, *map(named, carried)]
    return [value.tensor() for value in n.bodies.body(graph, values)]


def _while(n: Node, graph: GraphProto, start: list[Tensor]) -> list[Tensor]:
    e = n.e
    limit = e.reshape(n.x(0), ()) if n.has(0) else None
    first = e.reshape(n.x(1), ()) if n.has(1) else e.splat(True, TensorType((), "bool"))

    def condition(counter: Tensor, *values: Tensor) -> list[Tensor]:
        *rest, holds = values
        if limit is None:
            return [holds]
        return [e.op(hlo.and_.name, holds, compare(e, "LT", counter, rest[0]))]

    def body(counter: Tensor, *values: Tensor) -> list[Tensor]:
        *carried, _ = values
        fixed, carried = (carried[:1], carried[1:]) if limit is not None else ([], carried)
        holds, *news = _turn(n, graph, counter, carried)
        return [add(e, counter, 1), *fixed, *news, e.reshape(holds, ())]

    zero = e.splat(0, TensorType((), "i64"))
    limits = [] if limit is None else [limit]
    results = loop(e, [zero, *limits, *start, first], condition, body)
    return results[1 + len(limits) : -1]


def _always(graph: GraphProto) -> bool:
    """Whether the condition that a body gives back is the one it got, or true."""
    got = graph.input[1].name
    name = graph.output[0].name
    makers = {output: node for node in graph.node for output in node.output}
    while name != got:
        node = makers.get(name)
        if node is None:
            return any(t.name == name and bool(t.raw_data or t.int32_data) for t in graph.initializer)
        if node.op_type == "Constant":
            from onnx import helper, numpy_helper

            values = [helper.get_attribute_value(a) for a in node.attribute if a.name == "value"]
            return bool(values) and bool(numpy_helper.to_array(values[0]).all())
        if node.op_type != "Identity":
            return False
        name = node.input[0]
    return True


def _has_element(n: Node) -> Value:
    """Whether there is a tensor."""
    return n.bodies.known(n.outputs[0], np.array(n.has(0)))


def _get_element(n: Node) -> Tensor:
    """The tensor that there is."""
    if not n.has(0):
        raise Invalid("there is no element to get")
    return n.x(0)


OPERATORS: dict[str, Lower] = {
    "If": _if,
    "Loop": _loop,
    "Scan": scan,
    "OptionalHasElement": _has_element,
    "OptionalGetElement": _get_element,
}
