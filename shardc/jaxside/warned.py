"""Python warnings of the compiler, which name the line of the user's that they are about.

y = step(x)     # train.py:12
->  train.py:12: ShardcWarning: …
"""

from __future__ import annotations

import warnings

from shardc.jaxside.calling import user_frame


class ShardcWarning(UserWarning):
    """A warning of the compiler, in a compilation that `shardc.jit` began."""


def warn(message: str) -> None:
    """A ShardcWarning at the user's line: filters by module, and once for each line, work as for its own."""
    _, depth = user_frame()
    warnings.warn(message, ShardcWarning, stacklevel=depth)
