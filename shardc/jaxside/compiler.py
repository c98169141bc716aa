"""What compiles a function for `shardc.jit`: its name, and the options that are shardc's.

It does not know the function. JAX keeps what it traced for as long as the function lives, and with it the
rules of derivatives, which compile too: if they knew the function, it would live as long as the process.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from msgspec import Struct

from shardc.diagnostics import ShardcError
from shardc.frontend.jax import staged
from shardc.jaxside.captured import Captured, with_captured
from shardc.jaxside.lowered import Lowered, lowered
from shardc.jaxside.placement import AnyMesh
from shardc.jaxside.warned import warn
from shardc.options import Options

NO_SHARDINGS = "nothing says how {name} is split over devices: no sharding, and no mesh"
HINT = (
    "state in_shardings=…, or call it with arrays that jax.device_put split (inside jax.jit and "
    "jax.checkpoint nothing tells where they lie), or constrain values inside it with "
    "jax.lax.with_sharding_constraint on a mesh"
)

_INSIDE: ContextVar[bool] = ContextVar("inside", default=False)


def is_inside() -> bool:
    """Whether JAX traces a function that shardc is to compile."""
    return _INSIDE.get()


@contextmanager
def inside() -> Generator[None]:
    """While JAX traces a function that shardc is to compile."""
    token = _INSIDE.set(True)
    try:
        yield
    finally:
        _INSIDE.reset(token)


class Compiler(Struct, frozen=True):
    """Options of compilations, and what errors call the function. prove: as in shardc.compile."""

    name: str
    options: Options
    prove: bool | None

    def compile(self, traced: Any, known: tuple[AnyMesh, ...], captured: Captured) -> Lowered:
        """What JAX traced, compiled; warnings are Python's. ShardcError if nothing has a sharding."""
        found = lowered(traced, self.options, f"<{self.name}>", known, self.prove, captured)
        if found.mesh is None:
            raise ShardcError(NO_SHARDINGS.format(name=self.name), hint=HINT)
        for warning in found.warnings:
            warn(str(warning))
        return found

    def derived(self, known: tuple[AnyMesh, ...], function: Callable[..., Any], types: Any) -> Lowered:
        """A derivative of the function, compiled for arguments of these types."""
        with inside():
            traced, captured = with_captured(function, {}, staged(function).trace(*types), types, {})
        return self.compile(traced, known, captured)
