"""The emitted program in the user's process: it computes there with 64-bit values where it must, alone.

A file that takes or returns 64-bit arrays turns them on for the process that runs it. Here they are on while
its `main` runs, as they were when JAX traced the function, and off while that of a file without them does:
there `jnp.argmax(x)` is an i32.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from shardc.api import Program
from shardc.jaxside.untyped import jax


def own_main(program: Program) -> Callable[..., Any]:
    """The program's `main`. JAX's setting of 64-bit values stays as it was before the text was executed."""
    setting: Any = import_module("jax._src.config").enable_x64
    before = setting.get_global()
    setting.set_global(False)
    try:
        main = program.main
        is_wide = setting.get_global()
    finally:
        setting.set_global(before)
    if not is_wide and not setting.value:
        return main

    def set_main(*arrays: Any) -> Any:
        with jax.enable_x64(is_wide):
            return main(*arrays)

    return set_main
