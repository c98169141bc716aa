"""What the per-device function is given: the device's place in the mesh, and the collectives.

`axes` is an axis name or a tuple of names, major to minor; a position over several axes is row-major. Every
device of a group (the devices that differ only along those axes) calls the same collective, with arrays of
one shape and dtype. Dimensions may be negative. Wrong arguments raise ValueError.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike

from shardc.graph.types import identity, name_of
from shardc.layout import KINDS
from shardc.runtime.collectives import Array, split
from shardc.runtime.groups import MeshGroups, Names
from shardc.runtime.mesh import Axes, names_of
from shardc.runtime.ragged import ragged_all_to_all

_HERE = str(Path(__file__).parent) + os.sep


class Call(Struct, frozen=True):
    """A collective as one device calls it. The calls of a group differ in `where` alone: file:line."""

    kind: str
    axes: Names
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    params: tuple[tuple[str, object], ...]
    where: str

    def joins(self, other: Call) -> bool:
        """Whether both may be of one group."""
        return replace(self, where=other.where) == other

    def __str__(self) -> str:
        axes = repr(self.axes[0] if len(self.axes) == 1 else self.axes)
        params = "".join(f", {name}={value}" for name, value in self.params)
        return f"{self.kind}({type_text(self.shape, self.dtype)}, {axes}{params})"


class Comm(ABC):
    """One device's view of the mesh. How a group comes together is left to `_meet`."""

    def __init__(self, groups: MeshGroups, position: int) -> None:
        """`position` is the device's row-major position in the mesh."""
        self.mesh = groups.mesh
        self.position = position
        self._groups = groups

    @abstractmethod
    def _meet(self, call: Call, x: Array) -> Array:
        """Wait for the group over `call.axes`; this device's result of the collective."""

    def __repr__(self) -> str:
        return f"<{self._groups.device(self.position)} of {self.mesh}>"

    # the device's place

    def axis_index(self, axes: Axes) -> np.int32:
        """This device's position along the axes."""
        return np.int32(self._groups.over(names_of(axes)).place[self.position])

    def axis_size(self, axes: Axes) -> int:
        """The number of positions along the axes."""
        return self._groups.over(names_of(axes)).size

    # collectives

    def psum(self, x: ArrayLike, axes: Axes) -> Array:
        """The sum over the axes, on every device. Booleans count, as i32."""
        return self._call("psum", x, axes)

    def pmean(self, x: ArrayLike, axes: Axes) -> Array:
        """The mean over the axes, on every device. Integers give floats."""
        return self._call("pmean", x, axes)

    def pmax(self, x: ArrayLike, axes: Axes) -> Array:
        """The maximum over the axes, on every device."""
        return self._call("pmax", x, axes)

    def pmin(self, x: ArrayLike, axes: Axes) -> Array:
        """The minimum over the axes, on every device."""
        return self._call("pmin", x, axes)

    def psum_scatter(self, x: ArrayLike, axes: Axes, scatter_dimension: int = 0, tiled: bool = True) -> Array:
        """The sum over the axes, of which each device keeps its own block of `scatter_dimension`.

        Untiled, that dimension has one element per position, and goes.
        """
        dim = self._divisible("psum_scatter", x, axes, scatter_dimension, tiled)
        return self._call("psum_scatter", x, axes, scatter_dimension=dim, tiled=tiled)

    def all_gather(self, x: ArrayLike, axes: Axes, axis: int = 0, tiled: bool = True) -> Array:
        """The blocks of all positions, joined along `axis`; untiled, stacked along a new one."""
        dim = _dimension("all_gather", axis, np.ndim(x) + (not tiled))
        return self._call("all_gather", x, axes, axis=dim, tiled=tiled)

    def all_to_all(
        self, x: ArrayLike, axes: Axes, split_axis: int, concat_axis: int, tiled: bool = True
    ) -> Array:
        """Cut along `split_axis`, send piece p to position p, join what comes along `concat_axis`.

        Untiled, the split dimension has one element per position, and goes; a new one comes at `concat_axis`.
        """
        split_dim = self._divisible("all_to_all", x, axes, split_axis, tiled)
        concat_dim = _dimension("all_to_all", concat_axis, np.ndim(x))
        return self._call("all_to_all", x, axes, split_axis=split_dim, concat_axis=concat_dim, tiled=tiled)

    def ragged_all_to_all(
        self,
        x: ArrayLike,
        output: ArrayLike,
        input_offsets: ArrayLike,
        send_sizes: ArrayLike,
        output_offsets: ArrayLike,
        recv_sizes: ArrayLike,
        axes: Axes,
    ) -> Array:
        """Send rows of x to each position in turn, which puts them into its `output`, as JAX says it."""
        tables = [np.asarray(t) for t in (input_offsets, send_sizes, output_offsets, recv_sizes)]
        return ragged_all_to_all(
            np.asarray(x), np.asarray(output), tables, lambda parts: self.all_to_all(parts, axes, 0, 0)
        )

    def ppermute(self, x: ArrayLike, axes: Axes, perm: Sequence[tuple[int, int]]) -> Array:
        """Send x from source to destination for each (source, destination); the others get zeros."""
        pairs = tuple((int(source), int(destination)) for source, destination in perm)
        for what, ends in (("source", [s for s, _ in pairs]), ("destination", [d for _, d in pairs])):
            _check_ends("ppermute", what, ends, axes, self.axis_size(axes))
        return self._call("ppermute", x, axes, perm=pairs)

    def pbroadcast(self, x: ArrayLike, axes: Axes, source: int) -> Array:
        """The x of position `source`, on all."""
        _check_ends("pbroadcast", "source", [int(source)], axes, self.axis_size(axes))
        return self._call("pbroadcast", x, axes, source=int(source))

    # without communication

    def block(self, x: ArrayLike, axes: Axes, axis: int = 0) -> Array:
        """This device's block along dimension `axis`, which the axes must divide."""
        dim = self._divisible("block", x, axes, axis, tiled=True)
        return split(np.asarray(x), dim, self.axis_size(axes))[int(self.axis_index(axes))]

    def partial(self, x: ArrayLike, axes: Axes, kind: str = "sum") -> Array:
        """x on position 0, on others what changes nothing: their sum, max or min (`kind`) is x."""
        x = np.asarray(x)
        return x if self.axis_index(axes) == 0 else np.full_like(x, neutral(kind, x.dtype))

    def _call(self, kind: str, x: ArrayLike, axes: Axes, **params: object) -> Array:
        x = np.asarray(x)
        names = names_of(axes)
        self._groups.over(names)
        return self._meet(Call(kind, names, x.shape, x.dtype, tuple(params.items()), _caller()), x)

    def _divisible(self, kind: str, x: ArrayLike, axes: Axes, dim: int, tiled: bool) -> int:
        shape, size = np.shape(x), self.axis_size(axes)
        dim = _dimension(kind, dim, len(shape))
        if shape[dim] % size if tiled else shape[dim] != size:
            need = "is not divisible by" if tiled else "must be, untiled,"
            raise ValueError(
                f"{kind}: dimension {dim} of {list(shape)} {need} the {size} positions over {axes}"
            )
        return dim


def neutral(kind: str, dtype: np.dtype[Any]) -> np.generic:
    """The element of `dtype` that changes nothing in a sum, max or min."""
    if kind not in KINDS:
        raise ValueError(f"{kind} is no kind of partial result; the kinds are {', '.join(KINDS)}")
    return identity(kind, name_of(dtype) or str(dtype))


def type_text(shape: Sequence[int], dtype: np.dtype[Any]) -> str:
    """f32[2, 8]."""
    return f"{name_of(dtype) or dtype}[{', '.join(map(str, shape))}]"


def _dimension(kind: str, dim: int, rank: int) -> int:
    if not -rank <= dim < rank:
        raise ValueError(f"{kind}: there is no dimension {dim}; the array has {rank}")
    return dim % rank


def _check_ends(kind: str, what: str, ends: list[int], axes: Axes, size: int) -> None:
    for end in ends:
        if not 0 <= end < size:
            raise ValueError(f"{kind}: {what} {end} is not one of the {size} positions over {axes}")
    if len(set(ends)) < len(ends):
        twice = next(end for end in ends if ends.count(end) > 1)
        raise ValueError(f"{kind}: {what} {twice} occurs twice")


def _caller() -> str:
    """file:line of the innermost frame outside this package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
