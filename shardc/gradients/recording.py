"""A builder that keeps what it builds as nodes of a graph: for rehearsals, and for functions of functions."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from shardc.graph import Graph, Location, Node, Region, TensorType, Value
from shardc.graph.builder import Body, Builder
from shardc.graph.types import UNKNOWN
from shardc.layout import Mesh
from shardc.ops import hlo, infer

V = TypeVar("V")


class Writer(Builder[V], Protocol[V]):
    """A builder that knows places and names, and the mesh of per-device code."""

    def at(self, loc: Location) -> Any:
        """Operations built inside have this place, and its name."""
        ...

    def name(self, values: Sequence[V], names: Sequence[str]) -> None:
        """Name values that have no name."""
        ...

    def on_mesh(self, mesh: Mesh) -> Any:
        """Axes named inside are those of this mesh."""
        ...

    def group_like(self, label: str) -> str:
        """A new label for a group that is built again."""
        ...


class Recorder:
    """Builds into the values of a graph; what it returns for a value is its number there."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Node] = []
        self._loc: Location = UNKNOWN

    def fresh(self, type: TensorType, loc: Location = UNKNOWN) -> int:
        """A value that nothing makes: an argument, or one that stands for what comes later."""
        self.graph.values.append(Value(len(self.graph.values), type, loc))
        return len(self.graph.values) - 1

    def type_of(self, value: int) -> TensorType:
        return self.graph.type(value)

    def op(
        self,
        name: str,
        /,
        *operands: int,
        results: Sequence[TensorType] | None = None,
        regions: Sequence[Body] = (),
        **attrs: object,
    ) -> list[int]:
        built = [self.region(*body) for body in regions]
        types = infer(
            name,
            [self.type_of(value) for value in operands],
            attrs,
            results=results,
            region_results=[[self.type_of(v) for v in region.results] for region in built],
        )
        made = [self.fresh(type, self._loc) for type in types]
        self.nodes.append(Node(-1, name, tuple(operands), tuple(made), attrs, tuple(built), self._loc))
        return made

    def one(self, name: str, /, *operands: int, result: TensorType | None = None, **attrs: object) -> int:
        results = None if result is None else [result]
        (value,) = self.op(name, *operands, results=results, regions=(), **attrs)
        return value

    def region(self, types: Sequence[TensorType], build: Any) -> Region:
        """A region of its own, as the regions of operations."""
        old, self.nodes = self.nodes, []
        args = tuple(self.fresh(type) for type in types)
        results = tuple(build(self, *args))
        self.nodes.append(Node(-1, hlo.return_.name, results, (), {}))
        region, self.nodes = Region(args, self.nodes), old
        return region

    @contextmanager
    def at(self, loc: Location) -> Generator[None]:
        old, self._loc = self._loc, loc
        try:
            yield
        finally:
            self._loc = old

    def name(self, values: Sequence[int], names: Sequence[str]) -> None:
        for value, name in zip(values, names, strict=True):
            known = self.graph.values[value]
            if known.loc.name is None:
                known.loc = replace(known.loc, name=name)

    @contextmanager
    def on_mesh(self, mesh: Mesh) -> Generator[None]:
        yield

    def group_like(self, label: str) -> str:
        return label
