"""One collective of a reshard, with the attributes that the sdy operation of that name has."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from shardc.layout import Sharding
from shardc.layout.difference import exchanged, gained, lost, subtract

FREE = ("all_slice", "replicated_to_unreduced", "sharded_to_unreduced")  # no communication


class ReshardStep(Struct, frozen=True):
    """`kind` names an sdy collective ("all_gather"); `result` is the global sharding after it.

    `bytes` is what a device moves. An all_gather or reduce_scatter over several dimensions is one collective
    for each; an all_to_all or all_reduce is always a single one.
    """

    kind: str
    result: Sharding
    bytes: int

    def attributes(self, source: Sharding) -> Mapping[str, object]:
        """The sdy operation's attributes besides out_sharding, on a value with sharding `source`."""
        return ATTRIBUTES[self.kind](source, self.result)


ATTRIBUTES: dict[str, Callable[[Sharding, Sharding], Mapping[str, object]]] = {
    "all_gather": lambda before, after: {"gathering_axes": lost(before, after)},
    "all_slice": lambda before, after: {"slicing_axes": gained(before, after)},
    "all_to_all": lambda before, after: {"params": exchanged(before, after)},
    "collective_permute": lambda before, after: {},
    "all_reduce": lambda before, after: {"reduction_axes": subtract(before.unreduced, after.unreduced)},
    "reduce_scatter": lambda before, after: {"reduce_scatter_axes": gained(before, after)},
    "replicated_to_unreduced": lambda before, after: {"axes": subtract(after.unreduced, before.unreduced)},
    "sharded_to_unreduced": lambda before, after: {"axes": lost(before, after)},
}
