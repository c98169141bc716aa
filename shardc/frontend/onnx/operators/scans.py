"""Scan: a turn per element of the scanned axes, in either direction."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import GraphProto

from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.node import Node
from shardc.frontend.onnx.operators.loops import COUNTER, Once, counted, named, put
from shardc.frontend.onnx.operators.maths import axis, concat, row, sub, transpose
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType
from shardc.ops import hlo

MOST_ROWS = 64
"""Rows of a batch that Scan of opset 8 has; each has a loop of its own."""


def scan(n: Node) -> list[Tensor]:
    """The carried values, then the stacked results."""
    start, scanned, stacked = _parts(n)
    if n.version < 9:
        return _batched(n, start, scanned, stacked)
    e = n.e
    axes = _each(n, "scan_input_axes", len(scanned))
    back = _each(n, "scan_input_directions", len(scanned))
    out_axes, out_back = (_each(n, f"scan_output_{what}", stacked) for what in ("axes", "directions"))
    stacks = [_front(e, x, axis(a, x.rank)) for x, a in zip(scanned, axes, strict=True)]
    last = _scanned(n, start, stacks, back, out_back)
    moved = [_back(e, x, axis(a, x.rank)) for x, a in zip(last[len(start) :], out_axes, strict=True)]
    return [*last[: len(start)], *moved]


def _parts(n: Node) -> tuple[list[Tensor], list[Tensor], int]:
    """The carried values, what is scanned, and how many results are stacked. Invalid if they do not fit."""
    if n.version < 9 and n.has(0):
        raise n.unsupported("with sequence lengths")
    count = n.int("num_scan_inputs")
    tensors = n.xs()
    graph: GraphProto = n.attributes["body"]
    carried = len(tensors) - count
    stacked = len(graph.output) - carried
    if count < 1 or carried < 0 or stacked < 0:
        raise Invalid(
            f"{count} of {len(tensors)} inputs are scanned, and a body of {len(graph.output)} results"
        )
    return tensors[:carried], tensors[carried:], stacked


def _each(n: Node, name: str, count: int) -> tuple[int, ...]:
    values = n.ints(name) or (0,) * count
    if len(values) != count:
        raise Invalid(f"{name} {list(values)} for {count} tensors")
    return values


def _scanned(
    n: Node, start: list[Tensor], stacks: Sequence[Tensor], back: Sequence[int], out_back: Sequence[int]
) -> list[Tensor]:
    """Scan over the first axes; the results are stacked along theirs."""
    e = n.e
    graph: GraphProto = n.attributes["body"]
    sizes = {x.shape[0] for x in stacks}
    if len(sizes) > 1:
        raise Invalid(f"the scanned axes are of sizes {sorted(sizes)}")
    (turns,) = sizes

    def turn(counter: Tensor, carried: list[Tensor]) -> list[Tensor]:
        layers = [_layer(e, x, _place(e, counter, turns, b)) for x, b in zip(stacks, back, strict=True)]
        return [v.tensor() for v in n.bodies.body(graph, list(map(named, [*carried, *layers])))]

    once = Once(n, [t.type for t in start], turn)
    types = once.types[len(start) :]
    results = [e.splat(0, TensorType((turns, *type.shape), type.dtype)) for type in types]
    if not turns:
        return [*start, *results]

    def body(counter: Tensor, values: list[Tensor]) -> list[Tensor]:
        outputs = once.placed(counter, values[: len(start)])
        news = zip(values[len(start) :], outputs[len(start) :], out_back, strict=True)
        return outputs[: len(start)] + [put(e, x, new, _place(e, counter, turns, b)) for x, new, b in news]

    return counted(e, turns, [*start, *results], body)


def _batched(n: Node, start: list[Tensor], scanned: list[Tensor], stacked: int) -> list[Tensor]:
    """Scan of opset 8: all tensors have a batch axis before all others."""
    e, back = n.e, _each(n, "directions", len(scanned))
    rows = {x.shape[0] if x.rank else 0 for x in (*start, *scanned)}
    if len(rows) != 1 or min(rows) < 1 or any(x.rank < 2 for x in scanned):
        raise Invalid(f"a batch of {sorted(rows)} rows")
    (count,) = rows
    if count > MOST_ROWS:
        raise n.unsupported(f"of opset 8 with more than {MOST_ROWS} rows")
    found = [
        _scanned(
            n, [row(e, x, 0, i) for x in start], [row(e, x, 0, i) for x in scanned], back, (0,) * stacked
        )
        for i in range(count)
    ]
    parts = [[e.reshape(x, (1, *x.shape)) for x in results] for results in zip(*found, strict=True)]
    return [concat(e, part, 0) for part in parts]


def _place(e: Emitter, counter: Tensor, turns: int, backwards: int) -> Tensor:
    return sub(e, turns - 1, counter) if backwards else counter


def _layer(e: Emitter, stack: Tensor, place: Tensor) -> Tensor:
    """One element along the first axis; zeros where there is none, of which only the type is of use."""
    if not stack.shape[0]:
        return e.splat(0, TensorType(stack.shape[1:], stack.dtype))
    zeros = [e.splat(0, COUNTER) for _ in stack.shape[1:]]
    sizes = (1, *stack.shape[1:])
    return e.reshape(e.op(hlo.dynamic_slice.name, stack, place, *zeros, slice_sizes=sizes), stack.shape[1:])


def _front(e: Emitter, x: Tensor, dim: int) -> Tensor:
    return transpose(e, x, (dim, *(i for i in range(x.rank) if i != dim)))


def _back(e: Emitter, x: Tensor, dim: int) -> Tensor:
    order = [*range(1, x.rank)]
    order.insert(dim, 0)
    return transpose(e, x, order)
