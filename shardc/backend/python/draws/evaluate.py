"""Elements of a function's results as expressions of its arguments' elements.

Functions that are called and loops whose count is known are followed. Unknown is raised at what has no
expression for one element: a contraction, a place that follows from data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from shardc.analysis.collectives import axes_of
from shardc.analysis.emitted_mesh import EmittedMesh
from shardc.backend.python.draws.elements import INDEX, Element, Elements, Symbol
from shardc.graph import Dense, Graph, Node, Region
from shardc.ops import Trait, func, has, hlo, spmd

MOST_TRIPS = 64

At = tuple[int, ...]
"""A place in an array: an expression for each dimension."""

Array = Callable[[At], int]
"""An array: the expression of the element at a place."""

Known = dict[int, Array]
Called = Callable[["Evaluation", str, Sequence[Array]], "Sequence[Array] | None"]
"""What a call of a function gives, where that is known without its body."""


class Unknown(Exception):
    """An element has no expression."""


class Evaluation:
    """The elements of one program. `called` is asked first what a call gives."""

    def __init__(self, graph: Graph, mesh: EmittedMesh | None, called: Called) -> None:
        self.graph, self.mesh, self.called = graph, mesh, called
        self.elements = Elements()

    def opaque(self, value: int) -> Array:
        """An array of which nothing is known."""
        dtype = self.graph.type(value).dtype
        return lambda at: self.elements.number(Element(value, at, dtype))

    def symbols(self, shape: Sequence[int]) -> list[Symbol]:
        """The place along each dimension of an array."""
        return [("place", str(dim), size) for dim, size in enumerate(shape)]

    def at(self, shape: Sequence[int]) -> At:
        """Any place of an array."""
        return tuple(self.elements.place(symbol) for symbol in self.symbols(shape))

    def function(self, name: str, args: Sequence[Array]) -> Sequence[Array]:
        """What a function gives for these arguments."""
        found = self.called(self, name, args)
        return self.region(self.graph.functions[name].body, args, {}) if found is None else found

    def region(self, region: Region, args: Sequence[Array], around: Known) -> list[Array]:
        """What a region gives; `around` are the values around it."""
        known = self.inside(region, args, around)
        return [known[value] for value in region.results]

    def inside(self, region: Region, args: Sequence[Array], around: Known) -> Known:
        """All values in a region."""
        known: Known = {**around, **dict(zip(region.args, args, strict=True))}
        for node in region.nodes[:-1]:
            self._define(node, known)
        return known

    def element_of(self, node: Node, known: Known) -> Array:
        """The elements of a node's one result."""
        return lambda at: self._element(node, known, at)

    def or_opaque(self, node: Node, known: Known) -> Array:
        """The same; where an element has no expression, nothing is known of it."""
        array, opaque = self._once(node, known), self.opaque(node.results[0])

        def element(at: At) -> int:
            try:
                return array(at)
            except Unknown:
                return opaque(at)

        return element

    def _define(self, node: Node, known: Known) -> None:
        """The results of a node, each computed when an element is asked for, and once."""
        made: list[Sequence[Array]] = []

        def several() -> Sequence[Array]:
            if not made:
                made.append(self._several(node, known))
            return made[0]

        for i, value in enumerate(node.results):
            if node.name in (func.call.name, hlo.while_.name):
                known[value] = lambda at, i=i: several()[i](at)
            else:
                known[value] = self._once(node, known)

    def _once(self, node: Node, known: Known) -> Array:
        found: dict[At, int] = {}

        def array(at: At) -> int:
            if at not in found:
                found[at] = self._element(node, known, at)
            return found[at]

        return array

    def _several(self, node: Node, known: Known) -> Sequence[Array]:
        given = [known[value] for value in node.operands]
        if node.name == func.call.name:
            return self.function(str(node.attrs["callee"]), given)
        cond, body = node.regions
        for _ in range(MOST_TRIPS):
            (goes_on,) = self.region(cond, given, known)
            going = self.elements.whole(goes_on(()))
            if going is None:
                raise Unknown
            if not going:
                return given
            given = self.region(body, given, known)
        raise Unknown

    def _element(self, node: Node, known: Known, at: At) -> int:
        special = _ELEMENT.get(node.name)
        if special is not None:
            return special(self, node, known, at)
        if not has(node.name, Trait.ELEMENTWISE) or node.regions:
            raise Unknown
        operands = [known[value](at if self.shape(value) else ()) for value in node.operands]
        name = node.name
        if name == hlo.compare.name:
            name = f"{name} {node.attrs['comparison_direction']}"
            values = [self.elements.whole(x) for x in operands]
            if values[0] is not None and values[1] is not None and name.endswith(" LT"):
                return self.elements.integer(values[0] < values[1], "bool")
        return self.elements.apply(name, self.graph.type(node.results[0]).dtype, *operands)

    def shape(self, value: int) -> tuple[int, ...]:
        return self.graph.type(value).shape


