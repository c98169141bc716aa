"""What copies of a layer call what they make: as their own layer does, not as the one that is copied.

    d_layer28_w1, which is d_layer03_w1 after the cut    ->  d_layer17_w1 in the copy for layer 17

Names have the numbers that the names of a layer's arguments differ in: more than one where a layer begins
with the last operations of the model's layer before it. A name is changed where these are all that it differs
in before and after the cut; a number that is the same there, of a line, say, stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import BlockArgument, Operation

from shardc.dialects.locations import locate, location_of
from shardc.graph.marks import REASON
from shardc.rewrite.folding.places import Slot

_NUMBER = re.compile(r"(\d+)")


class OwnNames(Struct, frozen=True, dict=True):
    """The names in layers `cut` - 1, `after` and those between, by the arguments of each slot and layer."""

    given: Mapping[tuple[Slot, int], BlockArgument]
    cut: int
    after: int

    def name(self, copy: Operation, like: Operation, layer: int) -> None:
        """Name a copy of an operation of layer `cut` - 1, which is `like` that of layer `after`."""
        for result, other in zip(copy.results, like.results, strict=True):
            hint = self._renamed(result.name_hint, other.name_hint, layer)
            if hint != result.name_hint:
                result.name_hint = hint
        loc, reason, why = (
            location_of(copy.location),
            copy.attributes.get(REASON),
            like.attributes.get(REASON),
        )
        named = self._renamed(loc.name, location_of(like.location).name, layer)
        if named != loc.name:
            locate(copy, loc.named(named))
        if isinstance(reason, StringAttr) and isinstance(why, StringAttr):
            copy.attributes[REASON] = StringAttr(self._renamed(reason.data, why.data, layer) or "")

    def _renamed(self, name: str | None, after: str | None, layer: int) -> str | None:
        new, other = self._numbers.get(layer), self._numbers.get(self.after)
        if not name or name == after or new is None or other is None:
            return name
        parts, others = _NUMBER.split(name), _NUMBER.split(after or "")
        pairs = [*zip(parts, others, strict=False)]
        alike = len(parts) == len(others) and all(
            other.get(one, one) == two or one == two for one, two in pairs
        )
        if not alike or not new.keys() >= other.keys():
            return name
        return "".join(one if one == two else new.get(one, one) for one, two in pairs)

    @cached_property
    def _numbers(self) -> dict[int, dict[str, str]]:
        """By layer what the numbers are there in which the names of its arguments differ from those of the
        layer before the cut; none of layers where one is several, or names differ otherwise."""
        found: dict[int, set[tuple[str, str] | None]] = {}
        for (slot, layer), argument in self.given.items():
            before = self.given.get((slot, self.cut - 1))
            if before is not None and layer >= self.cut:
                found.setdefault(layer, set()).update(_differing(_name(before), _name(argument)))
        pairs = {layer: [pair for pair in each if pair is not None] for layer, each in found.items()}
        numbers = {layer: dict(each) for layer, each in pairs.items()}
        return {layer: each for layer, each in numbers.items() if len(each) == len(found[layer])}


def _name(argument: BlockArgument) -> str:
    return location_of(argument.location).name or argument.name_hint or ""


def _differing(one: str, other: str) -> Sequence[tuple[str, str] | None]:
    """The numbers in which two names differ; None where that is not all."""
    parts, others = _NUMBER.split(one), _NUMBER.split(other)
    if len(parts) != len(others) or parts[::2] != others[::2]:
        return [None]
    return [pair for pair in zip(parts[1::2], others[1::2], strict=True) if pair[0] != pair[1]]
