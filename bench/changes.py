"""Bytes sent and CPU seconds taken without each limit of the search for changes of layout.

    python -m bench.changes [--pairs 240] [--output FILE]

Tensors of two or three dimensions go from one layout to another, both drawn at random, on meshes of four and
five axes: there finer pieces of axes make searches long. A row has how many of the changes send more bytes
without the limit, how many send fewer, by how much at most, and the CPU seconds of all together, as a part of
those with it; each row begins with nothing remembered.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.page import publish
from shardc.graph.types import TensorType
from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.planning.reshard import copies, next_moves, planner, search
from shardc.planning.reshard.atoms import atoms_of

SIZE = 4096
MESHES = (
    {"a": 4, "b": 4, "c": 2, "d": 2},
    {"a": 8, "b": 4, "c": 2, "d": 4},
    {"a": 4, "b": 2, "c": 8, "d": 2, "e": 4},
    {"a": 16, "b": 8, "c": 4, "d": 4},
)

LIMITS: Mapping[str, tuple[str, Any]] = {
    "cuts of more than four pieces save a 64th": ("WORTH_CUTTING", 10**12),
    "cuts of several pairs where two gain": (
        "atoms_of",
        lambda *said: atoms_of(*said)._replace(joined=False),
    ),
    "half a second where a mesh has more than three axes": ("EFFORT", planner.WHOLE_EFFORT),
}
"""What is left out, by name: what in the planner, and what stands in for it."""

Change = tuple[TensorType, Sharding, Sharding]


class Row(Struct, frozen=True):
    """The bytes of each change, and the CPU seconds of all."""

    bytes: tuple[int, ...]
    seconds: float


def drawn(count: int, seed: int = 0) -> Iterator[Change]:
    """Changes of layout, the same for the same seed."""
    chance = random.Random(seed)

    def layout(mesh: Mesh, rank: int) -> Sharding:
        dims: list[list[Axis]] = [[] for _ in range(rank)]
        for axis in chance.sample(mesh.several, len(mesh.several)):
            place = chance.randrange(rank + 1)
            if place < rank:
                dims[place].append(axis)
        return Sharding(mesh, tuple(Dim(tuple(axes)) for axes in dims))

    for _ in range(count):
        mesh, rank = Mesh("m", (*chance.choice(MESHES).items(),)), chance.choice((2, 3))
        yield TensorType((SIZE,) * rank, "f32"), layout(mesh, rank), layout(mesh, rank)


def forget() -> None:
    """Know nothing of any change of layout."""
    known = (
        planner.plan,
        planner.preferred_plan,
        copies.price,
        copies.copies,
        vars(search)["_search"],
    )
    for each in known:
        each.cache_clear()
    vars(next_moves)["_KNOWN"].clear()


def measured(changes: list[Change], name: str | None = None) -> Row:
    """The ways without a limit, or with all of them."""
    limit, instead = LIMITS[name] if name else ("EFFORT", planner.EFFORT)
    held = getattr(planner, limit)
    setattr(planner, limit, instead)
    forget()
    try:
        started = time.process_time()
        found = tuple(planner.plan(*change).cost.bytes for change in changes)
        return Row(found, time.process_time() - started)
    finally:
        setattr(planner, limit, held)
        forget()


def table(changes: list[Change]) -> Iterator[str]:
    """A row for each limit."""
    own = measured(changes)
    yield f"{len(changes)} changes of layout, found in {own.seconds:.1f} CPU s."
    yield ""
    yield "| without | more bytes | fewer | by at most | CPU s, with = 1 |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name in LIMITS:
        row = measured(changes, name)
        pairs = list(zip(own.bytes, row.bytes, strict=True))
        less = [1 - new / old for old, new in pairs if new < old]
        more, most = sum(new > old for old, new in pairs), f"{max(less):.1%}" if less else "–"
        yield f"| {name} | {more} | {len(less)} | {most} | {row.seconds / own.seconds:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=240)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    changes = list(drawn(given.pairs))
    publish(
        "What each limit of the search for changes of layout is worth", __doc__, table(changes), given.output
    )


if __name__ == "__main__":
    main()
