"""If, Loop and Scan. A condition that is known while compiling chooses its branch there and then."""

from __future__ import annotations

import numpy as np
from onnx import GraphProto

from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.loops import COUNTER, Once, counted, loop
from shardc.frontend.onnx.operators.maths import add, axis, compare, transpose
from shardc.frontend.onnx.values import Value
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType
from shardc.ops import hlo


def _value(tensor: Tensor, name: str = "") -> Value:
    return Value(name, tensor.type, emitted=tensor)


def _if(n: Node) -> list[Value | Tensor]:
    condition = n.value(0)
    branches: list[GraphProto] = [n.attributes["then_branch"], n.attributes["else_branch"]]
    if condition.array is not None:
        return list(n.bodies.body(branches[not condition.array.reshape(-1)[0]], []))
    first: list[TensorType] = []

    def region(graph: GraphProto) -> list[Tensor]:
        results = [value.tensor() for value in n.bodies.body(graph, [])]
        types = [result.type for result in results]
        if graph is branches[0]:
            first[:] = types
        elif types != first:
            n.known(0, "the branches differ in shape, and which one runs depends on the value of")
        return results

    def body(graph: GraphProto):
        return (), lambda: region(graph)

    pred = n.e.reshape(n.x(0), ())
    return list(n.e.ops(hlo.if_.name, pred, regions=[body(graph) for graph in branches], weak=False))


def _loop(n: Node) -> list[Tensor]:
    """Stacked results need a number of turns that is known, and a condition that always holds."""
    e = n.e
    graph: GraphProto = n.attributes["body"]
    turns = int(n.known(0).reshape(-1)[0]) if n.has(0) and n.value(0).array is not None else None
    start = [value.tensor() for value in n.inputs[2:] if value is not None]
    stacked = len(graph.output) - 1 - len(start)
    if n.has(1) and n.value(1).array is not None and not n.known(1).reshape(-1)[0]:
        turns = 0
    if not stacked and (turns is None or not _always(graph)):
        return _while(n, graph, start)
    if turns is None:
        n.known(0, "the number of turns depends on the value of")
    if not _always(graph):
        raise n.unsupported("with stacked results and a condition")
    assert turns is not None
    once = Once(n, [t.type for t in start], lambda i, v: _turn(n, graph, e.cast(i, "i64"), v)[1:])
    stacks = [e.splat(0, TensorType((turns, *type.shape), type.dtype)) for type in once.types[len(start) :]]

    def body(counter: Tensor, values: list[Tensor]) -> list[Tensor]:
        carried, results = values[: len(start)], values[len(start) :]
        outputs = once.placed(counter, carried)
        news = outputs[len(start) :]
        return [
            *outputs[: len(start)],
            *(_put(e, r, new, counter) for r, new in zip(results, news, strict=True)),
        ]

    return counted(e, turns, [*start, *stacks], body)


def _turn(n: Node, graph: GraphProto, counter: Tensor, carried: list[Tensor]) -> list[Tensor]:
    """One turn of a Loop: the condition, the carried values, the results."""
    true = n.bodies.known("", np.array(True))
    values = [_value(n.e.reshape(counter, _shape(graph, 0))), true, *map(_value, carried)]
    return [value.tensor() for value in n.bodies.body(graph, values)]


def _shape(graph: GraphProto, index: int) -> tuple[int, ...]:
    return tuple(1 for _ in graph.input[index].type.tensor_type.shape.dim)


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


def _put(e: Emitter, stack: Tensor, new: Tensor, counter: Tensor) -> Tensor:
    """The stack with one more layer."""
    zeros = [e.splat(0, COUNTER) for _ in new.shape]
    return e.op(hlo.dynamic_update_slice.name, stack, e.reshape(new, (1, *new.shape)), counter, *zeros)


def _scan(n: Node) -> list[Tensor]:
    """A turn per element of the scanned axes, in either direction."""
    if n.version < 9:
        raise n.unsupported("of opset 8, which has a batch axis")
    e = n.e
    graph: GraphProto = n.attributes["body"]
    count = n.int("num_scan_inputs")
    tensors = n.xs()
    start, scanned = tensors[:-count], tensors[-count:]
    axes = n.ints("scan_input_axes") or (0,) * count
    backwards = n.ints("scan_input_directions") or (0,) * count
    stacked = len(graph.output) - len(start)
    out_axes = n.ints("scan_output_axes") or (0,) * stacked
    out_backwards = n.ints("scan_output_directions") or (0,) * stacked
    stacks = [_front(e, x, axis(a, x.rank)) for x, a in zip(scanned, axes, strict=True)]
    turns = stacks[0].shape[0]

    def turn(counter: Tensor, carried: list[Tensor]) -> list[Tensor]:
        layers = [
            _layer(e, x, _place(e, counter, turns, back)) for x, back in zip(stacks, backwards, strict=True)
        ]
        return [v.tensor() for v in n.bodies.body(graph, list(map(_value, [*carried, *layers])))]

    once = Once(n, [t.type for t in start], turn)
    types = once.types[len(start) :]
    results = [e.splat(0, TensorType((turns, *type.shape), type.dtype)) for type in types]

    def body(counter: Tensor, values: list[Tensor]) -> list[Tensor]:
        outputs = once.placed(counter, values[: len(start)])
        return outputs[: len(start)] + [
            _put(e, stack, new, _place(e, counter, turns, back))
            for stack, new, back in zip(
                values[len(start) :], outputs[len(start) :], out_backwards, strict=True
            )
        ]

    last = counted(e, turns, [*start, *results], body)
    moved = [_back(e, x, axis(a, x.rank)) for x, a in zip(last[len(start) :], out_axes, strict=True)]
    return [*last[: len(start)], *moved]


def _place(e: Emitter, counter: Tensor, turns: int, backwards: int) -> Tensor:
    from shardc.frontend.onnx.operators.maths import sub

    return sub(e, turns - 1, counter) if backwards else counter


def _layer(e: Emitter, stack: Tensor, place: Tensor) -> Tensor:
    zeros = [e.splat(0, COUNTER) for _ in stack.shape[1:]]
    sizes = (1, *stack.shape[1:])
    return e.reshape(e.op(hlo.dynamic_slice.name, stack, place, *zeros, slice_sizes=sizes), stack.shape[1:])


def _front(e: Emitter, x: Tensor, dim: int) -> Tensor:
    return transpose(e, x, (dim, *(i for i in range(x.rank) if i != dim)))


def _back(e: Emitter, x: Tensor, dim: int) -> Tensor:
    order = [*range(1, x.rank)]
    order.insert(dim, 0)
    return transpose(e, x, order)


OPERATORS: dict[str, Lower] = {"If": _if, "Loop": _loop, "Scan": _scan}
