"""JAX for strict type checkers, to whom most of its functions are partly unknown."""

from __future__ import annotations

from importlib import import_module
from typing import Any

jax: Any = import_module("jax")


def jax_core() -> Any:
    """What JAX has for those who take functions apart; it takes a while to import."""
    return import_module("jax.extend.core")
