"""Why a sharding cannot be written in a notation: the reasons that several notations share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.sharding import Sharding
from shardc.layout.slices import local_shapes, slices
from shardc.layout.uneven import Policy


def only_layouts(sharding: Sharding, notation: str) -> None:
    """LayoutError if the sharding says more than who holds what: open dimensions, priorities."""
    for i, dim in enumerate(sharding.dims):
        if dim.open:
            raise LayoutError(f"dimension {i} is open, which {notation} cannot say; close it first")
        if dim.priority is not None:
            raise LayoutError(f"dimension {i} has a priority, which {notation} cannot say")


def only_sums(sharding: Sharding, notation: str) -> None:
    """LayoutError for a partial max or min."""
    if sharding.unreduced and sharding.kind != "sum":
        raise LayoutError(f"{notation} knows partial sums only, this is a partial {sharding.kind}")


def no_partials(sharding: Sharding, notation: str) -> None:
    """LayoutError for partial results."""
    if sharding.unreduced:
        raise LayoutError(
            f"{notation} cannot say that a tensor is a partial {sharding.kind}; reduce it first"
        )


def counted_from_zero(mesh: Mesh, notation: str) -> None:
    """LayoutError if the devices have numbers of their own."""
    if mesh.ranks is not None:
        raise LayoutError(
            f"{notation} counts devices from 0 to {mesh.size - 1}; these are {list(mesh.ranks)}"
        )


def split_alike(sharding: Sharding, shape: Sequence[int] | None, notation: str, policy: Policy) -> None:
    """LayoutError if, of `shape`, the notation would split some dimension into other blocks than we do.

    `policy` is what the notation does where axes don't divide; ours is blocks of the ceiling size. Without a
    shape, all is taken to divide.
    """
    if shape is None:
        return
    ours = slices(sharding, shape)
    try:
        theirs = slices(sharding, shape, policy)
    except LayoutError as error:
        raise LayoutError(f"{notation} has no such uneven blocks: {error}") from error
    for i in range(sharding.rank):
        if not np.array_equal(theirs[:, i], ours[:, i]):
            have, has = (_sizes(sharding, shape, p, i) for p in ("ceil", policy))
            raise LayoutError(
                f"the {shape[i]} elements of dimension {i} are in blocks of {have}; {notation} makes {has}"
            )


def _sizes(sharding: Sharding, shape: Sequence[int], policy: Policy, dim: int) -> str:
    sizes = local_shapes(sharding, shape, policy)[:, dim]
    shown = ", ".join(map(str, sizes[:8].tolist()))
    return shown + (", …" if len(sizes) > 8 else "")
