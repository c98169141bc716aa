"""Collectives over groups that span several links or axes, in stages: inside, then across, or across first.

A group on two nodes of eight devices may sum in three steps: each device gets the sum of an eighth within its
node (reduce-scatter), sums that with its peer in the other node (all-reduce), and the node puts its eighths
together (all-gather). Across, an eighth of the bytes travels. An all-gather and a reduce-scatter have two
steps, over the part of the group inside and over the other, in either order; blocks then arrive in the order
of the steps and are put right on the device, which is priced as a copy.

A group over several axes on one ring may go over one and then over the others: over 2 and then 4 devices an
all-reduce takes 2 + 6 steps, over 8 at once 14. (On a torus axes are used side by side.)

`Stages.best` says how a collective is quickest on a machine, by the times of links.py. Stages of stages
follow from asking it again for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from shardc.analysis.collectives import axes_of, pairs_of
from shardc.graph import Graph, Node
from shardc.layout import Axis, Mesh, size_of
from shardc.ops import find, spmd
from shardc.ops.definition import OpDef
from shardc.planning.machines.links import Exchange, farthest, is_strided, link_of, seconds
from shardc.planning.machines.machine import Machine

Axes = tuple[Axis, ...]


class Wanted(Struct, frozen=True):
    """An all_reduce, all_gather or reduce_scatter of `kind` over axes, or a permute between `pairs`, the
    farthest of all, of a block of a shape, whose elements have `itemsize` bytes. `dim` is what is gathered or
    scattered."""

    op: OpDef
    over: Axes
    shape: tuple[int, ...]
    itemsize: int
    dim: int | None = None
    kind: str | None = None
    pairs: tuple[tuple[int, int], ...] = ()

    @property
    def group(self) -> int:
        return size_of(self.over)

    @property
    def nbytes(self) -> int:
        """Of the operand."""
        return prod(self.shape) * self.itemsize

    @property
    def result(self) -> tuple[int, ...]:
        """The shape of the result."""
        if self.dim is None:
            return self.shape
        size, n = self.shape[self.dim], self.group
        changed = size * n if self.op is spmd.all_gather else size // n
        return (*self.shape[: self.dim], changed, *self.shape[self.dim + 1 :])

    @property
    def result_bytes(self) -> int:
        return prod(self.result) * self.itemsize

    def stage(self, op: OpDef, over: Axes, dim: int | None, shape: tuple[int, ...]) -> Wanted:
        """A stage of it, of a block that has a shape by then."""
        return Wanted(op, over, shape, self.itemsize, dim, self.kind)


def wanted_of(graph: Graph, node: Node) -> Wanted:
    """What a collective of per-device code asks for."""
    op, type, dim = find(node.name), graph.type(node.operands[0]), node.attrs.get("dim")
    assert op is not None and (dim is None or isinstance(dim, int))
    kind = str(node.attrs["kind"]) if "kind" in node.attrs else None
    axes, pairs = axes_of(node), pairs_of(node)
    return Wanted(op, axes, type.shape, type.numpy.itemsize, dim, kind, farthest(pairs, size_of(axes)))


class Staged(Struct, frozen=True):
    """The stages of a collective, and the axes along which blocks stand then, or have to stand before a
    reduce-scatter, major to minor; `ordered` if those are the collective's own."""

    steps: tuple[Wanted, ...]
    order: Axes
    ordered: bool


