"""`shardc-layout --to`: the same layout in another notation, or the reason why there is no such text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from shardc.cli.layout_text import Table
from shardc.layout import LayoutError, Sharding
from shardc.layout.notations import NOTATIONS, Notation, shard
from shardc.layout.slices import local_shapes, slices
from shardc.layout.uneven import Policy


class Translation(Struct, frozen=True):
    """The text of a sharding, and of its devices where they are written apart from it."""

    text: str
    mesh: str | None


def translate(sharding: Sharding, shape: Sequence[int], policy: Policy, notation: Notation) -> Translation:
    """LayoutError with the reason if the notation cannot say it, or would make other blocks of the shape."""
    if policy == "ceil":
        text = notation.write(sharding, shape)
    else:
        text = notation.write(sharding)
        check_blocks(sharding, shape, policy, notation.policy, notation.title)
    return Translation(text, notation.write_mesh(sharding) if notation.write_mesh else None)


def as_type(sharding: Sharding, shape: Sequence[int], policy: Policy) -> Translation:
    """The type and the mesh in the language. LayoutError if it would make other blocks of the shape."""
    check_blocks(sharding, shape, policy, "ceil", "the language")
    return Translation(shard.write(sharding, shape), shard.write_mesh(sharding))


def as_text(sharding: Sharding, shape: Sequence[int], policy: Policy, target: str) -> list[str | Table]:
    """The translation; for `all` a table with reasons. LayoutError if there is no single one."""
    if target != "all":
        found = _single(sharding, shape, policy, target)
        lines = [found.text] + ([f"on {found.mesh}"] if found.mesh else [])
        return [f"As {_title(target)}", "\n".join(lines)]
    table = Table(["notation", "text"])
    for name in (*NOTATIONS, "shard"):
        try:
            found = _translated(sharding, shape, policy, name)
        except LayoutError as error:
            table.add(name, f"none: {error}")
            continue
        table.add(name, found.text)
        if found.mesh:
            table.add("", f"on {found.mesh}")
    return ["In every notation", table]


def as_json(sharding: Sharding, shape: Sequence[int], policy: Policy, target: str) -> dict[str, object]:
    """Notation -> text and mesh; for `all`, or the error. LayoutError if there is no single one."""
    if target != "all":
        translation = _single(sharding, shape, policy, target)
        return {target: {"text": translation.text, "mesh": translation.mesh}}
    found: dict[str, object] = {}
    for name in (*NOTATIONS, "shard"):
        try:
            translation = _translated(sharding, shape, policy, name)
            found[name] = {"text": translation.text, "mesh": translation.mesh}
        except LayoutError as error:
            found[name] = {"error": str(error)}
    return found


def _single(sharding: Sharding, shape: Sequence[int], policy: Policy, target: str) -> Translation:
    try:
        return _translated(sharding, shape, policy, target)
    except LayoutError as error:
        raise LayoutError(f"not to be written as {_title(target)}: {error}") from error


def _translated(sharding: Sharding, shape: Sequence[int], policy: Policy, target: str) -> Translation:
    if target == "shard":
        return as_type(sharding, shape, policy)
    return translate(sharding, shape, policy, NOTATIONS[target])


def _title(target: str) -> str:
    return "a type of the language" if target == "shard" else NOTATIONS[target].title


def check_blocks(sharding: Sharding, shape: Sequence[int], policy: Policy, other: Policy, whose: str) -> None:
    """LayoutError if the blocks of `shape` under `policy` are not those that `whose` policy makes."""
    ours = slices(sharding, shape, policy)
    theirs = slices(sharding, shape, other)
    for dim in range(sharding.rank):
        if not np.array_equal(ours[:, dim], theirs[:, dim]):
            have, has = (local_shapes(sharding, shape, p)[:, dim].tolist() for p in (policy, other))
            raise LayoutError(
                f"the {shape[dim]} elements of dimension {dim} are in blocks of {have[:8]}; "
                f"{whose} makes {has[:8]}"
            )
