"""The IR-free program: what rules, propagation, planning, semantics and the writers look at.

A Graph is a snapshot: values and nodes have dense ids, uses are in program order, nothing refers to xDSL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from shardc.diagnostics import ShardcError
from shardc.graph.trees import Interface
from shardc.graph.types import UNKNOWN, Location, TensorType
from shardc.layout import Mesh, Sharding

Attrs = Mapping[str, object]


class Value(Struct):
    """One tensor: its type, what the source calls it, how it is sharded if anything says so."""

    id: int
    type: TensorType
    loc: Location = UNKNOWN
    sharding: Sharding | None = None


class Node(Struct):
    """One operation. `attrs` follow graph/attrs.py; `regions` hold the bodies of while, reduce and so on."""

    id: int
    name: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    attrs: Attrs
    regions: tuple[Region, ...] = ()
    loc: Location = UNKNOWN


class Region(Struct):
    """A body: its arguments, and its nodes in order; the last is the terminator (…return)."""

    args: tuple[int, ...]
    nodes: list[Node] = []

    @property
    def results(self) -> tuple[int, ...]:
        """The values the terminator returns."""
        return self.nodes[-1].operands


class Function(Struct):
    """A function; its arguments' shardings are on the values, its results' here."""

    name: str
    body: Region
    result_shardings: list[Sharding | None]
    loc: Location = UNKNOWN
    public: bool = True
    doc: str | None = None
    """What its author says of it, as written."""
    interface: Interface | None = None
    """Which of its arguments and results are the items of tuples and records; None: none are."""


class Op(Struct, frozen=True):
    """What a rule sees of a node: no ids, so equal operations have one rule."""

    name: str
    operands: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    attrs: Attrs
    combiner: str | None = None  # what its regions do, as ops/combiner.py names it, for reduce, scatter, …

    def key(self) -> tuple[object, ...]:
        """A hashable stand-in for the whole."""
        return (self.name, self.operands, self.results, tuple(sorted(self.attrs.items())), self.combiner)


class Graph(Struct):
    """A module: its meshes, functions and values. about: what its author says of it."""

    meshes: dict[str, Mesh] = {}
    functions: dict[str, Function] = {}
    values: list[Value] = []
    about: str | None = None

    def type(self, value: int) -> TensorType:
        return self.values[value].type

    def types(self, values: tuple[int, ...]) -> tuple[TensorType, ...]:
        known = self.values
        return tuple([known[value].type for value in values])

    @property
    def main(self) -> Function:
        """The entry: @main, else the first public function, else the first; ShardcError if there is none."""
        functions = list(self.functions.values())
        if not functions:
            raise ShardcError("the module has no function")
        return self.functions.get("main") or next((f for f in functions if f.public), functions[0])

    def called(self, region: Region) -> Iterator[Function]:
        """The functions that a region calls, itself or through others, each once, callees first."""
        return self._called(region, set())

    def _called(self, region: Region, seen: set[str]) -> Iterator[Function]:
        for node in walk(region):
            callee = node.attrs.get("callee")
            if isinstance(callee, str) and callee not in seen:
                seen.add(callee)
                yield from self._called(self.functions[callee].body, seen)
                yield self.functions[callee]


def own_attrs(node: Node) -> Attrs:
    """A node's attributes without shardc's notes on it."""
    if not any(key.startswith("shardc.") for key in node.attrs):
        return node.attrs
    return {key: value for key, value in node.attrs.items() if not key.startswith("shardc.")}


def walk(region: Region) -> Iterator[Node]:
    """Every node of a region and of the regions in it, outermost first."""
    for node in region.nodes:
        yield node
        for inner in node.regions:
            yield from walk(inner)


def captured(node: Node) -> list[int]:
    """The values from around a node that its regions use, in order of use."""
    found: dict[int, None] = {}
    if node.regions:
        _capture(node, set(), found)
    return list(found)


def _capture(node: Node, own: set[int], found: dict[int, None]) -> None:
    """Enter what the regions of a node use but for their `own` values, which are made before that."""
    for region in node.regions:
        own.update(region.args)
        for inner in region.nodes:
            found.update(dict.fromkeys([value for value in inner.operands if value not in own]))
            own.update(inner.results)
            if inner.regions:
                _capture(inner, own, found)
