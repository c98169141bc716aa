"""Reads a local module: one sdy.manual_computation over the whole mesh, or a program without a mesh."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from msgspec import Struct

from shardc.analysis.collectives import axes_of, is_per_device
from shardc.analysis.emitted_mesh import EmittedMesh, emitted_mesh, placing_axes
from shardc.analysis.text import sharded_text
from shardc.diagnostics import ShardcError
from shardc.graph import Function, Graph, Location, Node, Region, TensorType, walk
from shardc.graph.trees import Interface, flat
from shardc.layout import Axis, Sharding
from shardc.ops import sdy, spmd


class Array(Struct, frozen=True):
    """A parameter or result of main: its global type, and where it lies (None: on one device).

    `name` is what the source calls a parameter, "" for no name; a backend puts that of its program there.
    """

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


class PerDeviceProgram(Struct, frozen=True):
    """Main's interface, and the body that each device runs."""

    graph: Graph
    function: Function
    body: Region
    params: tuple[Array, ...]
    results: tuple[Array, ...]
    mesh: EmittedMesh | None
    interface: Interface

    @property
    def dtypes(self) -> set[str]:
        """Every dtype that occurs in what is called or taken."""
        called = (function.body for function in self.graph.called(self.body))
        arrays = [array.type.dtype for array in (*self.params, *self.results)]
        return {*arrays, *(dtype for body in (self.body, *called) for dtype in _dtypes(self.graph, body))}

    @property
    def promises(self) -> bool:
        """Whether some value is equal on several devices because the program says so: check=False."""
        functions = self.graph.functions.values()
        return any(node.name == spmd.assume_equal.name for f in functions for node in walk(f.body))

    @property
    def file(self) -> str | None:
        """The source file, if any location names it."""
        locs = (self.function.loc, *(value.loc for value in self.graph.values))
        return next((loc.file for loc in locs if loc.file), None)


class Held(Struct, frozen=True):
    """An array in memory: its variable, what it is of a device's program, and its bytes."""

    name: str
    type: TensorType
    nbytes: int


class Peak(Struct, frozen=True):
    """The most bytes that a device holds at a time while it runs a written program, and where that is.

    `alive`, where asked for: what variables hold there, the largest first.
    """

    nbytes: int
    where: Location
    alive: tuple[Held, ...] = ()


def _dtypes(graph: Graph, region: Region) -> Iterator[str]:
    yield from (graph.type(value).dtype for value in region.args)
    for node in region.nodes:
        yield from (graph.type(value).dtype for value in node.results)
        for inner in node.regions:
            yield from _dtypes(graph, inner)


def read(graph: Graph) -> PerDeviceProgram:
    """The parts of a local module; ShardcError if it is none, or if JAX has no mesh for it."""
    function = graph.main
    manual = [node for node in function.body.nodes if node.name == sdy.manual_computation.name]
    if not manual:
        params = tuple(_param(graph, value) for value in function.body.args)
        results = tuple(Array("", graph.type(value)) for value in function.body.results)
        taken = _interface(function, params)
        return PerDeviceProgram(graph, function, function.body, params, results, None, taken)
    node = manual[0]
    if len(function.body.nodes) != 2 or node.results != function.body.results:
        raise ShardcError("a local module is one manual computation and a return", function.loc)
    entering = cast("tuple[Sharding, ...]", node.attrs["in_shardings"])
    leaving = cast("tuple[Sharding, ...]", node.attrs["out_shardings"])
    mesh = _mesh(graph, node, (*entering, *leaving))
    by_value = dict(zip(node.operands, entering, strict=True))
    _check_operands(function, node)
    params = tuple(_param(graph, value, by_value.get(value)) for value in function.body.args)
    results = tuple(
        Array("", graph.type(value), sharding) for value, sharding in zip(node.results, leaving, strict=True)
    )
    taken = _interface(function, params)
    return PerDeviceProgram(graph, function, node.regions[0], params, results, mesh, taken)


def _interface(function: Function, params: tuple[Array, ...]) -> Interface:
    return function.interface or flat((param.name for param in params), len(function.body.results))


def _param(graph: Graph, value: int, sharding: Sharding | None = None) -> Array:
    return Array(graph.values[value].loc.name or "", graph.type(value), sharding)


def _check_operands(function: Function, node: Node) -> None:
    if tuple(node.operands) != tuple(function.body.args):
        raise ShardcError("the manual computation takes other values than main's parameters", node.loc)


def _mesh(graph: Graph, node: Node, shardings: tuple[Sharding, ...]) -> EmittedMesh:
    meshes = [sharding.mesh for sharding in shardings] or list(graph.meshes.values())
    for mesh in meshes[1:]:
        if (mesh.axes, mesh.device_ids) != (meshes[0].axes, meshes[0].device_ids):
            raise ShardcError(
                f"meshes {meshes[0]} and {mesh} of one program place its devices differently",
                node.loc,
                "JAX compiles a program for one order of devices",
            )
    used = [axis for sharding in shardings for axis in placing_axes(sharding)]
    return emitted_mesh(meshes[0], (*used, *_collective_axes(graph, node)), node.loc)


def _collective_axes(graph: Graph, node: Node) -> Iterator[Axis]:
    bodies = [node.regions[0], *(f.body for f in graph.functions.values() if f is not graph.main)]
    for body in bodies:
        for inner in walk(body):
            if is_per_device(inner):
                yield from axes_of(inner)
