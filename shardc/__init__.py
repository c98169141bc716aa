"""shardc compiles a sharded tensor program into the program each device runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from shardc.collector import no_garbage_collection

if TYPE_CHECKING:
    from shardc.api import Program, Trace, compile, cost, explain, from_onnx, trace
    from shardc.jaxside.from_jax import from_jax
    from shardc.jaxside.jit import jit
    from shardc.options import Options

__version__ = "0.1.0"
__all__ = [
    "Options",
    "Program",
    "Trace",
    "compile",
    "cost",
    "explain",
    "from_jax",
    "from_onnx",
    "jit",
    "trace",
]
_ROOMS = {
    "Options": "shardc.options",
    "from_jax": "shardc.jaxside.from_jax",
    "jit": "shardc.jaxside.jit",
}


def load_ipython_extension(shell: object) -> None:
    """`%load_ext shardc` in IPython and Jupyter: cells that begin with `%%shard` are programs."""
    import_module("shardc.notebook").load(shell)


def __getattr__(name: str) -> object:
    """The compiler is imported when it is first asked for; `import shardc` alone imports nothing."""
    if name not in __all__:
        raise AttributeError(f"module shardc has no attribute {name}")
    with no_garbage_collection():
        if name == "explain":
            return import_module("shardc.explain")  # a room that can be called
        return getattr(import_module(_ROOMS.get(name, "shardc.api")), name)
