"""A function built for all slices at once: each operation by its rule, what no slice changes only once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shardc.batching.stacks import Stacks
from shardc.diagnostics import ShardcError
from shardc.gradients.recording import Writer
from shardc.graph import Dense, Graph, Node, Region, TensorType, walk
from shardc.graph.marks import GROUP
from shardc.ops import find, hlo, op_of
from shardc.ops.batches import batching_of
from shardc.ops.batches.movement import behind
from shardc.ops.batching import Batch, Unbatched
from shardc.ops.derivatives.terms import Term

Calls = Callable[[Node, Sequence[Any], Sequence[bool]], Sequence[Any]]
"""Builds a call of a function for stacks of some operands; its results are stacks."""

_AGAIN = (hlo.constant.name, hlo.iota.name, hlo.broadcast_in_dim.name)
"""Operations that are built where something needs them, as large as it does."""


class Scope(Struct):
    """What is built so far: values as they are, and those that no slice changes repeated as stacks."""

    known: dict[int, Any] = {}
    repeated: dict[int, Any] = {}

    def inner(self, args: Sequence[int] = (), values: Sequence[Any] = ()) -> Scope:
        """That of a region, with its arguments."""
        return Scope({**self.known, **dict(zip(args, values, strict=True))}, dict(self.repeated))


class Run:
    """Builds regions of a graph for `size` slices."""

    def __init__(
        self,
        graph: Graph,
        stacks: Stacks,
        size: int,
        writer: Writer[Any],
        *,
        special: Mapping[str, Callable[[Run, Node, Scope], None]],
        calls: Calls,
        group: Callable[[str], AbstractContextManager[None]],
    ) -> None:
        self.graph, self.stacks, self.size, self.writer = graph, stacks, size, writer
        self.special, self.calls, self.group = special, calls, group

    # ---- values

    def type(self, value: int) -> TensorType:
        """The type that a value is built with."""
        type = self.graph.type(value)
        return self.stacked(type) if value in self.stacks else type

    def stacked(self, type: TensorType) -> TensorType:
        """That of as many slices."""
        return type.with_shape((self.size, *type.shape))

    def value(self, value: int, scope: Scope) -> Any:
        """A value as it is: a stack, or what all slices share."""
        if value not in scope.known:
            self._emit(self.stacks.makers[value], scope)
        return scope.known[value]

    def full(self, value: int, scope: Scope) -> Any:
        """A value as a stack, whatever it is."""
        if value in self.stacks:
            return self.value(value, scope)
        if value not in scope.repeated:
            scope.repeated[value] = self._repeated(value, scope)
        return scope.repeated[value]

    def _repeated(self, value: int, scope: Scope) -> Any:
        node, type = self.stacks.makers.get(value), self.stacked(self.graph.type(value))
        if node is not None and node.name == hlo.constant.name:
            dense = node.attrs["value"]
            if isinstance(dense, Dense) and dense.is_splat:
                return self.writer.one(node.name, result=type, value=Dense(dense.data, type.shape))
        if node is not None and node.name == hlo.iota.name:
            dim = node.attrs["iota_dimension"]
            assert isinstance(dim, int)
            return self.writer.one(node.name, result=type, iota_dimension=dim + 1)
        source, dims = value, tuple(range(len(type.shape) - 1))
        if node is not None and node.name == hlo.broadcast_in_dim.name:
            (source,) = node.operands
            dims = tuple(int(d) for d in node.attrs["broadcast_dimensions"])  # pyright: ignore
        made = Term(self.writer, self.value(source, scope))
        return made.broadcast(type.shape, behind(dims)).v

    def given(self, value: int, stack: bool, scope: Scope) -> Any:
        """A value as a stack where one is wanted, else as it is."""
        return self.full(value, scope) if stack else self.value(value, scope)

    # ---- operations

    def region(self, region: Region, scope: Scope) -> None:
        """Build the nodes of a region whose arguments are known."""
        for label, nodes in groupby(region.nodes[:-1], lambda node: node.attrs.get(GROUP)):
            composite = str(label).partition("#")[0] if label else ""
            with self.group(composite) if composite else nullcontext():
                for node in nodes:
                    self._node(node, scope)

    def _node(self, node: Node, scope: Scope) -> None:
        if node.name in _AGAIN and not any(v in self.stacks for v in node.operands):
            return
        special = self.special.get(node.name)
        if special is not None:
            special(self, node, scope)
        elif any(v in self.stacks for v in node.operands):
            self._batched(node, scope)
        else:
            self._emit(node, scope)

    def _batched(self, node: Node, scope: Scope) -> None:
        """By the rule of the operation. Raises ShardcError where it has none."""
        definition = find(node.name)
        rule = None if definition is None else batching_of(definition)
        short = node.name.partition(".")[2]
        if definition is None or rule is None:
            raise ShardcError(f"{short} has no rule for vmap", node.loc)
        stacks = frozenset(i for i, v in enumerate(node.operands) if v in self.stacks)
        with self.writer.at(self._place(node)):
            batch = Batch(
                definition,
                replace(op_of(self.graph, node), attrs=attributes(node)),
                self.size,
                _Terms(self, node.operands, scope),
                stacks,
                lambda i: Term(self.writer, self.full(node.operands[i], scope)),
                [self._scalars(node, region, scope) for region in node.regions],
            )
            try:
                made = rule(batch)
            except Unbatched as error:
                raise ShardcError(f"{short} has no rule for vmap here: {error}", node.loc) from None
        self.know(node.results, [term.v for term in made], scope)

    def _emit(self, node: Node, scope: Scope) -> None:
        """An operation that no slice changes, as it is."""
        operands = [self.value(v, scope) for v in node.operands]
        regions = [self.body(region, scope) for region in node.regions]
        self.build(node, operands, regions, self.graph.types(node.results), scope)

    def build(
        self, node: Node, operands: Sequence[Any], regions: Any, types: Sequence[TensorType], scope: Scope
    ) -> None:
        """Build an operation with these operands, regions and types of its results."""
        with self.writer.at(self._place(node)):
            made = self.writer.op(node.name, *operands, results=types, regions=regions, **attributes(node))
        self.know(node.results, made, scope)

    def know(self, values: Sequence[int], built: Sequence[Any], scope: Scope) -> None:
        """What values are in what is built, which gets their names."""
        scope.known.update(zip(values, built, strict=True))
        self.name(values, built)

    def name(self, values: Sequence[int], built: Sequence[Any]) -> None:
        """Give what is built the names of values."""
        named = [(b, self.graph.values[v].loc.name) for v, b in zip(values, built, strict=True)]
        self.writer.name([b for b, name in named if name], [name for _, name in named if name])

    def body(self, region: Region, scope: Scope, results: Sequence[bool] | None = None) -> Any:
        """A region of an operation; its results are stacks where `results` says so, else what they are."""

        def build(_: Any, *args: Any) -> list[Any]:
            self.name(region.args, args)
            inner = scope.inner(region.args, args)
            self.region(region, inner)
            wanted = results or [v in self.stacks for v in region.results]
            return [self.given(v, stack, inner) for v, stack in zip(region.results, wanted, strict=True)]

        return [self.type(arg) for arg in region.args], build

    def _scalars(self, node: Node, region: Region, scope: Scope) -> Any:
        """The region of a reduction and the like, which combines scalars."""
        inside = {v for inner in walk(region) for v in inner.results} | set(region.args)
        read = {v for inner in walk(region) for v in inner.operands} - inside
        if any(v in self.stacks for v in read):
            short = node.name.partition(".")[2]
            raise ShardcError(f"the function that {short} combines with differs between the slices", node.loc)
        return self.body(region, scope)

    def _place(self, node: Node) -> Any:
        if len(node.results) != 1:
            return node.loc
        loc = self.graph.values[node.results[0]].loc
        return loc if loc.file else replace(node.loc, name=loc.name)


class _Terms(Sequence[Any]):
    """The operands of a node as terms; what is not asked for is not built."""

    def __init__(self, run: Run, values: Sequence[int], scope: Scope) -> None:
        self._run, self._values, self._scope = run, values, scope

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        return Term(self._run.writer, self._run.value(self._values[index], self._scope))


def attributes(node: Node) -> dict[str, object]:
    """The attributes of a node without the group that it is in."""
    return {name: value for name, value in node.attrs.items() if name != GROUP}
