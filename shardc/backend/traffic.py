"""Sizes as people read them, for the comment beside a collective."""

from __future__ import annotations


def readable(count: int) -> str:
    """6 KiB, 1.5 MiB, 40 B."""
    size, unit = float(count), "B"
    for bigger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, bigger
    return f"{size:.1f}".removesuffix(".0") + f" {unit}"
