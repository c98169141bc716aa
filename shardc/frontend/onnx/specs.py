"""What users write for meshes and shardings: the notation of .shard, or any that `shardc-layout` reads.

--mesh "pod[data=2, model=4]"     --shard "x=P('data', None)"     --shard 'w=<@pod, [{}, {"model"}]>'
"""

from __future__ import annotations

import re

from shardc.diagnostics import ShardcError
from shardc.layout import LayoutError, Mesh, Sharding
from shardc.layout.notations import NOTATIONS, meant

_MESH = re.compile(r"\s*([A-Za-z_]\w*)\s*\[([^\[\]]*)\]\s*")
_AXIS = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(\d{1,9})\s*")


def read_mesh(text: str) -> Mesh:
    """The mesh of `pod[data=2, model=4]`, or of another notation's text. ShardcError if it is none."""
    match = _MESH.fullmatch(text)
    parts = [_AXIS.fullmatch(part) for part in match[2].split(",")] if match else []
    try:
        if match and all(parts):
            return Mesh(match[1], tuple((part[1], int(part[2])) for part in parts if part))
        for notation in NOTATIONS.values():
            if notation.read_mesh is not None:
                try:
                    return notation.read_mesh(text)
                except LayoutError:
                    continue
    except LayoutError as error:
        raise ShardcError(f"--mesh {text}: {error}") from None
    raise ShardcError(f"--mesh {text} is no mesh", hint='such as --mesh "pod[data=2, model=4]"')


def read_sharding(name: str, text: str, mesh: Mesh | None, rank: int) -> Sharding:
    """The sharding of a tensor in the first notation that reads it.

    ShardcError if none does, with the reasons of those that the text looks like.
    """
    reasons: dict[str, str] = {}
    for notation in NOTATIONS.values():
        try:
            sharding = notation.read(text, mesh, rank)
        except LayoutError as error:
            reasons[notation.title] = str(error)
            continue
        if sharding.rank == rank:
            return sharding.check()
        reasons[notation.title] = f"it is for {sharding.rank} dimensions, and {name} has {rank}"
    wrong = f"--shard {name}={text} is no sharding"
    said = [f"{notation.title}: {reasons[notation.title]}" for notation in meant(text)]
    if not said:
        titles = ", ".join(reasons)
        raise ShardcError(f"{wrong} in any notation: {titles}", hint=f"such as --shard \"{name}=P('data')\"")
    raise ShardcError(f"{wrong}:\n    " + "\n    ".join(said))
