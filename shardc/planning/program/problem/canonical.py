"""A program as planning sees it, as text: two of one text have the same plan.

    function (0, 1) [2]
    0 = 0 () (3)
    …

What does not matter is left out: names and places of values, of which call operations are, and of splat
float constants which number they are, as long as that is none with a meaning of its own (0, 1, -1, the
infinities, NaN). Nor does it matter whether two of them are equal: planning puts operations together by their
`likeness`, which is as blind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Mapping

from shardc.graph import Dense, Graph, Node, Op, Region
from shardc.graph.any_number import is_any
from shardc.graph.marks import CALL, GROUP, LAYER
from shardc.layout import Sharding
from shardc.ops import hlo, sdy
from shardc.planning.program.problem.layers import groups

_CONSTANTS = (hlo.constant.name, sdy.constant.name)


def likeness(op: Op) -> Hashable:
    """Equal for operations that planning takes for equal: all that a line of the text says of one."""
    if op.name not in _CONSTANTS:
        return op.key()
    attrs = tuple((key, _attribute(op.name, value)) for key, value in sorted(op.attrs.items()))
    return (op.name, op.results, attrs)


def lines_of(graph: Graph, alike: Mapping[int, Hashable]) -> Iterator[str]:
    """The text, line by line; a line names every distinct operation and sharding once, in full. Operations
    run alike that are `alike` (layers.py)."""
    yield f"{sorted(graph.meshes.items())}"
    yield f"alike {[*groups(graph, alike)]}"
    writer = _Writer(graph)
    for name, function in graph.functions.items():
        yield f"{name == graph.main.name} {[writer.sharding(s) for s in function.result_shardings]}"
        yield from writer.region(function.body)
    yield from writer.named


class _Writer:
    """Writes operations and shardings as numbers, and remembers what the numbers mean."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.named: list[str] = []
        self.shardings: dict[Sharding | None, int] = {}
        self.operations: dict[tuple[object, ...], int] = {}

    def sharding(self, value: Sharding | None) -> int:
        if value not in self.shardings:
            self.named.append(f"sharding {value!r}")
            self.shardings[value] = len(self.shardings)
        return self.shardings[value]

    def region(self, region: Region) -> Iterator[str]:
        yield f"region {self._values(region.args)}"
        for node in region.nodes:
            yield f"{self._operation(node)} {node.operands} {self._values(node.results)}"
            for inner in node.regions:
                yield from self.region(inner)

    def _values(self, values: tuple[int, ...]) -> str:
        of = self.graph.values
        return " ".join(f"{v}:{self.sharding(of[v].sharding)}" for v in values)

    def _operation(self, node: Node) -> int:
        """The number of what an operation is: its name, types and attributes."""
        types = self.graph.types
        attrs = tuple(
            (key, key == CALL or _attribute(node.name, value))
            for key, value in sorted(node.attrs.items())
            if key not in (LAYER, GROUP)
        )
        key = (node.name, types(node.operands), types(node.results), attrs, len(node.regions))
        if key not in self.operations:
            self.named.append(f"operation {key!r}")
            self.operations[key] = len(self.operations)
        return self.operations[key]


def _attribute(name: str, value: object) -> object:
    """A stand-in for an attribute of an operation whose repr says all that matters of it."""
    if not isinstance(value, Dense):
        return value
    kind = (value.shape, value.data.dtype.str, value.data.dtype.name)
    if name in _CONSTANTS and value.is_splat and is_any(value.data):
        return (*kind, "any")
    return (*kind, hashlib.sha256(value.data.tobytes()).hexdigest())
