"""A page of figures: what was measured, as the script's docstring says it, and tables."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def publish(title: str, about: str | None, lines: Iterable[str], file: Path | None) -> None:
    """Write a page to a file of bench/results, or print it where there is none. about: a docstring."""
    text = "\n".join([f"# {title}", "", *(about or "").splitlines(), "", *lines]) + "\n"
    if file is None:
        print(text, end="")
    else:
        file.write_text(text, encoding="utf-8")
