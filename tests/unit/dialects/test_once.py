"""What is found of an attribute is found once for each object, and is that of this object."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from shardc.dialects import once
from shardc.dialects.once import Once


def test_each_object_is_looked_at_once() -> None:
    seen = list[Attribute]()
    meaning = Once(lambda attr: (seen.append(attr), len(seen)))
    first, equal = StringAttr("a"), StringAttr("a")
    assert [meaning(attr)[1] for attr in (first, equal, first, equal)] == [1, 2, 1, 2]
    assert [*map(id, seen)] == [id(first), id(equal)]


def test_what_is_forgotten_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attributes that are gone leave nothing to those that come where they were."""
    monkeypatch.setattr(once, "MANY", 3)
    meaning = Once(lambda attr: str(attr))
    for number in range(50):
        assert meaning(StringAttr(str(number))) == f'"{number}"'
