"""`shardc-layout --processes`: what each process holds, and whether a local shape tells the global one."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.cli.layout_holdings import Holding, Ranges, grid_of
from shardc.cli.layout_text import Table
from shardc.layout import LayoutError, Sharding
from shardc.runtime import global_shape_of, global_shapes_of, local_shape_of, uniformity


def as_text(sharding: Sharding, shape: Sequence[int], held: Sequence[Holding]) -> list[str | Table]:
    """A table of processes, the verdict on every dimension, and a figure per process."""
    mesh = sharding.mesh
    table = Table(["process", "devices", *(f"dimension {i}" for i in range(sharding.rank)), "local shape"])
    for process, mine in enumerate(_by_process(sharding, held)):
        devices = " ".join(str(holding.device) for holding in mine)
        needs = (_joined(ranges) for ranges in _needed(mine, sharding.rank))
        table.add(process, devices, *needs, _local_shape(sharding, shape, process))
    each = _counted(mesh.size // mesh.processes, "device", "s")
    heading = f"{_counted(mesh.processes, 'process', 'es')} of {each}"
    return [heading, table, *_verdicts(sharding, shape), *_masks(sharding, held)]


def as_json(sharding: Sharding, shape: Sequence[int], held: Sequence[Holding]) -> dict[str, object]:
    """The same as a dictionary."""
    return {
        "processes": [
            {
                "process": process,
                "devices": [holding.device for holding in mine],
                "needs": [[list(r) for r in ranges] for ranges in _needed(mine, sharding.rank)],
            }
            for process, mine in enumerate(_by_process(sharding, held))
        ],
        "dimensions": [
            {"uniform": v.shares is not None, "shares": v.shares, "reason": v.reason}
            for v in uniformity(sharding)
        ],
    }


def fitting_text(sharding: Sharding, local_shape: Sequence[int] | None) -> list[str | Table]:
    """Which global shapes go with local data of a shape, and which of them is inferred."""
    if local_shape is None:
        return []
    shapes = global_shapes_of(sharding, local_shape)
    text = f"Global shapes for local data of shape {tuple(local_shape)}: " + (
        ", ".join(map(str, shapes)) or "none"
    )
    try:
        inferred = global_shape_of(sharding, local_shape)
        said = f"without a global shape: {inferred}"
        if inferred not in shapes:
            said = f"without a global shape: none, since the blocks don't divide {inferred}"
    except LayoutError as error:
        said = f"without a global shape: none; {error}"
    return [f"{text}\n{said}"]


def _counted(number: int, noun: str, plural: str) -> str:
    return f"{number} {noun}{'' if number == 1 else plural}"


def _by_process(sharding: Sharding, held: Sequence[Holding]) -> list[Sequence[Holding]]:
    count = sharding.mesh.size // sharding.mesh.processes
    return [held[i : i + count] for i in range(0, len(held), count)]


def _needed(mine: Sequence[Holding], rank: int) -> list[Ranges]:
    """Per dimension what the devices of a process hold together."""
    return [tuple(sorted({ranges for h in mine for ranges in h.parts[0][dim]})) for dim in range(rank)]


def _joined(ranges: Ranges) -> str:
    return " ".join(f"{start}:{stop}" for start, stop in ranges)


def _local_shape(sharding: Sharding, shape: Sequence[int], process: int) -> str:
    try:
        return str(local_shape_of(sharding, shape, process))
    except LayoutError:
        return "uneven"


def _verdicts(sharding: Sharding, shape: Sequence[int]) -> list[str]:
    lines: list[str] = []
    for dim, verdict in enumerate(uniformity(sharding)):
        if verdict.shares is None:
            lines.append(f"dimension {dim} is not uniform: {verdict.reason}; the global shape must be given")
        elif verdict.shares == 1:
            lines.append(f"dimension {dim} is uniform: every process needs all of it")
        else:
            lines.append(
                f"dimension {dim} is uniform: the processes need {verdict.shares} different parts of it"
            )
    try:
        local = local_shape_of(sharding, shape)
        lines.append(f"local data of shape {local} make a tensor of shape {global_shape_of(sharding, local)}")
    except LayoutError:
        pass
    return ["\n".join(lines)]


def _masks(sharding: Sharding, held: Sequence[Holding]) -> list[str]:
    """Per process the blocks that it holds, as x; blocks of others are dots."""
    grid = grid_of(held)
    if not grid or len(grid[0]) * sharding.mesh.processes > 150:
        return []
    owners = [{holding.device for holding in mine} for mine in _by_process(sharding, held)]
    width = max(len(grid[0]), len(f"process {len(owners) - 1}"))
    lines = ["  ".join(f"process {i}".ljust(width) for i in range(len(owners))).rstrip()]
    for row in grid:
        masks = ("".join("x" if mine.intersection(cell) else "." for cell in row) for mine in owners)
        lines.append("  ".join(mask.ljust(width) for mask in masks).rstrip())
    return ["\n".join(lines)]
