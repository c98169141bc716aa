"""What order the comparator of a sort stands for."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from shardc.backend.python.total_order import Canonical
from shardc.graph import Graph, Node, Region, is_float
from shardc.ops import hlo


class Order(Struct, frozen=True):
    """By the first `keys` operands, ascending or descending. `total`: the first is compared in the total
    order of floats, which tells -0 from 0 and puts NaNs with a sign first.
    """

    keys: int
    descending: bool
    total: bool


class _Key(Struct, frozen=True):
    """The comparison of one operand's elements: its number, LT or GT, in the total order or not; of complex
    ones which part, the real or the imaginary.
    """

    operand: int
    direction: str
    total: bool
    part: str = ""


def order_of(node: Node, graph: Graph, made: Mapping[int, Node]) -> Order | None:
    """The order of a sort; None if its comparator is no comparison of leading operands.

    `made` says what makes each value. A key is compared as it is, or after its zeros and NaNs are made equal,
    as JAX does; several keys are compared as long as the earlier ones are equal. A complex key is its real
    part, and where these are equal the imaginary one.
    """
    region = node.regions[0]
    comparator = _Comparator(graph, region, made)
    found = comparator.keys(region.results[0])
    keys = None if found is None else _of_whole_numbers(found)
    if keys is None or [key.operand for key in keys] != list(range(len(keys))):
        return None
    if len(keys) == 1:
        return Order(1, keys[0].direction == "GT", keys[0].total)
    plain = all(key.direction == "LT" and not key.total for key in keys)
    return Order(len(keys), False, False) if plain else None


def _of_whole_numbers(keys: list[_Key]) -> list[_Key] | None:
    """The keys with both parts of a complex number as one; None if one stands without the other."""
    whole = list[_Key]()
    rest = iter(keys)
    for key in rest:
        if key.part:
            other = next(rest, None)
            if key.part != hlo.real.name or other != replace(key, part=hlo.imag.name):
                return None
        whole.append(replace(key, part=""))
    return whole


_SWAPPED = {"LT": "GT", "GT": "LT", "EQ": "EQ"}


class _Comparator:
    """A body that compares elements, two of each operand."""

    def __init__(self, graph: Graph, region: Region, made: Mapping[int, Node]) -> None:
        self._graph = graph
        self._args = {value: at for at, value in enumerate(region.args)}
        self._made = made
        self._canonical = Canonical(made)

    def keys(self, value: int) -> list[_Key] | None:
        """What a value compares: a < b, or a < b or (a == b and the rest), major to minor."""
        node = self._made.get(value)
        if node is None:
            return None
        if node.name == hlo.compare.name:
            key = self._key(value)
            return None if key is None or key.direction == "EQ" else [key]
        if node.name == hlo.select.name:
            equal, rest, first = node.operands
            return self._first(first, equal, rest)
        if node.name != hlo.or_.name:
            return None
        for first, other in (node.operands, reversed(node.operands)):
            both = self._made.get(other)
            if both is not None and both.name == hlo.and_.name:
                for equal, rest in (both.operands, reversed(both.operands)):
                    found = self._first(first, equal, rest)
                    if found is not None:
                        return found
        return None

    def _first(self, first: int, equal: int, rest: int) -> list[_Key] | None:
        """The key that decides, and what decides where it is equal."""
        major, tie, minor = self._key(first), self._key(equal), self.keys(rest)
        if major is None or tie is None or minor is None or major.direction == "EQ":
            return None
        if tie != replace(major, direction="EQ"):
            return None
        return [major, *minor]

    def _key(self, value: int) -> _Key | None:
        """A comparison of the two elements of one operand."""
        node = self._made.get(value)
        if node is None or node.name != hlo.compare.name:
            return None
        left, right = (self._element(side) for side in node.operands)
        direction = str(node.attrs["comparison_direction"])
        if left is None or right is None or left[1:] != right[1:] or direction not in _SWAPPED:
            return None
        if left[0] // 2 != right[0] // 2 or left[0] == right[0]:
            return None
        float_ = is_float(self._graph.type(node.operands[0]).dtype)
        total = float_ and node.attrs.get("compare_type") == "TOTALORDER" and not left[1]
        return _Key(left[0] // 2, direction if left[0] < right[0] else _SWAPPED[direction], total, left[2])

    def _element(self, value: int) -> tuple[int, bool, str] | None:
        """The argument that a value is, whether its zeros and NaNs were made equal, and which part it is."""
        source = self._canonical.source(value)
        own = value if source is None else source
        made = self._made.get(own)
        of_complex = made is not None and made.name in (hlo.real.name, hlo.imag.name)
        whole, part = (made.operands[0], made.name) if made is not None and of_complex else (own, "")
        return (self._args[whole], source is not None, part) if whole in self._args else None
