"""A copy of a graph that preparation may change: operands redirected, operations moved, copied and added."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from shardc.graph import Function, Graph, Location, Node, Region, walk
from shardc.layout import Axis, Dim, Sharding
from shardc.ops import func, sdy
from shardc.propagation.edges import EdgesOf, edges_of


class Editor(Struct):
    """`graph` is the copy: ids of values and nodes stay, new ones come after them.

    `first_node` and `first_value` are the first new ids. `copies` maps the id of a node that was copied from
    another to that one's; `added` holds constraints that stand for nothing in the original.
    """

    graph: Graph
    first_node: int
    first_value: int
    copies: dict[int, int] = {}
    added: list[Node] = []
    _next: int = 0

    @staticmethod
    def of(graph: Graph, unit_axes: bool = False) -> Editor:
        """An editor of a copy of `graph`, without axes of size 1 unless `unit_axes`."""
        unit_axes = unit_axes or not any(1 in m.sizes.values() for m in graph.meshes.values())
        change = _same if unit_axes else without_unit_axes
        functions = {
            f.name: Function(
                f.name,
                _copy(f.body, change),
                [s and change(s) for s in f.result_shardings],
                f.loc,
                f.public,
            )
            for f in graph.functions.values()
        }
        values = list(graph.values)
        if change is not _same:
            values = [replace(v, sharding=change(v.sharding)) if v.sharding else v for v in values]
        last = max((node.id for f in functions.values() for node in walk(f.body)), default=-1)
        return Editor(Graph(graph.meshes, functions, values), last + 1, len(values), _next=last + 1)

    @staticmethod
    def unchanged(graph: Graph) -> Editor:
        """An editor of the graph itself, which must not be changed."""
        nodes = (node.id for f in graph.functions.values() for node in walk(f.body))
        last = max(nodes, default=-1)
        return Editor(graph, last + 1, len(graph.values), _next=last + 1)

    def value(self, like: int) -> int:
        """A new value with another's type, name and annotation."""
        self.graph.values.append(replace(self.graph.values[like], id=len(self.graph.values)))
        return len(self.graph.values) - 1

    def copy(self, node: Node, operands: tuple[int, ...]) -> Node:
        """Another instance of a node without regions, of other operands. It is in no region yet."""
        made = self._node(node.name, operands, tuple(map(self.value, node.results)), node.attrs, node.loc)
        self.copies[made.id] = self.copies.get(node.id, node.id)
        return made

    def constraint(self, value: int, sharding: Sharding, loc: Location) -> Node:
        """A new sharding constraint on a value. It is in no region yet."""
        result = self.value(value)
        self.graph.values[result] = replace(self.graph.values[result], sharding=None)
        made = self._node(sdy.sharding_constraint.name, (value,), (result,), {"sharding": sharding}, loc)
        self.added.append(made)
        return made

    def _node(
        self, name: str, operands: tuple[int, ...], results: tuple[int, ...], attrs: Mapping[str, object],
        loc: Location,
    ) -> Node:  # fmt: skip
        self._next += 1
        return Node(self._next - 1, name, operands, results, attrs, (), loc)


