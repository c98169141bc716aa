"""The memory of one device: its arguments, its results, and the most it holds at any moment.

Arguments and results are XLA's: what jax.jit's compiled.memory_analysis() says of the written JAX program. Of
a dimension that its axes don't divide the JAX program takes and gives all; arguments that nothing reads are
not passed; several results are a tuple, which has a pointer for each.

The peak is that of the written NumPy program, which the backend that wrote it gives (backend.numpy.peak).
"""

from __future__ import annotations

from math import prod

from msgspec import Struct

from shardc.analysis.per_device import Array, Peak, PerDeviceProgram
from shardc.analysis.usage import usage
from shardc.report.traffic import place

POINTER = 8


class Memory(Struct, frozen=True):
    """Bytes per device. `peak` includes the arguments; it is reached in `peak_where` (file:line)."""

    arguments: int
    outputs: int
    peak: int
    peak_where: str


def memory(program: PerDeviceProgram, peak: Peak) -> Memory:
    """What a device holds. `peak` is of the NumPy program."""
    used = usage(program.body).count
    taken = [p for p, value in zip(program.params, program.body.args, strict=True) if used.get(value)]
    table = POINTER * len(program.results) if len(program.results) > 1 else 0
    return Memory(
        arguments=sum(map(_xla_bytes, taken)),
        outputs=sum(map(_xla_bytes, program.results)) + table,
        peak=peak.nbytes,
        peak_where=place(peak.where),
    )


def _xla_bytes(array: Array) -> int:
    """A device's part of an argument or result of the JAX program."""
    dims = array.sharding.dims if array.sharding else ()
    parts = [dim.parts for dim in dims] or [1] * array.type.rank
    sizes = [n if n % p else n // p for n, p in zip(array.type.shape, parts, strict=True)]
    return prod(sizes) * array.type.numpy.itemsize