class Stages:
    """What is quickest on a machine, over a mesh. `named` are the axes that a program names: they and the
    parts of axes that stages run over must be unions of the pieces of one mesh."""

    def __init__(self, machine: Machine, mesh: Mesh, named: Sequence[Axis] = ()) -> None:
        self.machine, self.mesh, self.named = machine, mesh, tuple(dict.fromkeys(named))
        self._best: dict[Wanted, tuple[float, Staged | None]] = {}
        self._cuts: dict[Axes, tuple[tuple[Axes, Axes], ...]] = {}

    def seconds(self, wanted: Wanted) -> float:
        """In the quickest way."""
        return self.best(wanted)[0]

    def sent(self, wanted: Wanted) -> float:
        """Of these seconds, those that are no copies."""
        _, staged = self.best(wanted)
        return self.at_once(wanted) if staged is None else sum(map(self.sent, staged.steps))

    def best(self, wanted: Wanted) -> tuple[float, Staged | None]:
        """Seconds, and the stages, None where it is one collective. Equally quick, it is one."""
        if wanted not in self._best:
            found: tuple[float, Staged | None] = (self.at_once(wanted), None)
            for staged in self._ways(wanted):
                took = self._copied(wanted, staged) + sum(self.seconds(step) for step in staged.steps)
                if took < found[0]:
                    found = took, staged
            self._best[wanted] = found
        return self._best[wanted]

    def sums(self, wanted: Wanted) -> tuple[float, tuple[Axes, ...]]:
        """Seconds of an all-reduce where all of its stages are all-reduces of the whole array, and their
        axes."""
        best: tuple[float, tuple[Axes, ...]] = (self.at_once(wanted), (wanted.over,))
        for cut in self.cuts(wanted.over):
            took, order = 0.0, list[Axes]()
            for over in cut:
                some = self.sums(replace(wanted, over=over))
                took += some[0]
                order += some[1]
            if took < best[0]:
                best = took, (*order,)
        return best

    def at_once(self, wanted: Wanted) -> float:
        """As one collective."""
        op, held, n = wanted.op, wanted.nbytes, wanted.group
        assert op.sends is not None and op.title is not None
        strided = wanted.dim is not None and is_strided(wanted.shape, wanted.dim)
        sent = Exchange(op.title, wanted.over, n, op.sends(held, n), held, wanted.pairs, strided)
        return seconds(self.machine, link_of(self.machine, self.mesh, wanted.over), self.mesh, sent)

    def _copied(self, wanted: Wanted, staged: Staged) -> float:
        """Seconds to put blocks into another order."""
        if staged.ordered:
            return 0.0
        whole = max(wanted.nbytes, wanted.result_bytes)
        return self.machine.work(0, "other", 2 * whole)

    def _ways(self, wanted: Wanted) -> Iterator[Staged]:
        if wanted.op is spmd.collective_permute:
            return
        for inner, outer in self.cuts(wanted.over):
            if wanted.op is spmd.all_reduce:
                yield from _reduced(wanted, inner, outer)
            else:
                yield _one_after_the_other(wanted, inner, outer)
                yield _one_after_the_other(wanted, outer, inner)

    def cuts(self, over: Axes) -> tuple[tuple[Axes, Axes], ...]:
        """The parts of axes that lie within one link, and the others, for each link that is too small; and on
        a ring with latency each axis, and the others."""
        if over not in self._cuts:
            self._cuts[over] = tuple(dict.fromkeys(self._cut(over)))
        return self._cuts[over]

    def _cut(self, over: Axes) -> Iterator[tuple[Axes, Axes]]:
        for level in range(self._level(over)):
            inner = tuple(part for axis in over if (part := self.inside(axis, level)).size > 1)
            if not inner or self._level(inner) > level:
                continue
            parts = {part.name: part for part in inner}
            rest = [_before(axis, parts[axis.name]) if axis.name in parts else axis for axis in over]
            yield inner, tuple(axis for axis in rest if axis.size > 1)
        link = self.machine.links[self._level(over)]
        if link.kind == "ring" and link.latency and len(over) > 1:
            for axis in over:
                yield (axis,), tuple(other for other in over if other != axis)

    def _level(self, axes: Axes) -> int:
        """The number of the link that they span."""
        return self.machine.links.index(link_of(self.machine, self.mesh, axes))

    def inside(self, axis: Axis, level: int) -> Axis:
        """The largest minor part of an axis within a link; of size 1 if there is none."""
        for size in range(axis.size, 1, -1):
            part = Axis(axis.name, size, axis.end // size)
            if axis.size % size == 0 and self._has_room(part) and self._level((part,)) <= level:
                return part
        return Axis(axis.name, 1, axis.end)

    def _has_room(self, part: Axis) -> bool:
        rest = _before(Axis(part.name, part.end), part)
        return all(part.coexists(axis) and rest.coexists(axis) for axis in self.named)


def _before(axis: Axis, part: Axis) -> Axis:
    """An axis without its minor part."""
    return Axis(axis.name, axis.size // part.size, axis.pre)


def _reduced(wanted: Wanted, inner: Axes, outer: Axes) -> Iterator[Staged]:
    """An all-reduce: of parts, where some dimension is divided evenly; and of the whole array twice."""
    n = size_of(inner)
    dims = [dim for dim, size in enumerate(wanted.shape) if size and size % n == 0]
    if dims and wanted.kind == "sum":
        scatter = wanted.stage(spmd.reduce_scatter, inner, dims[0], wanted.shape)
        across = wanted.stage(spmd.all_reduce, outer, None, scatter.result)
        gather = wanted.stage(spmd.all_gather, inner, dims[0], scatter.result)
        yield Staged((scatter, across, gather), inner, True)
    once = wanted.stage(spmd.all_reduce, inner, None, wanted.shape)
    yield Staged((once, wanted.stage(spmd.all_reduce, outer, None, wanted.shape)), inner, True)


def _one_after_the_other(wanted: Wanted, first: Axes, then: Axes) -> Staged:
    """A gather, or a scatter, over some of the axes and over the others.

    What is gathered last is major in the result; what is scattered first is major in the operand.
    """
    one = wanted.stage(wanted.op, first, wanted.dim, wanted.shape)
    other = wanted.stage(wanted.op, then, wanted.dim, one.result)
    order = (*then, *first) if wanted.op is spmd.all_gather else (*first, *then)
    return Staged((one, other), order, order == pieces(wanted.over, order))


def pieces(over: Axes, parts: Axes) -> Axes:
    """The parts in the order of the axes that they make up."""
    order = [axis for axis in over]

    def place(part: Axis) -> tuple[int, int]:
        return next(i for i, axis in enumerate(order) if axis.contains(part)), part.pre

    return tuple(sorted(parts, key=place))
