"""What callers see of a function of the program."""

from __future__ import annotations

from dataclasses import dataclass

from shardc.frontend.text.scope import DeviceScope
from shardc.graph.types import TensorType


@dataclass(frozen=True, slots=True)
class Signature:
    """`annotated`: it has shardings, or is a @shard_map function; `manual` is
    set for a @per_device function. `axes` are those that shardings in it and in what it calls name, and those
    that it is manual over if it is a @shard_map function (`mapped`).
    """

    names: tuple[str, ...]
    parameters: list[TensorType]
    results: list[TensorType]
    annotated: bool
    manual: DeviceScope | None = None
    axes: frozenset[str] = frozenset()
    mapped: bool = False
