"""Which nodes of a function matter, and how often and where each value is used."""

from __future__ import annotations

from typing import cast

from msgspec import Struct

from shardc.graph import Node, Region, walk
from shardc.graph.marks import EFFECT, GLOBAL
from shardc.ops import Trait, has


class Usage(Struct):
    """`count` of uses by live nodes; `user` is the last of them; `home` and `site` are the regions of both.

    A node without a result that is used is dead, unless it or what it runs has an effect. Regions are known
    by id().
    """

    live: set[int] = set()
    count: dict[int, int] = {}
    user: dict[int, Node] = {}
    home: dict[int, int] = {}
    site: dict[int, int] = {}
    whole: dict[int, str] = {}  # global types, where localize noted them

    def used_once_here(self, value: int) -> bool:
        """Whether the one use is in the region that defines the value."""
        return self.count.get(value, 0) == 1 and self.home.get(value) == self.site.get(value)


def usage(region: Region) -> Usage:
    """The usage of everything in a function's body."""
    uses = Usage()
    _define(region, uses)
    _use(region, uses)
    return uses


def noted(region: Region) -> dict[int, str]:
    """The global types that `localize` noted, by value."""
    found: dict[int, str] = {}
    for node in walk(region):
        texts = node.attrs.get(GLOBAL)
        if texts is not None:
            several = isinstance(texts, tuple)
            each = cast("tuple[object, ...]", texts) if several else (texts,) * len(node.results)
            found.update((value, str(text)) for value, text in zip(node.results, each, strict=True) if text)
    return found


def _define(region: Region, uses: Usage) -> None:
    for value in (*region.args, *(v for node in region.nodes for v in node.results)):
        uses.home[value] = id(region)
    for node in region.nodes:
        for inner in node.regions:
            _define(inner, uses)


def _use(region: Region, uses: Usage) -> None:
    count, user, site, here = uses.count, uses.user, uses.site, id(region)
    last = region.nodes[-1] if region.nodes else None
    for node in reversed(region.nodes):
        if node is not last and count.keys().isdisjoint(node.results) and not has_effect(node):
            continue
        uses.live.add(id(node))
        for inner in node.regions:
            _use(inner, uses)
        for value in node.operands:
            count[value] = count.get(value, 0) + 1
            user.setdefault(value, node)
            site[value] = here


def has_effect(node: Node) -> bool:
    """Whether a node calls the host or shows something, or something in its regions does."""
    own = True in (node.attrs.get("has_side_effect"), node.attrs.get(EFFECT)) or has(node.name, Trait.SHOWS)
    return own or any(has_effect(inner) for region in node.regions for inner in region.nodes)
