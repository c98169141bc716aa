"""What order the comparator of a sort stands for."""

from __future__ import annotations

from dataclasses import dataclass

from shardc.graph import Node, Region
from shardc.ops import hlo

_LOGIC = {hlo.compare.name, hlo.select.name, hlo.and_.name, hlo.or_.name, hlo.constant.name}


@dataclass(frozen=True)
class Order:
    """By the first `keys` operands, ascending or descending."""

    keys: int
    descending: bool


def order_of(node: Node) -> Order | None:
    """The order of a sort; None if its comparator is no comparison of leading operands.

    One key may be compared as it is or after its zeros and NaNs are made equal, as JAX does; several keys
    are compared LT as long as the earlier ones are EQ.
    """
    region = node.regions[0]
    if any(inner.name not in _LOGIC for inner in region.nodes[:-1]):
        return None
    sources = _sources(region)
    keys: dict[int, set[str]] = {}
    for inner in region.nodes:
        if inner.name == hlo.compare.name:
            pair = [sources.get(v, set[int]()) for v in inner.operands]  # constants may come from outside
            if all(len(p) == 1 for p in pair) and pair[0] != pair[1]:
                left, right = min(pair[0]), min(pair[1])
                direction = str(inner.attrs["comparison_direction"])
                swapped = {"LT": "GT", "GT": "LT"}.get(direction, direction)
                if left // 2 != right // 2:
                    return None
                keys.setdefault(left // 2, set()).add(direction if left < right else swapped)
    if sorted(keys) != list(range(len(keys))) or not keys:
        return None
    if len(keys) == 1:
        simple = keys[0] in ({"LT"}, {"GT"}) and _is_result(region)
        return Order(1, keys[0] == {"GT"}) if simple else None
    lexicographic = all(found in ({"LT", "EQ"}, {"LT"}) for found in keys.values())
    return Order(len(keys), False) if lexicographic else None


def _is_result(region: Region) -> bool:
    """Whether the region returns a comparison itself."""
    last = next((n for n in region.nodes if region.results[0] in n.results), None)
    return last is not None and last.name == hlo.compare.name


def _sources(region: Region) -> dict[int, set[int]]:
    """Which arguments each value is computed from."""
    sources = {value: {i} for i, value in enumerate(region.args)}
    for inner in region.nodes:
        read = set[int]().union(*(sources.get(v, set()) for v in inner.operands))
        sources.update((value, read) for value in inner.results)
    return sources
