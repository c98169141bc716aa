"""Random programs of the language, and faults planted in what they are compiled to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from msgspec.structs import replace

from shardc.graph import Dense, Graph, Node, Region, walk
from shardc.ops import Trait, has, hlo, spmd

Value = tuple[str, tuple[str, ...]]
"""A variable, and the letters of its dimensions."""

MESHES = ("m[x=4]", "m[x=2, y=2]")
LONG = ("m[x=12]", "m[x=2, y=12]", "m[x=16]")
"""Meshes with an axis that may shrink."""

_UNARY = ("relu({})", "tanh({})", "abs({})", "{} * 0.5 + 1.0", "sqrt({0} * {0} + 1.0)")
_BINARY = ("{} + {}", "{} - {}", "{} * {}", "maximum({}, {})", "where({0} > {1}, {0}, {1} * 2.0)")
_ALONG = ("sum({}, {}, keepdims=True)", "max({}, {}, keepdims=True)", "mean({}, {}, keepdims=True)")


def program(random: Random, meshes: Sequence[str] = MESHES) -> str:
    """A program of three to six operations on matrices whose sizes are multiples of 4, some of 8; for long
    meshes of 24.
    """
    mesh = random.choice(meshes)
    multiples = (16, 24, 32, 40, 64) if meshes is MESHES else (24, 48, 48, 96)
    sizes = {letter: random.choice(multiples) for letter in "BDF"}
    axes = ["x", "y"] if "y" in mesh else ["x"]
    values: list[Value] = [("x0", ("B", "D")), ("x1", ("B", "D")), ("w", ("D", "F")), ("v", ("D",))]
    parameters = ", ".join(f"{name}: f32[{_annotated(random, dims, axes)}]" for name, dims in values)
    lines: list[str] = []
    for number in range(random.randint(3, 6)):
        text, dims = _operation(random, values)
        values.append((f"y{number}", dims))
        lines.append(f"    y{number} = {text}")
    results = [name for name, _ in values[-2:]]
    sized = ", ".join(f"{letter} = {size}" for letter, size in sizes.items())
    return "\n".join(
        [
            f"mesh {mesh}",
            f"size {sized}",
            f"def f({parameters}):",
            *lines,
            f"    return {', '.join(results)}",
            "",
        ]
    )


def _annotated(random: Random, dims: tuple[str, ...], axes: list[str]) -> str:
    free, entries = list(axes), list[str]()
    for letter in dims:
        axis = random.choice([*free, None, None])
        if axis is not None:
            free.remove(axis)
        entries.append(letter if axis is None else f"{letter}@{axis}")
    return ", ".join(entries)


def _operation(random: Random, values: list[Value]) -> tuple[str, tuple[str, ...]]:
    matrices = [(name, dims) for name, dims in values if len(dims) == 2]
    name, dims = random.choice(matrices)
    axis = random.randrange(2)
    others = [other for other, found in matrices if found == dims]
    second = [(other, found) for other, found in matrices if found[0] == dims[1]]
    rows = [other for other, found in values if found == dims[1:]]
    kind = random.randrange(9)
    if kind == 0 and second:
        other, found = random.choice(second)
        return f"{name} @ {other}", (dims[0], found[1])
    if kind == 1:
        return f"{name} + {random.choice(rows)}" if rows else f"-{name}", dims
    if kind == 2:
        return f"{name} / (1.0 + {random.choice(_ALONG).format(f'{name} * {name}', axis)})", dims
    if kind == 3:
        return f"softmax({name}, {axis})", dims
    if kind == 4:
        return f"cumsum({name}, {axis})", dims
    if kind == 5:
        cut = random.randint(1, 5)
        first, rest = (
            f"{name}[{part}]" if axis == 0 else f"{name}[:, {part}]" for part in (f"{cut}:", f":{cut}")
        )
        return f"concatenate([{first}, {rest}], {axis})", dims
    if kind == 6:
        return f"transpose({name})", dims[::-1]
    if kind == 7:
        return random.choice(_UNARY).format(name), dims
    return random.choice(_BINARY).format(name, random.choice(others)), dims


@dataclass(frozen=True)
class Fault:
    """Another node in the place of one of a region."""

    region: Region
    place: int
    node: Node

    @contextmanager
    def planted(self) -> Iterator[None]:
        old = self.region.nodes[self.place]
        self.region.nodes[self.place] = self.node
        try:
            yield
        finally:
            self.region.nodes[self.place] = old

    def __str__(self) -> str:
        return f"{self.node.name} at {self.node.loc}"


def faults(graph: Graph) -> list[Fault]:
    """What can be wrong in per-device code, with types that stay."""
    regions = [
        region
        for function in graph.functions.values()
        for node in walk(function.body)
        if has(node.name, Trait.REGION)
        for region in node.regions
    ]
    return [
        Fault(region, place, other)
        for region in regions
        for place, node in enumerate(region.nodes[:-1])
        for other in _others(graph, node)
    ]


def _others(graph: Graph, node: Node) -> Iterator[Node]:
    """Nodes that can stand in a node's place."""
    yield from _rewired(graph, node)
    if node.name in _ALTERED:
        yield from _ALTERED[node.name](graph, node)
    if node.name.startswith("spmd."):
        yield from _elsewhere(graph, node)


