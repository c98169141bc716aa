"""`shardc-layout --to`: the same layout in another notation, or the reason why there is no such text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shardc.cli.layout_text import Table
from shardc.layout import LayoutError, Sharding
from shardc.layout.notations import NOTATIONS, Notation
from shardc.layout.slices import local_shapes, slices
from shardc.layout.uneven import Policy


@dataclass(frozen=True)
class Translation:
    """The text of a sharding, and of its devices where they are written apart from it."""

    text: str
    mesh: str | None


def translate(sharding: Sharding, shape: Sequence[int], policy: Policy, notation: Notation) -> Translation:
    """LayoutError with the reason if the notation cannot say it, or would make other blocks of the shape."""
    if policy == "ceil":
        text = notation.write(sharding, shape)
    else:
        text = notation.write(sharding)
        _check_blocks(sharding, shape, policy, notation)
    return Translation(text, notation.write_mesh(sharding) if notation.write_mesh else None)


def as_text(sharding: Sharding, shape: Sequence[int], policy: Policy, target: str) -> list[str | Table]:
    """The translation; for `all` a table with reasons. LayoutError if there is no single one."""
    if target != "all":
        found = _single(sharding, shape, policy, target)
        lines = [found.text] + ([f"on {found.mesh}"] if found.mesh else [])
        return [f"As {NOTATIONS[target].title}", "\n".join(lines)]
    table = Table(["notation", "text"])
    for notation in NOTATIONS.values():
        try:
            found = translate(sharding, shape, policy, notation)
        except LayoutError as error:
            table.add(notation.name, f"none: {error}")
            continue
        table.add(notation.name, found.text)
        if found.mesh:
            table.add("", f"on {found.mesh}")
    return ["In every notation", table]


def as_json(sharding: Sharding, shape: Sequence[int], policy: Policy, target: str) -> dict[str, object]:
    """Notation -> text and mesh; for `all`, or the error. LayoutError if there is no single one."""
    if target != "all":
        translation = _single(sharding, shape, policy, target)
        return {target: {"text": translation.text, "mesh": translation.mesh}}
    found: dict[str, object] = {}
    for name in NOTATIONS:
        try:
            translation = translate(sharding, shape, policy, NOTATIONS[name])
            found[name] = {"text": translation.text, "mesh": translation.mesh}
        except LayoutError as error:
            found[name] = {"error": str(error)}
    return found


def _single(sharding: Sharding, shape: Sequence[int], policy: Policy, target: str) -> Translation:
    try:
        return translate(sharding, shape, policy, NOTATIONS[target])
    except LayoutError as error:
        raise LayoutError(f"not to be written as {NOTATIONS[target].title}: {error}") from error


def _check_blocks(sharding: Sharding, shape: Sequence[int], policy: Policy, notation: Notation) -> None:
    ours = slices(sharding, shape, policy)
    theirs = slices(sharding, shape, notation.policy)
    for dim in range(sharding.rank):
        if not np.array_equal(ours[:, dim], theirs[:, dim]):
            have, has = (local_shapes(sharding, shape, p)[:, dim].tolist() for p in (policy, notation.policy))
            raise LayoutError(
                f"the {shape[dim]} elements of dimension {dim} are in blocks of {have[:8]}; "
                f"{notation.title} makes {has[:8]}"
            )
