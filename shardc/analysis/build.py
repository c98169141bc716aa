"""Programs written in Python, without any IR: a builder whose values are ids in a Graph.

builder = GraphBuilder()
builder.function("main", [TensorType((8, 4), "f32")], lambda b, x: [b.one("stablehlo.negate", x)])
builder.graph
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from shardc.graph.builder import Body
from shardc.graph.program import Function, Graph, Node, Region, Value, walk
from shardc.graph.types import UNKNOWN, Location, TensorType
from shardc.layout import Mesh, Sharding
from shardc.ops import ShapeError, func, hlo, infer, sdy


class GraphBuilder:
    """Appends operations to functions of `graph`; implements `graph.builder.Builder[int]`."""

    def __init__(self, graph: Graph | None = None) -> None:
        self.graph = Graph() if graph is None else graph
        self._nodes: list[list[Node]] = []
        functions = self.graph.functions.values()
        self._next_node = 1 + max((n.id for f in functions for n in walk(f.body)), default=-1)
        self._loc = UNKNOWN

    def mesh(self, mesh: Mesh) -> Mesh:
        """Declare a mesh."""
        self.graph.meshes[mesh.name] = mesh
        return mesh

    def type_of(self, value: int) -> TensorType:
        return self.graph.values[self.lift(value)].type

    def lift(self, value: int) -> int:
        """The id of an operand; a place for builders whose operands may come from outside the graph."""
        return value

    def new_value(self, type: TensorType) -> int:
        """A value that no operation of the graph makes."""
        self.graph.values.append(Value(len(self.graph.values), type, self._loc))
        return len(self.graph.values) - 1

    def op(
        self,
        name: str,
        /,
        *operands: int,
        results: Sequence[TensorType] | None = None,
        regions: Sequence[Body] = (),
        **attrs: object,
    ) -> list[int]:
        """Build one operation; see `Builder.op`. A func.call finds its result types in its callee."""
        node_id, self._next_node = self._next_node, self._next_node + 1
        operand_ids = tuple(map(self.lift, operands))
        terminator = sdy.return_.name if name.startswith("sdy.") else hlo.return_.name
        bodies = tuple(self._region(types, body, terminator) for types, body in regions)
        types = infer(
            name,
            self.graph.types(operand_ids),
            attrs,
            results=self._callee_results(name, attrs) if results is None else results,
            region_results=[self.graph.types(body.results) for body in bodies],
        )
        values = tuple(self.new_value(type) for type in types)
        self._append(Node(node_id, name, operand_ids, values, attrs, bodies, self._loc))
        return list(values)

    def one(self, name: str, /, *operands: int, result: TensorType | None = None, **attrs: object) -> int:
        """Build an operation with one result and no regions."""
        (value,) = self.op(name, *operands, results=None if result is None else [result], regions=(), **attrs)
        return value

    def function(
        self,
        name: str,
        arg_types: Sequence[TensorType],
        body: Callable[..., Sequence[int]],
        *,
        names: Sequence[str] | None = None,
        arg_shardings: Sequence[Sharding | None] | None = None,
        result_shardings: Sequence[Sharding | None] | None = None,
        public: bool = True,
    ) -> Function:
        """Add a function; `body` is called with the builder and the arguments and returns the results."""
        region = self._region(arg_types, body, func.return_.name)
        for arg, sharding in zip(region.args, arg_shardings or (), strict=arg_shardings is not None):
            self.annotate(arg, sharding)
        for arg, arg_name in zip(region.args, names or (), strict=names is not None):
            self.name(arg, arg_name)
        shardings = list(result_shardings or [None] * len(region.results))
        function = Function(name, region, shardings, self._loc, public)
        self.graph.functions[name] = function
        return function

    def annotate(self, value: int, sharding: Sharding | None) -> int:
        """State the sharding of a value; the value again."""
        self.graph.values[value].sharding = sharding
        return value

    def name(self, value: int, name: str) -> int:
        """Give a value the name it has in the source; the value again."""
        record = self.graph.values[value]
        record.loc = record.loc.named(name)
        return value

    @contextmanager
    def at(self, loc: Location) -> Generator[None]:
        """Operations built inside have this source location."""
        previous, self._loc = self._loc, loc
        try:
            yield
        finally:
            self._loc = previous

    def _region(
        self, types: Sequence[TensorType], body: Callable[..., Sequence[int]], terminator: str
    ) -> Region:
        region = Region(tuple(self.new_value(type) for type in types))
        self._nodes.append(region.nodes)
        try:
            results = tuple(map(self.lift, body(self, *region.args)))
            self._append(Node(self._next_node, terminator, results, (), {}, (), self._loc))
            self._next_node += 1
        finally:
            self._nodes.pop()
        return region

    def _append(self, node: Node) -> None:
        if not self._nodes:
            raise ValueError(f"{node.name} is built outside a function: use GraphBuilder.function")
        self._nodes[-1].append(node)

    def _callee_results(self, name: str, attrs: dict[str, object]) -> tuple[TensorType, ...] | None:
        if name != func.call.name:
            return None
        callee = self.graph.functions.get(str(attrs.get("callee")))
        if callee is None:
            raise ShapeError(f"call of {attrs.get('callee')!r}, which is no function yet")
        return self.graph.types(callee.body.results)


def program(
    arg_types: Sequence[TensorType],
    body: Callable[..., Sequence[int]],
    *,
    names: Sequence[str] | None = None,
    arg_shardings: Sequence[Sharding | None] | None = None,
    result_shardings: Sequence[Sharding | None] | None = None,
) -> Graph:
    """A graph with one function, main, whose meshes are those of its shardings."""
    builder = GraphBuilder()
    builder.function(
        "main",
        arg_types,
        body,
        names=names,
        arg_shardings=arg_shardings,
        result_shardings=result_shardings,
    )
    for sharding in [*(arg_shardings or ()), *(result_shardings or ())]:
        if sharding is not None:
            builder.mesh(sharding.mesh)
    return builder.graph