def _rewired(graph: Graph, node: Node) -> Iterator[Node]:
    """Operands swapped, or one of them in the place of the result."""
    operands, types = node.operands, graph.types(node.operands)
    if node.name not in _SYMMETRIC and len(set(operands)) == 2 and types[0] == types[1]:
        yield replace(node, operands=operands[::-1])
    if not node.regions and len(node.results) == 1:
        for operand, type in zip(operands, types, strict=True):
            if type == graph.type(node.results[0]):
                yield Node(node.id, hlo.optimization_barrier.name, (operand,), node.results, {}, (), node.loc)


def _changed(node: Node, **attrs: object) -> Node:
    return replace(node, attrs={**node.attrs, **attrs})


def _constant(graph: Graph, node: Node) -> Iterator[Node]:
    """Another number."""
    value: Any = node.attrs["value"]
    if value.data.dtype.kind in "if":
        yield _changed(node, value=Dense((value.data + 1).astype(value.data.dtype), value.shape))


def _compare(graph: Graph, node: Node) -> Iterator[Node]:
    for direction in ("LT", "LE", "GT", "GE"):
        if direction != node.attrs["comparison_direction"]:
            yield _changed(node, comparison_direction=direction)


def _slice(graph: Graph, node: Node) -> Iterator[Node]:
    """One place further."""
    attrs: Any = node.attrs
    for dim, size in enumerate(graph.type(node.operands[0]).shape):
        moved = {key: list(attrs[key]) for key in ("start_indices", "limit_indices")}
        for bounds in moved.values():
            bounds[dim] += 1
        if moved["limit_indices"][dim] <= size:
            yield _changed(node, **{key: tuple(bounds) for key, bounds in moved.items()})


def _permute(graph: Graph, node: Node) -> Iterator[Node]:
    """Back, and without one of the devices."""
    pairs: Any = node.attrs["pairs"]
    yield _changed(node, pairs=tuple((target, source) for source, target in pairs))
    yield _changed(node, pairs=tuple(pairs)[:-1])


def _kind(graph: Graph, node: Node) -> Iterator[Node]:
    for kind in ("sum", "max", "min"):
        if kind != node.attrs["kind"]:
            yield _changed(node, kind=kind)


def _elsewhere(graph: Graph, node: Node) -> Iterator[Node]:
    """Axes in the other order, or others."""
    axes: Any = node.attrs.get("axes", ())
    if len(axes) > 1:
        yield _changed(node, axes=tuple(reversed(axes)))
    (mesh,) = graph.meshes.values()
    for name in mesh.sizes if node.name in (spmd.all_reduce.name, spmd.axis_index.name) else ():
        if (mesh.axis(name),) != tuple(axes):
            yield _changed(node, axes=(mesh.axis(name),))
    if node.name == spmd.all_reduce.name and axes[0].size % 2 == 0 and axes[0].size > 2:
        yield _changed(node, axes=(replace(axes[0], size=axes[0].size // 2), *axes[1:]))


_ALTERED: dict[str, Callable[[Graph, Node], Iterator[Node]]] = {
    hlo.constant.name: _constant,
    hlo.compare.name: _compare,
    hlo.slice_.name: _slice,
    spmd.collective_permute.name: _permute,
    spmd.all_reduce.name: _kind,
    spmd.reduce_scatter.name: _kind,
}
_SYMMETRIC = {
    hlo.add.name,
    hlo.multiply.name,
    hlo.maximum.name,
    hlo.minimum.name,
    hlo.and_.name,
    hlo.or_.name,
}
