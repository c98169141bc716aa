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

_IMPORT = re.compile(r"^[\ufeff\s]*(?:import|from)\b", re.MULTILINE)
_PYTHON_FILE = re.compile(r'"([^"\n]+\.py)"')


def key(text: str, options: Options, *more: str) -> tuple[str, ...] | None:
    """The key; None if the outcome depends on files that it does not know, or nothing is kept.

    more: what else is asked of the compilation.
    """
    if cache.folder() is None or _IMPORT.search(text):
        return None
    mentioned = sorted({*_PYTHON_FILE.findall(text)})
    if any("\\" in file for file in mentioned):
        return None
    return ("compiled", *more, text, *stated(options), *(f"{file} {_digest(file)}" for file in mentioned))


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
