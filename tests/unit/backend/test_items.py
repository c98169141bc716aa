"""Items of tuples, and the calls that pass them on."""

from __future__ import annotations

from shardc.backend.python.expressions import name
from shardc.backend.python.items import Items


def test_items_that_follow_each_other_are_starred() -> None:
    items = Items()
    outs = [items.item("outs", i, 5) for i in range(5)]
    more = [items.item("more", i, 3) for i in range(3)]
    assert [e.text for e in items.starred([name("x"), *outs])] == ["x", "*outs"]
    assert [e.text for e in items.starred(outs[1:4])] == ["*outs[1:4]"]
    assert [e.text for e in items.starred(outs[2:] + more)] == ["*outs[2:]", "*more"]
    assert [e.text for e in items.starred(outs[:3])] == ["*outs[:3]"]
    assert items.starred(outs[:3])[0].reads == {"outs"}


def test_two_items_or_another_order_are_not() -> None:
    items = Items()
    outs = [items.item("outs", i, 5) for i in range(5)]
    assert [e.text for e in items.starred(outs[3:])] == ["outs[3]", "outs[4]"]
    assert [e.text for e in items.starred([outs[2], outs[1], outs[0]])] == ["outs[2]", "outs[1]", "outs[0]"]
    assert items.starred([]) == []
