"""How a sharded array lies on processes: from a process's local shape to the global shape, and back.

A process owns several devices. Along a dimension it addresses the blocks that its devices hold. The dimension
is *uniform* if all processes address equally many blocks, and any two of them the same ones or disjoint ones;
only then does a local size determine the global size. All dimensions must divide evenly, as in JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.layout import LayoutError, Sharding
from shardc.layout.slices import blocks


class Uniformity(Struct, frozen=True):
    """What processes hold of one dimension.

    The dimension has `parts` blocks; process p addresses `held[p]` of them. `shares` is the number of
    different sets of blocks that processes address if that is uniform, else None, and `reason` says why.
    """

    parts: int
    held: tuple[int, ...]
    shares: int | None
    reason: str | None = None

    def addressed(self, size: int, process: int) -> int:
        """How many elements of a dimension of `size` the devices of a process hold together."""
        return size // self.parts * self.held[process]

    def fits(self, local: int, size: int, process: int) -> bool:
        """Whether a process may give `local` elements, all of `size` or what it addresses."""
        return size % self.parts == 0 and local in (size, self.addressed(size, process))

    def global_sizes(self, local: int) -> list[int]:
        """The sizes for which every process may give `local` elements."""
        sizes = {local} | {local * self.parts // held for held in self.held}
        return sorted(s for s in sizes if all(self.fits(local, s, p) for p in range(len(self.held))))


def uniformity(sharding: Sharding) -> tuple[Uniformity, ...]:
    """The verdict on every dimension."""
    return tuple(_verdict(sharding, dim) for dim in range(sharding.rank))


def global_shape_of(sharding: Sharding, local_shape: Sequence[int]) -> tuple[int, ...]:
    """The global shape if every process gives `local_shape`, each of them only its own blocks.

    LayoutError, with the reason and the shapes that can be given instead, if a dimension is not uniform.
    """
    _check_rank(sharding, local_shape, "local data")
    verdicts = uniformity(sharding)
    for dim, verdict in enumerate(verdicts):
        if verdict.shares is None:
            raise LayoutError(
                f"dimension {dim} has no one global size: {verdict.reason}. Give the global shape; "
                + legal_shapes(sharding, local_shape)
            )
    return tuple(n * (v.shares or 1) for n, v in zip(local_shape, verdicts, strict=True))


def global_shapes_of(sharding: Sharding, local_shape: Sequence[int]) -> list[tuple[int, ...]]:
    """All global shapes for which every process may give data of `local_shape`; none if there is none."""
    _check_rank(sharding, local_shape, "local data")
    options = [v.global_sizes(n) for v, n in zip(uniformity(sharding), local_shape, strict=True)]
    return list(product(*options))


def num_addressable_indices(
    sharding: Sharding, dim: int, global_shape: Sequence[int], process: int = 0
) -> int:
    """How many different indices of a dimension the devices of a process hold. Errors as of `check_even`."""
    return local_shape_of(sharding, global_shape, process)[dim]


def local_shape_of(sharding: Sharding, global_shape: Sequence[int], process: int = 0) -> tuple[int, ...]:
    """The shape of what the devices of a process hold together. LayoutError if a dimension doesn't divide."""
    check_even(sharding, global_shape)
    return tuple(
        verdict.addressed(size, process)
        for verdict, size in zip(uniformity(sharding), global_shape, strict=True)
    )


def legal_shapes(sharding: Sharding, local_shape: Sequence[int]) -> str:
    """The global sizes that go with a local shape, as text."""
    options = [v.global_sizes(n) for v, n in zip(uniformity(sharding), local_shape, strict=True)]
    texts = [
        f"{' or '.join(map(str, sizes)) or 'none'} in dimension {dim}" for dim, sizes in enumerate(options)
    ]
    return f"legal for local {tuple(local_shape)}: {', '.join(texts)}"


def check_even(sharding: Sharding, shape: Sequence[int]) -> None:
    """LayoutError unless the sharding's axes divide every dimension of a global shape of its rank."""
    _check_rank(sharding, shape, "the global shape")
    for dim in sharding.uneven(shape):
        raise LayoutError(
            f"dimension {dim} of global shape {tuple(shape)} has {shape[dim]} elements, which are not "
            f"divisible into {sharding.dims[dim].parts} blocks"
        )


def _verdict(sharding: Sharding, dim: int) -> Uniformity:
    mesh, parts = sharding.mesh, sharding.dims[dim].parts
    process = np.arange(mesh.size) // (mesh.size // mesh.processes)
    pairs = np.unique(process * parts + blocks(mesh, sharding.dims[dim].axes))
    owner, number = pairs // parts, pairs % parts
    held = np.bincount(owner, minlength=mesh.processes)
    counts = tuple(held.tolist())
    if (held != held[0]).any():
        other = int(np.argmax(held != held[0]))
        reason = f"process 0 addresses {counts[0]} of its {parts} blocks, process {other} {counts[other]}"
        return Uniformity(parts, counts, None, reason)
    sets = np.unique(number.reshape(mesh.processes, -1), axis=0)
    if sets.size != parts:
        return Uniformity(parts, counts, None, _overlap(number.reshape(mesh.processes, -1)))
    return Uniformity(parts, counts, len(sets))


def _overlap(sets: NDArray[np.int64]) -> str:
    """Two processes that address some blocks in common, but not all."""
    first: dict[int, int] = {}
    for process, numbers in enumerate(sets.tolist()):
        for number in numbers:
            other = first.setdefault(number, process)
            if sets[other].tolist() != numbers:
                return (
                    f"process {other} addresses blocks {_listed(sets[other].tolist())}, "
                    f"process {process} blocks {_listed(numbers)}"
                )
    raise AssertionError("the sets are equal or disjoint")


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return shown + (", …" if len(numbers) > 8 else "")


def _check_rank(sharding: Sharding, shape: Sequence[int], what: str) -> None:
    if len(shape) != sharding.rank:
        raise LayoutError(f"{what} has {len(shape)} dimensions, the sharding {sharding} has {sharding.rank}")
