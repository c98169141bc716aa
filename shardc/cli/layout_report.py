"""What `shardc-layout` says about a layout: the derivation, who holds what, processes, other notations."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from shardc.cli import layout_derivation, layout_processes, layout_translation
from shardc.cli.layout_holdings import Holding, Part, grid_of, holdings
from shardc.cli.layout_inputs import INPUTS, Given
from shardc.cli.layout_text import Table, more, show
from shardc.explain.picture import draw
from shardc.layout import LayoutError, Sharding
from shardc.layout.notations import NOTATIONS
from shardc.layout.notations.mindspore_steps import steps
from shardc.layout.slices import positions
from shardc.layout.uneven import Policy
from shardc.runtime.process_shapes import global_shapes_of

MOST_CELLS = 1024
"""Of finer grids no figure is printed."""


class Report(Struct, frozen=True, dict=True):
    """A layout, the shape it is for, and what follows."""

    notation: str
    given: Given
    shape: tuple[int, ...]
    policy: Policy
    processes: int | None = None
    target: str | None = None
    local_shape: tuple[int, ...] | None = None

    @cached_property
    def held(self) -> list[Holding]:
        """What every device holds."""
        return holdings(self.given, self.shape, self.policy)

    @property
    def sharding(self) -> Sharding:
        """LayoutError if the layout is none."""
        if isinstance(self.given.sharding, LayoutError):
            raise self.given.sharding
        return self.given.sharding


def run(options: argparse.Namespace) -> None:
    """Read the layout, print it in the form wanted, draw the picture."""
    given = INPUTS[options.notation].read(options, len(options.shape))
    policy: Policy = options.uneven or NOTATIONS[options.notation].policy
    if options.local_shape is not None and not options.processes:
        options.misused("--local-shape is of the data of a process: say how many there are with --processes")
    if options.processes and isinstance(given.sharding, Sharding):
        mesh = replace(given.sharding.mesh, processes=options.processes)
        given = replace(given, sharding=replace(given.sharding, mesh=mesh))
    report = Report(options.notation, given, options.shape, policy, options.processes, options.to)
    report = replace(report, local_shape=options.local_shape)
    if options.format == "json":
        print(json.dumps(as_json(report), indent=1))
    else:
        show(*as_text(report, options.rows))
    if options.picture:
        from shardc.cli.driver import write_text

        write_text(options.picture, draw(report.sharding, report.shape, report.policy, title=given.text))


def as_text(report: Report, rows: int) -> list[str | Table]:
    """The paragraphs and tables of a report, with at most `rows` devices each."""
    items: list[str | Table] = [_heading(report)]
    if report.given.layout is not None:
        items += layout_derivation.as_text(report.given, rows)
    items += _holders(report, rows)
    if report.processes:
        items += layout_processes.as_text(report.sharding, report.shape, report.held)
        items += layout_processes.fitting_text(report.sharding, report.local_shape)
    if report.target:
        items += layout_translation.as_text(report.sharding, report.shape, report.policy, report.target)
    return items


def as_json(report: Report) -> dict[str, object]:
    """A report as a dictionary."""
    found: dict[str, object] = {
        "notation": report.notation,
        "text": report.given.text,
        "shape": report.shape,
        "uneven": report.policy,
    }
    if isinstance(report.given.sharding, Sharding):
        mesh = report.given.sharding.mesh
        found["sharding"] = str(report.given.sharding)
        found["mesh"] = {
            "axes": dict(mesh.axes),
            "devices": [mesh.rank_of(int(d)) for d in np.ravel(mesh.devices)],
        }
    if report.given.layout is not None:
        found["steps"] = layout_derivation.as_json(report.given.layout)
    groups = {holding.group[0]: list(holding.group) for holding in report.held}
    found["replica_groups"] = list(groups.values())
    found["devices"] = [_holding_json(holding, report.shape) for holding in report.held]
    if report.processes:
        found["processes"] = layout_processes.as_json(report.sharding, report.shape, report.held)
        if report.local_shape is not None:
            found["global_shapes"] = global_shapes_of(report.sharding, report.local_shape)
    if report.target:
        found["to"] = layout_translation.as_json(report.sharding, report.shape, report.policy, report.target)
    return found


def _heading(report: Report) -> str:
    lines = [report.given.text]
    if isinstance(report.given.sharding, Sharding):
        sharding = report.given.sharding
        lines.append(f"{sharding} on {sharding.mesh}, of a tensor of shape {report.shape}")
    else:
        lines.append(f"{report.given.sharding}; here of a tensor of shape {report.shape}")
    return "\n".join(lines)


def _holders(report: Report, rows: int) -> list[str | Table]:
    numbers = _slice_numbers(report)
    axes: dict[str, list[int]] = {}
    if numbers is None and isinstance(report.given.sharding, Sharding):
        mesh = report.given.sharding.mesh
        axes = {name: positions(mesh, mesh.axis(name)).tolist() for name, _ in mesh.axes}
    columns: list[tuple[str, Callable[[int, Holding], object]]] = [
        ("device" if numbers is None else "rank", lambda row, holding: holding.device)
    ]
    columns += [(name, _at(numbers_along)) for name, numbers_along in axes.items()]
    if numbers is not None:
        columns.append(("slice", _at(numbers)))
    columns.append(("holds", lambda row, holding: " and ".join(map(part_text, holding.parts))))
    if any(holding.partials > 1 for holding in report.held):
        columns.append(("partial", lambda row, holding: f"{holding.partial} of {holding.partials}"))
    if any(len(holding.group) > 1 for holding in report.held):
        columns.append(("copies on", lambda row, holding: _others(holding)))
    if report.held[0].values(report.shape) is not None:
        columns.append(("values", lambda row, holding: _values(holding, report.shape)))
    table = Table([name for name, _ in columns])
    for row, holding in list(enumerate(report.held))[:rows]:
        table.add(*(cell(row, holding) for _, cell in columns), block=holding.block)
    text = "Who holds what"
    if prod(report.shape) and report.held[0].values(report.shape) is not None:
        text += f", of numpy.arange({prod(report.shape)}).reshape({report.shape})"
    return [text, table, *more(len(report.held), rows), *_figure(report)]


def _at(numbers: Sequence[int]) -> Callable[[int, Holding], object]:
    return lambda row, holding: numbers[row]


def _slice_numbers(report: Report) -> list[int] | None:
    """MindSpore's slice number of every device."""
    layout = report.given.layout
    return None if layout is None or layout.interleaved > 1 else steps(layout).by_rank().tolist()


