"""Reads a local module: one sdy.manual_computation over the whole mesh, or a program without a mesh."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from shardc.backend.axes import EmittedMesh, axes_of, emitted_mesh
from shardc.backend.names import Names, identifier
from shardc.explain.diagnostics import ShardcError
from shardc.graph import Function, Graph, Node, Region, TensorType, walk
from shardc.graph.text import sharded_text
from shardc.layout import Axis, Sharding


@dataclass(frozen=True)
class Array:
    """A parameter or result of main: its Python name, its global type, where it lies (None: one device)."""

    name: str
    type: TensorType
    sharding: Sharding | None = None

    @property
    def local(self) -> TensorType:
        """The type of a device's block."""
        if self.sharding is None:
            return self.type
        return self.type.with_shape(self.sharding.local_shape(self.type.shape))

    @property
    def padding(self) -> tuple[int, ...]:
        """How much each dimension grows so that its axes divide it."""
        if self.sharding is None:
            return (0,) * self.type.rank
        sizes = zip(self.type.shape, self.sharding.dims, strict=True)
        return tuple(-size % dim.parts for size, dim in sizes)

    def __str__(self) -> str:
        """f32[16@data, 64]"""
        return str(self.type) if self.sharding is None else sharded_text(self.type, self.sharding)


@dataclass(frozen=True)
class LocalProgram:
    """What a backend prints: main's interface and the per-device body."""

    graph: Graph
    function: Function
    body: Region
    params: tuple[Array, ...]
    results: tuple[Array, ...]
    mesh: EmittedMesh | None

    @property
    def dtypes(self) -> set[str]:
        """Every dtype that occurs."""
        return {value.type.dtype for value in self.graph.values}

    @property
    def file(self) -> str | None:
        """The source file, if any location names it."""
        locs = (self.function.loc, *(value.loc for value in self.graph.values))
        return next((loc.file for loc in locs if loc.file), None)


def read(graph: Graph) -> LocalProgram:
    """The parts of a local module; ShardcError if it is none, or if JAX has no mesh for it."""
    function = graph.main
    names = Names()
    manual = [node for node in function.body.nodes if node.name == "sdy.manual_computation"]
    if not manual:
        params = tuple(
            Array(_name(graph, v, names, i), graph.type(v)) for i, v in enumerate(function.body.args)
        )
        found = function.body.results
        results = tuple(Array(_result(names, found, i), graph.type(v)) for i, v in enumerate(found))
        return LocalProgram(graph, function, function.body, params, results, None)
    node = manual[0]
    if len(function.body.nodes) != 2 or node.results != function.body.results:
        raise ShardcError("a local module is one manual computation and a return", function.loc)
    shardings = (
        cast("tuple[Sharding, ...]", node.attrs["in_shardings"]),
        cast("tuple[Sharding, ...]", node.attrs["out_shardings"]),
    )
    mesh = _mesh(graph, node, (*shardings[0], *shardings[1]))
    by_value = dict(zip(node.operands, shardings[0], strict=True))
    _check_operands(function, node)
    params = tuple(
        Array(_name(graph, v, names, i), graph.type(v), by_value.get(v))
        for i, v in enumerate(function.body.args)
    )
    results = tuple(
        Array(_result(names, node.results, i), graph.type(v), sharding)
        for i, (v, sharding) in enumerate(zip(node.results, shardings[1], strict=True))
    )
    return LocalProgram(graph, function, node.regions[0], params, results, mesh)


def _check_operands(function: Function, node: Node) -> None:
    if tuple(node.operands) != tuple(function.body.args):
        raise ShardcError("the manual computation takes other values than main's parameters", node.loc)


def _result(names: Names, results: tuple[int, ...], i: int) -> str:
    """result, or result0, result1, …"""
    chosen = names.fresh("result" if len(results) == 1 else f"result{i}")
    names.pin(chosen)
    return chosen


def _name(graph: Graph, value: int, names: Names, position: int) -> str:
    chosen = names.fresh(identifier(graph.values[value].loc.name) or f"arg{position}")
    names.pin(chosen)
    return chosen


def _mesh(graph: Graph, node: Node, shardings: tuple[Sharding, ...]) -> EmittedMesh:
    meshes = [sharding.mesh for sharding in shardings] or list(graph.meshes.values())
    for mesh in meshes[1:]:
        if (mesh.axes, mesh.device_ids) != (meshes[0].axes, meshes[0].device_ids):
            raise ShardcError(
                f"meshes {meshes[0]} and {mesh} of one program place its devices differently",
                node.loc,
                "JAX compiles a program for one order of devices",
            )
    used = [axis for sharding in shardings for axis in axes_of(sharding)]
    return emitted_mesh(meshes[0], (*used, *_collective_axes(graph, node)), node.loc)


def _collective_axes(graph: Graph, node: Node) -> Iterator[Axis]:
    bodies = [node.regions[0], *(f.body for f in graph.functions.values() if f is not graph.main)]
    for body in bodies:
        for inner in walk(body):
            if inner.name.startswith("spmd."):
                yield from cast("tuple[Axis, ...]", inner.attrs["axes"])
