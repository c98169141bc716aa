"""The programs of the repository: its files, and the examples of its pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from shardc.diagnostics import ShardcError
from shardc.frontend.text import parse

ROOT = Path(__file__).parents[3]
PAGES = (
    ROOT / "README.md",
    ROOT / "grammar/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
)
_BLOCK = re.compile(r"^```shard(?: error)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHOWS_THE_FORMATTER = "$ shardc fmt"


@cache
def programs() -> Mapping[str, str]:
    """Every text that parses, by its name."""
    found = {
        str(path.relative_to(ROOT)): _text(path)
        for folder in ("examples", "tests")
        for path in _files(folder)
    }
    for page in PAGES:
        for number, (block, _) in enumerate(_blocks(page)):
            found[f"{page.relative_to(ROOT)}-{number}"] = block
    return {name: text for name, text in found.items() if _parses(text)}


def examples(page: Path) -> list[str]:
    """The programs of a page that parse, but for those that the page formats."""
    return [text for text, below in _blocks(page) if _SHOWS_THE_FORMATTER not in below and _parses(text)]


def _blocks(page: Path) -> list[tuple[str, str]]:
    """The programs of a page, each with what stands between it and the next one."""
    _, *parts = _BLOCK.split(_text(page))
    return [*zip(parts[::2], parts[1::2], strict=True)]


def _files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.shard"))


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def _parses(text: str) -> bool:
    try:
        parse(text, "prog.shard")
    except ShardcError:
        return False
    return True