def _figure(report: Report) -> list[str | Table]:
    """The devices at their blocks, for one and two dimensions."""
    grid = grid_of(report.held)
    if grid is None or not 1 < sum(map(len, grid)) <= MOST_CELLS:
        return []
    cells = [[",".join(map(str, cell)) for cell in row] for row in grid]
    width = max(len(cell) for row in cells for cell in row)
    lines = "\n".join(" ".join(cell.rjust(width) for cell in row).rstrip() for row in cells)
    return ["The tensor's blocks, and the devices that hold them", lines]


def part_text(part: Part) -> str:
    """`[0:2, 4:8]`; separate stretches are joined by +."""
    return f"[{', '.join('+'.join(f'{a}:{b}' for a, b in ranges) for ranges in part)}]"


def _values(holding: Holding, shape: Sequence[int]) -> str:
    texts: list[str] = []
    for values in holding.values(shape) or ():
        text = json.dumps(values.tolist())
        flat = values.ravel()
        long = f"{flat[0]}, {flat[1]}, … {flat[-1]}: {values.size} values" if values.size > 1 else "no values"
        texts.append(text if len(text) <= 48 else long)
    return " and ".join(texts)


def _others(holding: Holding) -> str:
    others = [str(device) for device in holding.group[:9] if device != holding.device][:8]
    count = len(holding.group) - 1
    return ", ".join(others) + (f", … {count} in all" if count > 8 else "")


def _holding_json(holding: Holding, shape: Sequence[int]) -> dict[str, object]:
    values = holding.values(shape)
    found: dict[str, object] = {
        "device": holding.device,
        "holds": [[list(ranges) for ranges in part] for part in holding.parts],
        "block": holding.block,
    }
    if holding.partials > 1:
        found["partial"] = [holding.partial, holding.partials]
    if values is not None:
        found["values"] = [block.tolist() for block in values]
    return found
