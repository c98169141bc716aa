"""The programs of the repository: its files, and the examples of its pages."""

from __future__ import annotations

import re
from pathlib import Path

from shardc.diagnostics import ShardcError
from shardc.frontend.text import parse

ROOT = Path(__file__).parents[3]
_BLOCK = re.compile(r"^```shard\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs() -> dict[str, str]:
    """Every text that parses, by its name."""
    found = {
        str(path.relative_to(ROOT)): _text(path)
        for folder in ("examples", "tests")
        for path in _files(folder)
    }
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "grammar/README.md"):
        for number, block in enumerate(_BLOCK.findall(_text(page))):
            found[f"{page.name}-{number}"] = block
    return {name: text for name, text in found.items() if _parses(text)}


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
