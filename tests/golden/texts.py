"""What is emitted for a program now, and where the text that was last reviewed is kept."""

from __future__ import annotations

from pathlib import Path

import shardc
from shardc.diagnostics import ShardcError
from tests.golden.programs import every, written

TARGETS = ("jax", "numpy")
KEPT = Path(__file__).parent / "kept"


def emitted(name: str) -> dict[str, str]:
    """Target -> what is written for a program; the message where it cannot be compiled."""
    text, file = (written().get(name) or every()[name])()
    return {target: _compiled(text, file, target) for target in TARGETS}


def _compiled(text: str, file: str, target: str) -> str:
    try:
        return shardc.compile(text, file=file, target=target).source
    except ShardcError as error:
        return f"{error.diagnostic}\n"


def path(name: str, target: str) -> Path:
    return KEPT / f"{name}.{target}.txt"


def kept() -> list[str]:
    """The programs that have kept texts, by name."""
    found = (path.relative_to(KEPT).as_posix() for path in KEPT.rglob(f"*.{TARGETS[0]}.txt"))
    return sorted(name.removesuffix(f".{TARGETS[0]}.txt") for name in found)
