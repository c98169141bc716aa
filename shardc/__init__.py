"""shardc compiles a sharded tensor program into the program each device runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardc.compiler import Program, compile, cost, from_jax
    from shardc.explain import explain

__version__ = "0.1.0"
__all__ = ["Program", "compile", "cost", "explain", "from_jax"]


def __getattr__(name: str) -> object:
    """The compiler is imported when it is first asked for; `import shardc` alone imports nothing."""
    if name not in __all__:
        raise AttributeError(f"module shardc has no attribute {name}")
    if name == "explain":
        return import_module("shardc.explain")  # a room that can be called
    return getattr(import_module("shardc.compiler"), name)
