"""Random numbers of JAX's, recognised by what they are computed with."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from shardc.analysis.per_device import PerDeviceProgram
from shardc.backend.python import idiom
from shardc.graph import Node, walk


def with_draws(program: PerDeviceProgram, is_own: Callable[[Node], bool]) -> PerDeviceProgram:
    """The program with what is recognised as one node each; the given one stays as it is.

    is_own: whether the target can draw a block that is not the whole array.
    """
    if len(program.graph.functions) == 1:
        return program  # the cipher behind all random numbers is a function
    from shardc.backend.python.draws.rewrite import rewritten

    return rewritten(program, is_own)


def draws_whole(program: PerDeviceProgram) -> bool:
    """Whether whole arrays are drawn, as jax.random does."""
    bodies = (program.body, *(function.body for function in program.graph.called(program.body)))
    nodes = (node for body in bodies for node in walk(body))
    return any(node.name == idiom.drawn.name and not is_split(node) for node in nodes)


def is_split(node: Node) -> bool:
    """Whether a device draws its own block."""
    return any(cast("tuple[tuple[str, ...], ...]", node.attrs.get("split", ())))