class Uses(Struct):
    """Where each value of a graph is made and used, kept right as uses are redirected and nodes moved."""

    graph: Graph
    users: dict[int, list[tuple[Node, int]]] = {}
    made_by: dict[int, Node] = {}
    region: dict[int, Region] = {}
    owner: dict[int, int] = {}
    start: dict[int, Sharding | None] = {}
    exits: set[int] = set()

    @staticmethod
    def of(graph: Graph, edges: EdgesOf = edges_of) -> Uses:
        """`region` is by the id of a node, `owner` and `start` (of data-flow edges) by value.

        `exits` are the nodes that return from functions that the program does not call itself.
        """
        uses = Uses(graph)
        called: set[object] = set()
        for function in graph.functions.values():
            uses._add(function.body, edges)
            called.update(n.attrs["callee"] for n in walk(function.body) if n.name == func.call.name)
        uses.exits.update(f.body.nodes[-1].id for f in graph.functions.values() if f.name not in called)
        return uses

    def _add(self, region: Region, edges_of: EdgesOf) -> None:
        for node in region.nodes:
            self.add(node, region)
            edges = edges_of(node, self.graph)
            for edge in edges.all if edges else ():
                self.start[edge.owner] = edge.start
                self.owner.update((target, edge.owner) for target in edge.targets)
            for inner in node.regions:
                self._add(inner, edges_of)

    def add(self, node: Node, region: Region) -> None:
        """Take note of a node."""
        self.region[node.id] = region
        for number, operand in enumerate(node.operands):
            self.users.setdefault(operand, []).append((node, number))
        for result in node.results:
            self.made_by[result] = node

    def of_value(self, value: int) -> list[tuple[Node, int]]:
        """The uses of a value: nodes and operand numbers."""
        return self.users.get(value, [])

    def sharding(self, value: int) -> Sharding | None:
        """What is stated about a value, or about the edge that it is a target of."""
        if value in self.owner:
            return self.start[self.owner[value]]
        maker = self.made_by.get(value)
        if maker is not None and maker.name == sdy.sharding_constraint.name:
            return cast(Sharding, maker.attrs["sharding"])
        return self.graph.values[value].sharding

    def annotate(self, value: int, sharding: Sharding) -> None:
        """State the sharding of a value, or of the edge that it is a target of."""
        value = self.owner.get(value, value)
        maker = self.made_by.get(value)
        if maker is not None and maker.name == sdy.sharding_constraint.name:
            maker.attrs = {**maker.attrs, "sharding": sharding}
        self.graph.values[value] = replace(self.graph.values[value], sharding=sharding)
        if value in self.owner:
            self.start[value] = sharding

    def redirect(self, value: int, to: int, which: Callable[[Node], bool]) -> None:
        """Let the chosen uses of a value use another one."""
        moved = [use for use in self.of_value(value) if which(use[0])]
        self.users[value] = [use for use in self.of_value(value) if not which(use[0])]
        for node, number in moved:
            node.operands = (*node.operands[:number], to, *node.operands[number + 1 :])
            self.users.setdefault(to, []).append((node, number))

    def place_after(self, node: Node, value: int) -> None:
        """Move a node, or put a new one, right behind what makes a value."""
        if node.id in self.region:
            self.region[node.id].nodes.remove(node)
        maker = self.made_by.get(value)
        region = self._region_of_argument(value) if maker is None else self.region[maker.id]
        region.nodes.insert(0 if maker is None else region.nodes.index(maker) + 1, node)
        if node.id in self.region:
            self.region[node.id] = region
        else:
            self.add(node, region)

    def _region_of_argument(self, value: int) -> Region:
        bodies = (f.body for f in self.graph.functions.values())
        return next(r for body in bodies for r in _regions(body) if value in r.args)


def _regions(region: Region) -> Iterator[Region]:
    yield region
    for node in region.nodes:
        for inner in node.regions:
            yield from _regions(inner)


def _copy(region: Region, change: Callable[[Sharding], Sharding]) -> Region:
    nodes = [
        Node(n.id, n.name, n.operands, n.results, _changed(n.attrs, change), n.regions and tuple(
            _copy(inner, change) for inner in n.regions), n.loc)
        for n in region.nodes
    ]  # fmt: skip
    return Region(region.args, nodes)


def _changed(attrs: Mapping[str, object], change: Callable[[Sharding], Sharding]) -> Mapping[str, object]:
    if change is _same or not any("sharding" in key for key in attrs):
        return attrs
    return {key: _changed_value(value, change) for key, value in attrs.items()}


def _changed_value(value: object, change: Callable[[Sharding], Sharding]) -> object:
    if isinstance(value, Sharding):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_changed_value(item, change) for item in cast("tuple[object, ...]", value))
    return value


def _same(sharding: Sharding) -> Sharding:
    return sharding


def without_unit_axes(sharding: Sharding) -> Sharding:
    """The same, not naming axes of size 1."""
    return replace(
        sharding,
        dims=tuple(Dim(_wide(dim.axes), dim.open, dim.priority) for dim in sharding.dims),
        replicated=_wide(sharding.replicated),
        unreduced=_wide(sharding.unreduced),
    )


def _wide(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    return tuple(axis for axis in axes if axis.size > 1)
