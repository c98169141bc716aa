"""One program of the corpus: a JAX function, and its arguments' types with the shardings asked for.

An argument is written as in shardc's language: "f32[8@x, 16@y]", "i32<10[8]" (values below 10), "f32[8, 4]?"
(no sharding asked for: the compiler chooses). Axes of one dimension are joined by +.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

DTYPES = {
    "f32": "float32",
    "bf16": "bfloat16",
    "f16": "float16",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "i32": "int32",
    "i8": "int8",
    "u8": "uint8",
    "u32": "uint32",
    "bool": "bool",
    "c64": "complex64",
}
MESH = {"x": 2, "y": 4}
_ARGUMENT = re.compile(r"(\w+?)(?:<(\d+))?\[(.*)\](\??)")


@dataclass(frozen=True)
class Argument:
    """One argument: its type, where its dimensions are split, the bound of random integers."""

    dtype: str
    shape: tuple[int, ...]
    axes: tuple[tuple[str, ...] | None, ...] | None
    below: int

    def sharding(self, mesh: Mesh) -> NamedSharding | None:
        """What jax.jit is told."""
        return None if self.axes is None else NamedSharding(mesh, PartitionSpec(*self.axes))

    @property
    def aval(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.shape, jnp.dtype(DTYPES[self.dtype]))

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """A value: normal floats, integers below the bound."""
        dtype = self.aval.dtype
        if self.dtype == "c64":
            parts = rng.standard_normal((2, *self.shape))
            return (parts[0] + 1j * parts[1]).astype(dtype)
        if jnp.issubdtype(dtype, jnp.floating):
            return rng.standard_normal(self.shape).astype(dtype)
        return rng.integers(0, 2 if self.dtype == "bool" else self.below, self.shape).astype(dtype)


def argument(text: str) -> Argument:
    """Read the notation of the module's docstring."""
    match = _ARGUMENT.fullmatch(text)
    assert match, text
    dims = [dim.strip().partition("@") for dim in match[3].split(",")] if match[3] else []
    axes = tuple(tuple(names.split("+")) if names else None for _, _, names in dims)
    shape = tuple(int(size) for size, _, _ in dims)
    return Argument(match[1], shape, None if match[4] else axes, int(match[2] or 8))


@dataclass(frozen=True)
class Case:
    """A function of arrays, with one text per argument."""

    f: Callable[..., Any]
    texts: tuple[str, ...]
    mesh: dict[str, int] = field(default_factory=lambda: dict(MESH))

    @property
    def arguments(self) -> list[Argument]:
        return [argument(text) for text in self.texts]

    def lowered(self) -> Any:
        """The program as JAX lowers it, with the shardings asked for."""
        size = int(np.prod(list(self.mesh.values())))
        devices = np.array(jax.devices()[:size]).reshape(tuple(self.mesh.values()))
        mesh = Mesh(devices, tuple(self.mesh), axis_types=(AxisType.Auto,) * len(self.mesh))
        shardings = tuple(arg.sharding(mesh) for arg in self.arguments)
        function = jax.jit(self.f, in_shardings=shardings, keep_unused=True)
        return function.lower(*(arg.aval for arg in self.arguments))

    def inputs(self) -> list[np.ndarray]:
        """The same random arguments every time."""
        rng = np.random.default_rng(0)
        return [arg.random(rng) for arg in self.arguments]


def case(f: Callable[..., Any], *texts: str, mesh: dict[str, int] | None = None) -> Case:
    """A case on the usual mesh, x=2 and y=4, if no other is given."""
    return Case(f, texts, dict(mesh or MESH))
