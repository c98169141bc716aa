"""Tables and paragraphs of `shardc-layout`: coloured in a terminal, plain when piped."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from msgspec import Struct
from rich.console import Console
from rich.text import Text

PALETTE = (39, 208, 70, 199, 220, 51, 129, 202, 118, 33, 213, 142)
"""Terminal colours; block number n has the n-th, round and round."""


class Table(Struct):
    """Rows of cells in aligned columns under a heading; a row has the colour of its block, if any."""

    header: Sequence[str]
    rows: list[tuple[Sequence[str], int | None]] = []

    def add(self, *cells: object, block: int | None = None) -> None:
        """Add a row."""
        self.rows.append((list(map(str, cells)), block))

    def lines(self) -> list[Text]:
        """The table as lines; columns of numbers are aligned at the right."""
        columns = list(zip(self.header, *(cells for cells, _ in self.rows), strict=True))
        widths = [max(map(len, column)) for column in columns]
        right = [all(_is_number(cell) for cell in column[1:]) for column in columns]

        def line(cells: Sequence[str], style: str) -> Text:
            padded = [
                cell.rjust(width) if at_right else cell.ljust(width)
                for cell, width, at_right in zip(cells, widths, right, strict=True)
            ]
            return Text("  ".join(padded).rstrip(), style)

        return [line(self.header, "bold"), *(line(cells, colour(block)) for cells, block in self.rows)]


def colour(block: int | None) -> str:
    """The style of a block in a terminal."""
    return "" if block is None else f"color({PALETTE[block % len(PALETTE)]})"


def show(*items: str | Table) -> None:
    """Print paragraphs and tables, an empty line between them."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True, markup=False, emoji=False)
    for number, item in enumerate(items):
        if number:
            console.print()
        for line in item.lines() if isinstance(item, Table) else [Text(item)]:
            console.print(line)


def more(count: int, rows: int) -> list[str | Table]:
    """What is said of rows that are not shown."""
    return [f"… and {count - rows} more; --rows {count} lists all"] if count > rows else []


def _is_number(cell: str) -> bool:
    return not cell or cell.lstrip("-").isdigit()
