"""The values of a flow: what made each, what uses it, and which links that wakes."""

from __future__ import annotations

from msgspec import Struct

from shardc.propagation.flow import Link
from shardc.propagation.priorities import EDGE

Use = tuple[Link | None, int]
"""A link that uses a value, or None if the use propagates nothing, and the id of its node."""


class FlowValue(Struct, eq=False):
    """A value of one instance: its place, the link that made it, and the links that use it.

    `uses` is in the order in which the operations were built. `staying` are those whose operation is not
    dead, once all are known.
    """

    place: int
    made_by: Link | None = None
    uses: list[Use] = []
    staying: int = 0


def notified(values: list[FlowValue]) -> dict[Link, None]:
    """The links to visit again when a place changes, in the order in which Shardy queues them.

    Shardy walks MLIR's use lists, which have the latest use first, except those of edge owners: moving the
    uses over to the edge has turned them around.
    """
    owner, *others = values or [FlowValue(-1)]
    owned = owner.made_by is not None and owner.made_by.kind == EDGE
    links = [link for other in others for link, _ in reversed(other.uses)]
    links.append(owner.made_by)
    links.extend(link for link, _ in (owner.uses if owned else reversed(owner.uses)))
    return dict.fromkeys(link for link in links if link is not None)


def is_shared(value: FlowValue, link: Link, operands: list[FlowValue]) -> bool:
    """Whether a value is used by what stays, or by the link itself, besides one use by the link."""
    if not link.dead:
        return value.staying > 1
    return value.staying > 0 or sum(other is value for other in operands) > 1


def other_users(value: FlowValue, link: Link, number: dict[Link, int]) -> tuple[int, set[int]]:
    """The users of a value other than the link: how many stay, and the numbers of the dead ones."""
    users = {node: user for user, node in value.uses if user is not link}
    dead = {number[user] for user in users.values() if user is not None and user.dead}
    return len(users) - len(dead), dead
