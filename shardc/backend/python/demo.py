"""The last part of an emitted file: what `python out.py` does."""

from __future__ import annotations

from shardc.analysis.per_device import Array
from shardc.backend.python.names import printable
from shardc.backend.python.writer import Writer
from shardc.graph import is_complex, is_float


def random_input(array: Array, dtype: str) -> str:
    """An expression for a random array: normal floats, small integers."""
    shape = array.type.shape
    if array.type.dtype == "bool":
        return f"rng.integers(2, size={shape}).astype(bool)"
    if is_float(array.type.dtype):
        return f"rng.standard_normal({shape}).astype({dtype})"
    if is_complex(array.type.dtype):
        return f"(rng.standard_normal({shape}) + 1j * rng.standard_normal({shape})).astype({dtype})"
    return f"rng.integers(4, size={shape}, dtype={dtype})"


def inputs(writer: Writer, params: tuple[Array, ...], dtypes: list[str]) -> None:
    """inputs = [ … ], one a line."""
    writer.line("rng = np.random.default_rng(0)")
    with writer.indented("inputs = ["):
        for array, dtype in zip(params, dtypes, strict=True):
            writer.line(f"{random_input(array, dtype)},  # {printable(array.name)}")
    writer.line("]")
