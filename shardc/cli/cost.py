"""How `shardc PROG --cost` is printed."""

from __future__ import annotations

import sys

from shardc.report import show
from shardc.report.cost import Cost


def text(cost: Cost, format: str) -> str:
    """What the command prints."""
    return show.json_text(cost) if format == "json" else show.text(cost)


def print_cost(cost: Cost, format: str) -> None:
    """Print; on a terminal, the collectives are a drawn table."""
    if format == "json" or not sys.stdout.isatty() or not cost.collectives:
        sys.stdout.write(text(cost, format))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print("\n".join(show.head(cost)), markup=False)
    table = Table(*show.columns(cost))
    for row in show.rows(cost):
        table.add_row(*row)
    console.print(table)
    for entry in cost.collectives:
        console.print(f"{show.title(entry)} in {entry.where}", markup=False)
        for note in show.notes(cost, entry):
            console.print(f"    {note}", markup=False)
    console.print("\n".join(show.tail(cost)), markup=False)
