"""What callers see of a function of the program."""

from __future__ import annotations

from msgspec import Struct

from shardc.frontend.text.scope import DeviceScope
from shardc.frontend.text.typed import Typed, annotated_leaves
from shardc.frontend.text.values import Value
from shardc.graph.types import TensorType


class Signature(Struct, frozen=True):
    """`symbol` is its name in the module, `returned` the values that its body returns, of which the types
    count. `annotated`: it has shardings, or is a @shard_map function; `manual` is set for a @per_device
    function. `axes` are those that shardings in it and in what it calls name, and those that it is manual
    over if it is a @shard_map function (`mapped`).
    """

    symbol: str
    parameters: tuple[Typed, ...]
    returned: tuple[Value, ...]
    annotated: bool
    manual: DeviceScope | None = None
    axes: frozenset[str] = frozenset()
    mapped: bool = False

    @property
    def types(self) -> tuple[TensorType, ...]:
        """The types of its tensors, in order."""
        return tuple(leaf.type for typed in self.parameters for leaf in annotated_leaves(typed))
