"""How `shardc PROG --explain [NAME]` is printed."""

from __future__ import annotations

import json
import sys

from msgspec import to_builtins

from shardc.explain.records import Explanation
from shardc.explain.show import head_lines, overview_text, tables, value_text


def text(explanation: Explanation, format: str) -> str:
    """What the command prints."""
    if format == "json":
        return json.dumps(to_builtins(explanation), indent=2) + "\n"
    if explanation.values:
        return "\n".join(map(value_text, explanation.values)) + "\n"
    return overview_text(explanation)


def print_explanation(explanation: Explanation, format: str) -> None:
    """Print; on a terminal, tables are drawn."""
    if format == "json" or explanation.values or not sys.stdout.isatty():
        sys.stdout.write(text(explanation, format))
        return
    from rich.console import Console
    from rich.table import Table

    for line in head_lines(explanation):
        Console().print(line, markup=False)
    for title, header, rows in tables(explanation):
        table = Table(*header, title=title, title_justify="left")
        for row in rows:
            table.add_row(*row)
        Console().print(table if rows else title)
