"""MindSpore's derivation by hand of who holds which slice: of a layout in three steps, of `.shard` in two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from shardc.cli.layout_inputs import Given
from shardc.cli.layout_text import Table, more
from shardc.layout.notations.mindspore_layout import Layout
from shardc.layout.notations.mindspore_shard import REPEATED, strategy_layout
from shardc.layout.notations.mindspore_steps import Steps, steps

NUMBER = "1. Number: count the ranks, every axis of the device matrix in its own base, the last one fastest"
ADD = "Add up: every column times its stride, which is the product of the sizes after it"


def as_text(given: Given, rows: int) -> list[str | Table]:
    """The steps as tables of at most `rows` ranks; nothing for a layout that is not MindSpore's."""
    layout = given.layout
    if layout is None:
        return []
    found = steps(layout)
    matrix = dict(zip(layout.alias_name, layout.device_matrix, strict=True))
    numbering = Table(["rank", *found.aliases])
    numbering.add("device_matrix", *layout.device_matrix)
    reordered = Table(["rank", *found.used])
    reordered.add("device_matrix", *(matrix[alias] for alias in found.used))
    adding = Table(["rank", *found.used, "slice"])
    adding.add("stride", *found.strides, "")
    for row, rank in list(enumerate(found.ranks))[:rows]:
        numbering.add(rank, *found.numbering[row])
        reordered.add(rank, *found.reordered[row])
        number = int(found.slice_numbers[row])
        adding.add(rank, *found.reordered[row], number, block=number)
    tensor_map = layout.to_dict()["tensor_map"]
    last = more(len(found.ranks), rows)
    if given.strategy is not None:
        repeated = _repetition(layout, given.strategy)
        heading = f"dev_matrix = {layout.device_matrix}, tensor_map = {tensor_map}{repeated}"
        return [heading, NUMBER, numbering, f"2. {ADD}", adding, *last]
    reorder = f"2. Reorder: the columns of the tensor map, {tensor_map}{_dropped(found, matrix)}"
    return [NUMBER, numbering, reorder, reordered, f"3. {ADD}", adding, *last]


def as_json(layout: Layout) -> dict[str, object]:
    """The steps as a dictionary."""
    found = steps(layout)
    return {
        "ranks": found.ranks,
        "aliases": found.aliases,
        "device_matrix": layout.device_matrix,
        "tensor_map": layout.to_dict()["tensor_map"],
        "numbering": found.numbering.tolist(),
        "used": found.used,
        "reordered": found.reordered.tolist(),
        "strides": found.strides,
        "slice_numbers": found.slice_numbers.tolist(),
    }


def _repetition(layout: Layout, strategy: Sequence[int]) -> str:
    """Where the repeated devices stand, and what the derivation read to the letter has instead."""
    if REPEATED not in layout.alias_name:
        return ""
    used, count = prod(strategy), layout.devices
    if layout.alias_name[0] == REPEATED:
        return (
            f"\nThe strategy uses {used} of {count} devices. The count wraps around, as in the derivation by "
            f"hand, whose dev_matrix is the strategy itself, {tuple(strategy)}."
        )
    literal = steps(strategy_layout(strategy, count, "left")).by_rank().tolist()
    return (
        f"\nThe strategy uses {used} of {count} devices. MindSpore appends the repetition to dev_matrix, so "
        f"neighbours hold the same.\nThe derivation by hand has dev_matrix = {tuple(strategy)} and lets the "
        f"count wrap around: slices {literal}; --repeated left gives these."
    )


def _dropped(found: Steps, matrix: Mapping[str, int]) -> str:
    unused = [alias for alias in found.aliases if alias not in found.used]
    if not unused:
        return ""
    copies = any(matrix[alias] > 1 for alias in unused)
    return f", without {', '.join(unused)}" + (": ranks that differ only there hold copies" if copies else "")
