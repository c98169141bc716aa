"""JAX for strict type checkers, to whom most of its functions are partly unknown."""

from __future__ import annotations

from importlib import import_module
from typing import Any

jax: Any = import_module("jax")
jax_core: Any = import_module("jax.extend.core")