def _constant(own: Evaluation, node: Node, known: Known, at: At) -> int:
    value = cast(Dense, node.attrs["value"])
    dtype = own.graph.type(node.results[0]).dtype
    if value.is_splat:
        return own.elements.constant(value.data[()], dtype)
    places = tuple(own.elements.whole(x) for x in at)
    if None in places:
        raise Unknown
    return own.elements.constant(value.data[cast("tuple[int, ...]", places)], dtype)


def _iota(own: Evaluation, node: Node, known: Known, at: At) -> int:
    dtype = own.graph.type(node.results[0]).dtype
    return own.elements.apply(hlo.convert.name, dtype, at[cast(int, node.attrs["iota_dimension"])])


def _axis_index(own: Evaluation, node: Node, known: Known, at: At) -> int:
    return _position(own, node, own.graph.type(node.results[0]).dtype)


def _position(own: Evaluation, node: Node, dtype: str) -> int:
    """The device's number over a node's axes of the emitted mesh, of which the last changes first."""
    if own.mesh is None:
        raise Unknown
    sizes = dict(own.mesh.axes)
    apply, found = own.elements.apply, own.elements.integer(0, dtype)
    for name in own.mesh.names(axes_of(node)):
        more = own.elements.place(("axis", name, sizes[name]), dtype)
        size = own.elements.integer(sizes[name], dtype)
        found = apply(hlo.add.name, dtype, apply(hlo.multiply.name, dtype, found, size), more)
    return found


def _broadcast(own: Evaluation, node: Node, known: Known, at: At) -> int:
    (operand,) = node.operands
    dims = cast("tuple[int, ...]", node.attrs["broadcast_dimensions"])
    zero = own.elements.integer(0)
    shape = own.shape(operand)
    return known[operand](tuple(zero if size == 1 else at[d] for size, d in zip(shape, dims, strict=True)))


def _reshape(own: Evaluation, node: Node, known: Known, at: At) -> int:
    """Dimensions of size 1 come and go."""
    (operand,) = node.operands
    before, after = own.shape(operand), own.shape(node.results[0])
    if [n for n in before if n != 1] != [n for n in after if n != 1]:
        raise Unknown
    rest = iter([place for place, size in zip(at, after, strict=True) if size != 1])
    zero = own.elements.integer(0)
    return known[operand](tuple(zero if size == 1 else next(rest) for size in before))


def _slice(own: Evaluation, node: Node, known: Known, at: At) -> int:
    starts, strides = (cast("tuple[int, ...]", node.attrs[key]) for key in ("start_indices", "strides"))
    if any(stride != 1 for stride in strides):
        raise Unknown
    integer, apply = own.elements.integer, own.elements.apply
    moved = (apply(hlo.add.name, INDEX, x, integer(start)) for x, start in zip(at, starts, strict=True))
    return known[node.operands[0]](tuple(moved))


def _own_block(own: Evaluation, node: Node, known: Known, at: At) -> int:
    """The block that belongs to the device."""
    dim, apply = cast(int, node.attrs["dim"]), own.elements.apply
    size = own.elements.integer(own.shape(node.results[0])[dim])
    start = apply(hlo.multiply.name, INDEX, _position(own, node, INDEX), size)
    moved = apply(hlo.add.name, INDEX, start, at[dim])
    return known[node.operands[0]]((*at[:dim], moved, *at[dim + 1 :]))


def _concatenate(own: Evaluation, node: Node, known: Known, at: At) -> int:
    dim = cast(int, node.attrs["dimension"])
    place = own.elements.whole(at[dim])
    for operand in node.operands:
        size = own.shape(operand)[dim]
        if place is None:
            break
        if place < size:
            return known[operand]((*at[:dim], own.elements.integer(place), *at[dim + 1 :]))
        place -= size
    raise Unknown


def _same_bits(own: Evaluation, node: Node, known: Known, at: At) -> int:
    (operand,) = node.operands
    if own.shape(operand) != own.shape(node.results[0]):
        raise Unknown
    return own.elements.apply(node.name, own.graph.type(node.results[0]).dtype, known[operand](at))


_ELEMENT: Mapping[str, Callable[[Evaluation, Node, Known, At], int]] = {
    hlo.constant.name: _constant,
    hlo.iota.name: _iota,
    spmd.axis_index.name: _axis_index,
    spmd.all_slice.name: _own_block,
    hlo.broadcast_in_dim.name: _broadcast,
    hlo.reshape.name: _reshape,
    hlo.slice_.name: _slice,
    hlo.concatenate.name: _concatenate,
    hlo.bitcast_convert.name: _same_bits,
}
