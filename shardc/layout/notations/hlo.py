"""HLO sharding text, as XLA prints it.

    {replicated}   {maximal device=3}
    {devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}      V1: the devices one by one
    {devices=[2,1,4]<=[2,4]T(1,0) last_tile_dims={replicated}}    V2: iota, reshaped, transposed

HLO has no mesh: it lists devices in an array of shape [blocks of dimension 0, …, subgroups]. Reading finds
the axes in a given mesh, or makes a mesh. Of subgroups, copies and partial sums are supported; manual ones
are refused, since they say nothing about where the tensor's blocks are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.notations import limits
from shardc.layout.recognise import Table, factors, in_mesh, on_own_mesh, table_of
from shardc.layout.sharding import Dim, Sharding, replicated

T = TypeVar("T")

_TILED = re.compile(
    r"devices=\[(?P<tiles>[\d,]+)\](?:<=\[(?P<iota>[\d,]+)\](?:T\((?P<permutation>[\d,]+)\))?|(?P<list>[\d,]+))"
    r"(?P<rest>.*)"
)
_SUBGROUPS = re.compile(r"last_tile_dims=\{([\w, ]*)\}")
_REASONS = {
    "manual": "manual subgroups are inside a shard_map: the tensor's blocks there are the program's affair",
    "unknown": "it says nothing about where the tensor is",
}


def read(text: str, mesh: Mesh | None = None, rank: int | None = None) -> Sharding:
    """The sharding that `text` means, on `mesh` or, without one, on a mesh made for it.

    Of `{replicated}` and `{unreduced}` the text tells neither the devices nor the rank: those need `mesh` and
    `rank`. LayoutError says what cannot be read, or what does not follow the axes of `mesh`.
    """
    body = _body(text)
    if body in _REASONS:
        raise LayoutError(f"{{{body}}} has no layout: {_REASONS[body]}")
    if body in ("replicated", "unreduced"):
        return _everywhere(body, mesh, rank)
    if match := re.fullmatch(r"maximal device=(\d+)", body):
        return replicated(Mesh("mesh", (), (int(match[1]),)), _known(rank, body, "rank"))
    table = _table(text, body, rank)
    return on_own_mesh(table) if mesh is None else in_mesh(table, mesh)


def write(sharding: Sharding, shape: Sequence[int] | None = None) -> str:
    """HLO text. LayoutError for a partial max or min and for open dimensions, of which HLO knows nothing.

    The shape doesn't matter: HLO, too, has blocks of the ceiling size.
    """
    mesh = sharding.mesh
    limits.only_layouts(sharding, "HLO")
    limits.only_sums(sharding, "HLO")
    limits.counted_from_zero(mesh, "HLO")
    if mesh.is_maximal:
        return f"{{maximal device={mesh.device_ids[0] if mesh.device_ids else 0}}}"
    if sharding.is_replicated:
        return "{replicated}"
    table = table_of(sharding)
    copies = mesh.size // (prod(table.parts) * table.partials)
    if prod(table.parts) == 1 and copies == 1:
        return "{unreduced}"
    groups = [("unreduced", table.partials), ("replicated", copies)]
    kept = [(name, size) for name, size in groups if size > 1]
    tiles = [*table.parts, *(size for _, size in kept)]
    return f"{{devices={_listed(tiles)}{_order(table)}{_suffix([name for name, _ in kept])}}}"


def _body(text: str) -> str:
    stripped = text.strip()
    if not (stripped.startswith("{") and stripped.endswith("}")):
        raise LayoutError(f"HLO shardings are in braces, as {{replicated}}; this is {text!r}")
    return " ".join(stripped[1:-1].split())


def _everywhere(body: str, mesh: Mesh | None, rank: int | None) -> Sharding:
    mesh = _known(mesh, body, "mesh")
    rank = _known(rank, body, "rank")
    unreduced = tuple(mesh.axis(name) for name, _ in mesh.axes) if body == "unreduced" else ()
    return Sharding(mesh, (Dim(),) * rank, (), unreduced)


def _known(value: T | None, body: str, what: str) -> T:
    if value is None:
        raise LayoutError(f"{{{body}}} does not tell the {what}: give it")
    return value


def _table(text: str, body: str, rank: int | None) -> Table:
    match = _TILED.fullmatch(body)
    if match is None:
        raise LayoutError(f"{text!r} is not HLO: write {{replicated}} or {{devices=[2,1,4]<=[8]}}")
    tiles = _numbers(match["tiles"])
    kinds = _kinds(match["rest"].strip())
    devices = _devices(match, prod(tiles))
    dims = len(tiles) - len(kinds)
    if dims < 0 or (rank is not None and dims != rank):
        raise LayoutError(f"{text!r} has {dims} dimensions, the tensor {rank}")
    at = np.empty((len(devices), len(tiles)), np.int64)
    at[devices] = np.stack(np.unravel_index(np.arange(len(devices)), tiles), axis=-1)
    partial = np.zeros(len(devices), np.int64)
    partials = 1
    for i, kind in enumerate(kinds, dims):
        if kind == "unreduced":
            partial, partials = partial * tiles[i] + at[:, i], partials * tiles[i]
    return Table(tuple(at[:, i] for i in range(dims)), tuple(tiles[:dims]), partial, partials)


def _kinds(rest: str) -> list[str]:
    """The kinds of the trailing subgroup dimensions."""
    if rest == "last_tile_dim_replicate":
        return ["replicated"]
    match = _SUBGROUPS.fullmatch(rest)
    if rest and match is None:
        raise LayoutError(f"cannot read {rest!r}; after the devices may stand last_tile_dims={{replicated}}")
    kinds = [kind.strip() for kind in match[1].split(",")] if match else []
    for kind in kinds:
        if kind not in ("replicated", "unreduced"):
            raise LayoutError(f"subgroups of kind {kind}: {_REASONS.get(kind, 'no such kind is known')}")
    return kinds


def _devices(match: re.Match[str], count: int) -> NDArray[np.int64]:
    """The device at each place of the tile array, flat."""
    if match["list"]:
        devices = np.array(_numbers(match["list"]), np.int64)
        if len(devices) != count or not np.array_equal(np.sort(devices), np.arange(count)):
            raise LayoutError(f"the {count} devices must be 0 to {count - 1}, once each, not {match['list']}")
        return devices
    shape = _numbers(match["iota"])
    if prod(shape) != count:
        raise LayoutError(f"<=[{match['iota']}] are {prod(shape)} devices, the tiles {count}")
    order = _numbers(match["permutation"] or ",".join(map(str, range(len(shape)))))
    if sorted(order) != list(range(len(shape))):
        raise LayoutError(f"T({match['permutation']}) does not permute {len(shape)} dimensions")
    return np.arange(count).reshape(shape).transpose(order).reshape(-1)


def _numbers(text: str) -> list[int]:
    numbers = [int(part) for part in text.split(",") if part]
    if prod(numbers) > 1 << 24:
        raise LayoutError(f"[{text}] are more than {1 << 24} devices")
    return numbers


def _order(table: Table) -> str:
    """`<=[2,4]T(1,0)` if the devices are digits of the blocks, else the devices one by one."""
    found = factors(table)
    if found is None:
        return ",".join(map(str, _flat(table).tolist()))
    last = len(table.parts) + 1
    keys = [(last if column is None else column, -stride, i) for i, (_, column, stride) in enumerate(found)]
    order = [i for _, _, i in sorted(keys)]
    runs = [[i] for i in order[:1]]
    for i in order[1:]:
        if i == runs[-1][-1] + 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    ascending = sorted(runs)
    sizes = [prod(found[i][0] for i in run) for run in ascending]
    if len(runs) < 2:
        return f"<=[{table.devices}]"
    return f"<={_listed(sizes)}T({','.join(str(ascending.index(run)) for run in runs)})"


def _flat(table: Table) -> NDArray[np.int64]:
    """The devices in the order of their blocks, then partial results, copies ascending."""
    number = np.zeros(table.devices, np.int64)
    for column, parts in zip(table.columns, (*table.parts, table.partials), strict=True):
        number = number * parts + column
    return np.argsort(number, kind="stable")


def _suffix(kinds: list[str]) -> str:
    if kinds == ["replicated"]:
        return " last_tile_dim_replicate"
    return f" last_tile_dims={{{', '.join(kinds)}}}" if kinds else ""


def _listed(numbers: Sequence[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"
