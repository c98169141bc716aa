"""What custom calls say beside their operands."""

from __future__ import annotations


def is_letter(name: str, value: int) -> bool:
    """Whether an option is a letter, and not the number of a row or a truth value."""
    return not isinstance(value, bool) and name not in ("low", "high")
