"""Which way shardings may flow through an operation along a factor."""

from __future__ import annotations

from enum import IntFlag


class Direction(IntFlag):
    """From operands to results, from results to operands, both, or not at all."""

    NONE = 0
    FORWARD = 1
    BACKWARD = 2
    BOTH = 3


Directions = tuple[Direction, ...]
"""One per factor of a rule."""
