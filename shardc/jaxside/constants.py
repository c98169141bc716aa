"""Large arrays that a function captures and that lie on one device: constants of the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shardc.diagnostics import Diagnostic
from shardc.jaxside.placement import placed
from shardc.jaxside.untyped import jax

MOST_BYTES = 2**20
"""Of captured arrays together, of which nothing is said."""

_HINT = "give such arrays to the function as arguments, or put them on the mesh with jax.device_put first"


def large_constants(closed: Any) -> tuple[Diagnostic, ...]:
    """A warning if a traced function and those in it capture more than MOST_BYTES; not split ones."""
    every = {id(const): const for const in _constants(closed) if placed(const) is None}
    sizes = {key: int(getattr(const, "nbytes", 0)) for key, const in every.items()}
    if sum(sizes.values()) <= MOST_BYTES:
        return ()
    from shardc.analysis.text import readable  # not at the top: kept programs need no compiler

    largest = every[max(sizes, key=lambda key: sizes[key])]
    type, bytes_ = f"{largest.dtype}{list(largest.shape)}", readable(sum(sizes.values()))
    what = (
        f"an array {type} of {bytes_}" if len(every) == 1 else f"{len(every)} arrays of {bytes_}, one {type}"
    )
    said = f"the function captures {what}: constants in the program's text, whole on each device"
    return (Diagnostic("warning", said, hint=_HINT),)


def _constants(closed: Any) -> Iterator[Any]:
    """The arrays that a closed jaxpr holds, and those in its operations."""
    yield from getattr(closed, "consts", ())
    for equation in getattr(closed, "jaxpr", closed).eqns:
        for value in jax.tree.leaves(list(equation.params.values())):
            if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
                yield from _constants(value)
