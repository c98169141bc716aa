"""Dataclasses that are made while equal methods are compiled once are what they would be without."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from shardc.equal_methods import compiled_once


def make(default: int, frozen: bool) -> type[Any]:
    fields: list[Any] = [("a", int), ("b", int, dataclasses.field(default=default))]
    return dataclasses.make_dataclass("Two", fields, frozen=frozen, order=True)


def use(kind: type[Any]) -> list[object]:
    """What one of a class does."""
    one, other = kind(1), kind(1, 2)
    said: list[object] = [repr(one), one == kind(1), one == other, one < kind(2), kind.__doc__]
    try:
        one.a = 3
    except dataclasses.FrozenInstanceError as error:
        said.append(str(error))
    return [*said, one.a, one.b, kind.__init__.__qualname__]


@pytest.mark.parametrize("frozen", [True, False])
def test_classes_are_as_without(frozen: bool) -> None:
    without = [use(make(default, frozen)) for default in (5, 7)]
    with compiled_once(), compiled_once():
        kinds = [make(default, frozen) for default in (5, 7)]
    assert [use(kind) for kind in kinds] == without
    assert without[0] != without[1] and not hasattr(dataclasses, "exec")


def test_they_share_their_code() -> None:
    with compiled_once():
        one, other = make(1, False), make(2, False)
    assert one.__eq__ is not other.__eq__ and one.__eq__.__code__ is other.__eq__.__code__
