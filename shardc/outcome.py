"""What the outcome of a compilation depends on: the key under which the user's cache folder keeps it.

That is the text and what errors call it, the options, a machine's file, and the Python files that locations
name, from which variables have their names. A program that imports others is compiled anew.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from msgspec.structs import asdict

from shardc import cache
from shardc.options import Options

_IMPORTS = (re.compile(r"import\b"), re.compile(r"from\b"))
"""What an import begins with; a word alone is found five times as quickly as one of two."""
_PYTHON_FILE = re.compile(r'"([^"\n]+\.py)"')


def key(text: str, options: Options, *more: str) -> tuple[str, ...] | None:
    """The key; None if the outcome depends on files that it does not know, or nothing is kept.

    more: what else is asked of the compilation.
    """
    words = (found for word in _IMPORTS for found in word.finditer(text))
    if cache.folder() is None or any(_begins_line(text, found.start()) for found in words):
        return None
    mentioned = sorted({*_PYTHON_FILE.findall(text)})
    if any("\\" in file for file in mentioned):
        return None
    return ("compiled", *more, text, *stated(options), *(f"{file} {_digest(file)}" for file in mentioned))


def _begins_line(text: str, place: int) -> bool:
    """Whether nothing but white space is before this place of a line."""
    return not text[text.rfind("\n", 0, place) + 1 : place].replace("\ufeff", "").strip()


def stated(options: Options) -> list[str]:
    """The options, with what is in a machine's file."""
    tables = {
        "defines": sorted((options.defines or {}).items()),
        "links": options.links if isinstance(options.links, str) else sorted((options.links or {}).items()),
    }
    said = [f"{name}={tables.get(name, value)!r}" for name, value in asdict(options).items()]
    return [*said, *([f"{options.machine} {_digest(options.machine)}"] if options.machine else [])]


def _digest(file: str) -> str:
    """Of a file's content; empty if it cannot be read."""
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except (OSError, ValueError):
        return ""
