"""Shardings: how a tensor lies on a mesh.

One type for every notation: per dimension the axes that split it, and the axes over which each device holds
only a partial result. All other axes hold copies. A dimension that its axes don't divide has blocks of the
ceiling size, the last ones short or empty, as XLA and sdy have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from shardc.layout.axes import Axis, merge, size_of
from shardc.layout.mesh import LayoutError, Mesh

KINDS = ("sum", "max", "min")


class Dim(Struct, frozen=True, cache_hash=True):
    """The axes that split one dimension, major to minor; whether more may come; the annotation's priority."""

    axes: tuple[Axis, ...] = ()
    open: bool = False
    priority: int | None = None

    @property
    def parts(self) -> int:
        """The number of blocks the dimension is split into."""
        return size_of(self.axes)


class Sharding(Struct, frozen=True, cache_hash=True):
    """A tensor's layout on `mesh`.

    `replicated` axes may never split this tensor. Over the `unreduced` axes each device holds a partial
    result, and the tensor is their combination by `kind` (sum, max or min). No axis appears twice; the last
    two are kept in mesh order.
    """

    mesh: Mesh
    dims: tuple[Dim, ...]
    replicated: tuple[Axis, ...] = ()
    unreduced: tuple[Axis, ...] = ()
    kind: str = "sum"

    def __post_init__(self) -> None:
        for name in ("replicated", "unreduced"):
            axes: tuple[Axis, ...] = getattr(self, name)
            if len(axes) > 1:
                force_setattr(self, name, merge(sorted(axes, key=self.mesh.order)))
        if not self.unreduced:
            force_setattr(self, "kind", "sum")

    def check(self) -> Sharding:
        """Itself, if known axes are used once each, priorities are of something, and the kind is known.

        Else LayoutError.
        """
        seen: list[Axis] = []
        for axis in self.axes():
            full = self.mesh.axis(axis.name)
            if axis.pre < 1 or axis.size < 1 or full.size % axis.end:
                raise LayoutError(
                    f"{text_of(axis, self.mesh)} is not a part of axis {full.name} of size {full.size}"
                )
            for other in seen:
                if axis.overlaps(other):
                    raise LayoutError(f"axis {axis.name} is used twice")
                if not axis.coexists(other):
                    raise LayoutError(
                        f"parts {axis} and {other} of axis {axis.name} have no common refinement"
                    )
            seen.append(axis)
        for number, dim in enumerate(self.dims):
            if dim.priority is not None and not dim.axes and not dim.open:
                raise LayoutError(f"dimension {number} is empty and closed but has a priority")
        if self.kind not in KINDS:
            raise LayoutError(f"{self.kind} is no kind of partial result; the kinds are {', '.join(KINDS)}")
        return self

    def axes(self) -> Iterator[Axis]:
        """Every axis named, dimensions first."""
        for dim in self.dims:
            yield from dim.axes
        yield from self.replicated
        yield from self.unreduced

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def is_replicated(self) -> bool:
        """Whether every device holds the whole tensor."""
        return not self.unreduced and not any(dim.axes for dim in self.dims)

    def local_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of a device's block: the ceiling of size / parts in every dimension."""
        return tuple([-(-size // dim.parts) for size, dim in zip(shape, self.dims, strict=True)])

    def uneven(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The dimensions whose size their axes don't divide."""
        return tuple(
            i for i, (size, dim) in enumerate(zip(shape, self.dims, strict=True)) if size % dim.parts
        )

    def layout(self) -> Sharding:
        """Only what says who holds what: dimensions closed, no priorities, nothing about replicated axes."""
        for dim in self.dims:
            if dim.open or dim.priority is not None:
                return _closed(self)
        return _closed(self) if self.replicated else self

    def with_dims(self, dims: Sequence[Sequence[Axis]]) -> Sharding:
        """The same with other axes in each dimension (closed)."""
        return replace(self, dims=tuple(Dim(tuple(axes)) for axes in dims))

    def joined(self) -> Sharding:
        """The same with parts of one axis that follow each other as one part: x:(1)2, x:(2)2 -> x:(1)4."""
        return replace(self, dims=tuple(replace(dim, axes=merge(dim.axes)) for dim in self.dims))

    def __str__(self) -> str:
        """As JAX prints it: [data, (model, seq), -] and what is partial."""
        dims = ", ".join(_dim_text(dim, self.mesh) for dim in self.dims)
        partial = ", ".join(text_of(axis, self.mesh) for axis in self.unreduced)
        return f"[{dims}]" + (f" partial({self.kind}: {partial})" if partial else "")


@lru_cache(maxsize=65536)
def shared(sharding: Sharding) -> Sharding:
    """An equal sharding, the same object for equal ones: so that comparing them is quick."""
    return sharding


@lru_cache(maxsize=65536)
def _closed(sharding: Sharding) -> Sharding:
    return replace(sharding, dims=tuple(Dim(dim.axes) for dim in sharding.dims), replicated=())


@lru_cache(maxsize=1024)
def replicated(mesh: Mesh, rank: int) -> Sharding:
    """The whole tensor on every device, closed."""
    return Sharding(mesh, (Dim(),) * rank)


def unconstrained(mesh: Mesh, rank: int) -> Sharding:
    """Every dimension open: what a tensor without an annotation has."""
    return Sharding(mesh, (Dim(open=True),) * rank)


def text_of(axis: Axis, mesh: Mesh) -> str:
    """x for a full axis, x:(pre)size for a part."""
    return axis.name if mesh.is_full(axis) else f"{axis.name}:({axis.pre}){axis.size}"


def axis_named(text: str, mesh: Mesh) -> Axis:
    """The axis that text_of wrote; LayoutError if the mesh has none of that name, or it is no text of one."""
    name, _, part = text.partition(":(")
    pre, _, size = part.partition(")")
    if part and not (pre.isdigit() and size.isdigit()):
        raise LayoutError(f"{text} is no axis; write x or x:(1)2")
    full = mesh.axis(name)
    return Axis(name, int(size), int(pre)) if part else full


def _dim_text(dim: Dim, mesh: Mesh) -> str:
    names = [text_of(axis, mesh) for axis in dim.axes]
    body = names[0] if len(names) == 1 else f"({', '.join(names)})" if names else "-"
    return body + ("?" if dim.open else "")
