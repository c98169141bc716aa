"""Composites such as softmax, which arrive as flat nodes with a group's tag, made one node again.

A tag `softmax#3/7` says: group 3, called softmax, of 7 nodes. If all 7 come one after another and compute
what the name says on this device's block, the last is replaced by `group.softmax`; the others are then used
by nobody. The tag alone is not believed: a mean over a split dimension divides by another count.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from shardc.graph import Dense, Graph, Node, combiner

TAG = "shardc.group"
_SILENT = {"stablehlo.constant", "stablehlo.broadcast_in_dim", "stablehlo.reshape"}


@dataclass(frozen=True)
class Run:
    """The nodes of a group, and what a matcher asks about them."""

    graph: Graph
    nodes: Sequence[Node]

    @property
    def ops(self) -> list[str]:
        """Names without what only repeats or rearranges."""
        return [n.name.split(".", 1)[1] for n in self.nodes if n.name not in _SILENT]

    def first(self, name: str) -> Node:
        return next(n for n in self.nodes if n.name.endswith(f".{name}"))

    def source(self, value: int) -> int:
        """The value before the group's own broadcasts and reshapes."""
        made = next((n for n in self.nodes if value in n.results), None)
        moves = made is not None and made.operands and made.name in _SILENT
        return self.source(made.operands[0]) if made and moves else value

    def inputs(self) -> list[int]:
        """What the group takes from outside, in order of use."""
        inside = {value for node in self.nodes for value in node.results}
        return list(dict.fromkeys(v for n in self.nodes for v in n.operands if v not in inside))

    def literal(self, value: int) -> float | None:
        """The element of a constant of the group."""
        made = next((n for n in self.nodes if self.source(value) in n.results), None)
        if made is None or made.name != "stablehlo.constant":
            return None
        data = cast(Dense, made.attrs["value"])
        return float(data.data[()]) if data.is_splat else None


Attrs = dict[str, object]
Match = tuple[list[int], Attrs] | None
"""Operands and attributes of the group's node, or None if the nodes are something else."""


def grouped(
    graph: Graph, nodes: Sequence[Node], count: Mapping[int, int], known: Container[str]
) -> Iterator[Node]:
    """The nodes, with the last of each whole group replaced, if the result is `known`."""
    ends = {run[-1].id: run for run in _runs(nodes)}
    for node in nodes:
        run = ends.get(node.id)
        folded = None if run is None else _folded(graph, run, count)
        yield node if folded is None or folded.name not in known else folded


def _runs(nodes: Sequence[Node]) -> Iterator[list[Node]]:
    """Groups all of whose nodes come one after another."""
    run: list[Node] = []
    for node in nodes:
        tag = str(node.attrs.get(TAG, ""))
        if not run or tag != run[-1].attrs[TAG]:
            run = []
        if tag:
            run.append(node)
            size = tag.rpartition("/")[2]
            if size.isdecimal() and len(run) == int(size):
                yield run
                run = []


def _folded(graph: Graph, nodes: Sequence[Node], count: Mapping[int, int]) -> Node | None:
    name = str(nodes[-1].attrs[TAG]).partition("#")[0]
    inner = [value for node in nodes[:-1] for value in node.results]
    used_inside = sum(v in set(inner) for node in nodes for v in node.operands)
    leaks = sum(count.get(value, 0) for value in inner) > used_inside
    match = _GROUPS[name](Run(graph, nodes)) if name in _GROUPS and not leaks else None
    if match is None:
        return None
    last = nodes[-1]
    return Node(last.id, f"group.{name}", tuple(match[0]), last.results, match[1], (), last.loc)


def _unary(*signatures: Sequence[str]) -> Callable[[Run], Match]:
    """An elementwise function of one array, made of these operations."""

    def match(run: Run) -> Match:
        inputs = run.inputs()
        if run.ops not in signatures or len(inputs) != 1:
            return None
        return inputs, {"variant": signatures.index(run.ops)}

    return match


def _relu(run: Run) -> Match:
    inputs = run.inputs()
    if run.ops != ["maximum"] or len(inputs) != 1:
        return None
    zero = [v for v in run.nodes[-1].operands if run.source(v) != inputs[0]]
    return (inputs, {}) if len(zero) == 1 and run.literal(zero[0]) == 0 else None


def _softmax(*ops: str) -> Callable[[Run], Match]:
    """exp(x - max x) over its sum, or its logarithm; all along the same dimensions."""

    def match(run: Run) -> Match:
        reductions = [n for n in run.nodes if n.name == "stablehlo.reduce"]
        if run.ops != list(ops) or [combiner(n.regions[0], run.graph) for n in reductions] != ["max", "sum"]:
            return None
        dims = {n.attrs["dimensions"] for n in reductions}
        return ([reductions[0].operands[0]], {"dimensions": dims.pop()}) if len(dims) == 1 else None

    return match


def _mean(run: Run) -> Match:
    """A sum divided by the count of what was summed here."""
    if run.ops != ["reduce", "divide"]:
        return None
    reduction, division = run.first("reduce"), run.first("divide")
    shape = run.graph.type(reduction.operands[0]).shape
    dims = cast("tuple[int, ...]", reduction.attrs["dimensions"])
    result = run.graph.type(division.results[0]).shape
    kept = tuple(1 if d in dims else size for d, size in enumerate(shape))
    whole = run.literal(division.operands[1]) == prod(shape[d] for d in dims)
    from_zero = run.literal(reduction.operands[1]) == 0 and combiner(reduction.regions[0], run.graph) == "sum"
    if not whole or not from_zero or run.graph.type(division.results[0]).dtype not in ("f32", "f64"):
        return None
    keepdims = result == kept and len(dims) > 0
    return [reduction.operands[0]], {"dimensions": dims, "keepdims": keepdims}


_GROUPS: dict[str, Callable[[Run], Match]] = {
    "relu": _relu,
    "silu": _unary(["logistic", "multiply"]),
    "gelu": _unary(
        ["multiply"] * 3 + ["add"] + ["multiply", "tanh", "add", "multiply", "multiply"],
        ["multiply", "erf", "add", "multiply", "multiply"],
    ),
    "softplus": _unary(["abs", "negate", "exponential", "maximum", "log_plus_one", "add"]),
    "softmax": _softmax("reduce", "subtract", "exponential", "reduce", "divide"),
    "log_softmax": _softmax("reduce", "subtract", "exponential", "reduce", "log", "subtract"),
    "mean": _mean,
}
