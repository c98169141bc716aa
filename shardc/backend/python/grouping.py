"""Composites such as softmax, which arrive as flat nodes with a group's tag, made one node again.

A tag `softmax#3/7` says: group 3, called softmax, of 7 nodes. If all 7 come one after another and compute
what the name says on this device's block, the last is replaced by `group.softmax`; the others are then used
by nobody. The tag alone is not believed: a mean over a split dimension divides by another count.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from math import prod
from typing import cast

from msgspec import Struct

from shardc.backend.python import group
from shardc.backend.python.group import GROUPS
from shardc.graph import Dense, Graph, Node, has_infinities
from shardc.graph.marks import GROUP
from shardc.ops import OpDef, chlo, combiner, hlo

_SILENT = {hlo.constant.name, hlo.broadcast_in_dim.name, hlo.reshape.name}


class Group(Struct, frozen=True):
    """The nodes of a group, and what a matcher asks about them."""

    graph: Graph
    nodes: Sequence[Node]

    @property
    def ops(self) -> list[str]:
        """Names without what only repeats or rearranges."""
        return [node.name for node in self.nodes if node.name not in _SILENT]

    def is_made_of(self, *definitions: OpDef) -> bool:
        """Whether these are the operations, in this order."""
        return self.ops == [definition.name for definition in definitions]

    def first(self, definition: OpDef) -> Node:
        return next(node for node in self.nodes if node.name == definition.name)

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
        if made is None or made.name != hlo.constant.name:
            return None
        data = cast(Dense, made.attrs["value"])
        return float(data.data[()]) if data.is_splat and data.data.dtype.kind != "c" else None


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
        tag = str(node.attrs.get(GROUP, ""))
        if not run or tag != run[-1].attrs[GROUP]:
            run = []
        if tag:
            run.append(node)
            size = tag.rpartition("/")[2]
            if size.isdecimal() and len(run) == int(size):
                yield run
                run = []


def _folded(graph: Graph, nodes: Sequence[Node], count: Mapping[int, int]) -> Node | None:
    definition = GROUPS.get(str(nodes[-1].attrs[GROUP]).partition("#")[0])
    inner = [value for node in nodes[:-1] for value in node.results]
    used_inside = sum(v in set(inner) for node in nodes for v in node.operands)
    leaks = sum(count.get(value, 0) for value in inner) > used_inside
    match = _MATCHERS[definition](Group(graph, nodes)) if definition is not None and not leaks else None
    if definition is None or match is None:
        return None
    last = nodes[-1]
    return Node(last.id, definition.name, tuple(match[0]), last.results, match[1], (), last.loc)


def _unary(*signatures: Sequence[OpDef]) -> Callable[[Group], Match]:
    """An elementwise function of one array, made of these operations; `variant` says which."""

    def match(tagged: Group) -> Match:
        inputs = tagged.inputs()
        found = [i for i, signature in enumerate(signatures) if tagged.is_made_of(*signature)]
        return (inputs, {"variant": found[0]}) if found and len(inputs) == 1 else None

    return match


def _relu(tagged: Group) -> Match:
    inputs = tagged.inputs()
    if not tagged.is_made_of(hlo.maximum) or len(inputs) != 1:
        return None
    zero = [v for v in tagged.nodes[-1].operands if tagged.source(v) != inputs[0]]
    return (inputs, {}) if len(zero) == 1 and tagged.literal(zero[0]) == 0 else None


def _softmax(*definitions: OpDef) -> Callable[[Group], Match]:
    """exp(x - max x) over its sum, or its logarithm; all along the same dimensions. JAX's begin with -inf."""

    def match(tagged: Group) -> Match:
        reductions = [n for n in tagged.nodes if n.name == hlo.reduce.name]
        kinds = [combiner(node.regions[0], tagged.graph) for node in reductions]
        if not tagged.is_made_of(*definitions) or kinds != ["max", "sum"]:
            return None
        if not has_infinities(tagged.graph.type(reductions[0].operands[0]).dtype):
            return None
        dims = {n.attrs["dimensions"] for n in reductions}
        return ([reductions[0].operands[0]], {"dimensions": dims.pop()}) if len(dims) == 1 else None

    return match


def _mean(tagged: Group) -> Match:
    """A sum divided by the count of what was summed here."""
    if not tagged.is_made_of(hlo.reduce, hlo.divide):
        return None
    reduction, division = tagged.first(hlo.reduce), tagged.first(hlo.divide)
    shape = tagged.graph.type(reduction.operands[0]).shape
    dims = cast("tuple[int, ...]", reduction.attrs["dimensions"])
    result = tagged.graph.type(division.results[0]).shape
    kept = tuple(1 if d in dims else size for d, size in enumerate(shape))
    whole = tagged.literal(division.operands[1]) == prod(shape[d] for d in dims)
    sums = (
        combiner(reduction.regions[0], tagged.graph) == "sum" and tagged.literal(reduction.operands[1]) == 0
    )
    if not whole or not sums or tagged.graph.type(division.results[0]).dtype not in ("f32", "f64"):
        return None
    keepdims = result == kept and len(dims) > 0
    return [reduction.operands[0]], {"dimensions": dims, "keepdims": keepdims}


_MATCHERS: dict[OpDef, Callable[[Group], Match]] = {
    group.relu: _relu,
    group.silu: _unary([hlo.logistic, hlo.multiply]),
    group.gelu: _unary(
        [*[hlo.multiply] * 3, hlo.add, hlo.multiply, hlo.tanh, hlo.add, hlo.multiply, hlo.multiply],
        [hlo.multiply, chlo.erf, hlo.add, hlo.multiply, hlo.multiply],
    ),
    group.softplus: _unary([hlo.abs_, hlo.negate, hlo.exponential, hlo.maximum, hlo.log_plus_one, hlo.add]),
    group.softmax: _softmax(hlo.reduce, hlo.subtract, hlo.exponential, hlo.reduce, hlo.divide),
    group.log_softmax: _softmax(hlo.reduce, hlo.subtract, hlo.exponential, hlo.reduce, hlo.log, hlo.subtract),
    group.mean: _mean,
}
