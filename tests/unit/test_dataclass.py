"""shardc's dataclass makes the objects that the standard library's makes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from shardc.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """Frozen, with slots, so that it needs a state of its own to be copied."""

    x: int
    y: list[int] = field(default_factory=list[int])


@dataclass(frozen=True)
class Named(Point):
    name: str = field(default="p", compare=False)


OPTIONS: list[dict[str, bool]] = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "order": True},
    {"eq": False},
    {"eq": False, "repr": False},
    {"kw_only": True},
    {"frozen": True, "eq": False, "kw_only": True, "slots": True},
    {"init": False},
]


def _class(make: Callable[..., Any], options: dict[str, bool]) -> type[Any]:
    """A class with fields of every kind."""

    class Held:
        a: int
        b: tuple[int, ...] = ()
        c: list[int] = field(default_factory=list[int])
        d: int = field(default=3, repr=False, compare=False)
        e: int = field(default=4, init=False)
        f: list[int] = field(default_factory=list[int], init=False, hash=False)
        g: int = field(default=5, kw_only=True)
        kept: ClassVar[int] = 6

    return make(Held, **options)


def _tried(action: Callable[[], object]) -> object:
    try:
        return action()
    except (TypeError, AttributeError) as error:
        return type(error), str(error)


def _refused(action: Callable[[], object]) -> bool:
    """Whether an action fails; the errors of the standard library are not those that it means."""
    try:
        action()
    except (TypeError, AttributeError):
        return True
    return False


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("given", [(), (1,), (1, (2,)), (1, (2,), [3], 9)])
@pytest.mark.parametrize("named", [{}, {"a": 1}, {"a": 1, "g": 7}, {"g": 8, "c": [1]}, {"e": 1}], ids=str)
def test_objects_are_those_of_the_standard_library(
    options: dict[str, bool], given: tuple[Any, ...], named: dict[str, Any]
) -> None:
    def said(make: Callable[..., Any]) -> list[object]:
        cls = _class(make, options)
        found: list[object] = [_tried(lambda: _fields(cls(*given, **named)))]
        try:
            one, other = cls(*given, **named), cls(*given, **named)
        except TypeError:
            return found
        return [
            *found,
            _tried(lambda: repr(one).partition(" at 0x")[0]),
            _tried(lambda: one == one),
            _tried(lambda: one == other),
            one == 1,
            _tried(lambda: hash(one) == hash(other)),
            _tried(lambda: one < other),
            _tried(lambda: one <= other),
            _refused(lambda: setattr(one, "a", 1)),
            _refused(lambda: setattr(one, "more", 1)),
            _tried(lambda: _fields(dataclasses.replace(one, a=5))),
            _tried(lambda: _fields(copy.copy(one))),
            _refused(lambda: delattr(one, "e")),
        ]

    assert said(dataclass) == said(dataclasses.dataclass)


def _fields(value: Any) -> list[object]:
    return [getattr(value, f.name, None) for f in dataclasses.fields(value)]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_classes_say_the_same(options: dict[str, bool]) -> None:
    ours, theirs = _class(dataclass, options), _class(dataclasses.dataclass, options)
    assert [*inspect.signature(ours).parameters] == [*inspect.signature(theirs).parameters]
    assert ours.__match_args__ == theirs.__match_args__
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)
    assert dataclasses.is_dataclass(ours)


def test_methods_that_are_written_stay() -> None:
    @dataclass(frozen=True)
    class Written:
        a: int

        def __init__(self) -> None:
            object.__setattr__(self, "a", 7)

        def __repr__(self) -> str:
            return "written"

        def __hash__(self) -> int:
            return 11

    assert (Written().a, repr(Written()), hash(Written())) == (7, "written", 11)
    assert Written() == Written()
    assert not inspect.signature(Written).parameters


def test_what_is_done_after_init_is_done() -> None:
    @dataclass(slots=True)
    class Doubled:
        a: int
        twice: int = field(init=False)

        def __post_init__(self) -> None:
            self.twice = 2 * self.a

    assert Doubled(4).twice == 8


def test_fields_are_inherited() -> None:
    one = Named(1, [2], "q")
    assert (one.x, one.y, one.name) == (1, [2], "q")
    assert one == Named(1, [2], "r") and one != Point(1, [2])
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        one.x = 4  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
        del one.name  # pyright: ignore[reportAttributeAccessIssue]


def test_a_class_of_a_frozen_one_of_the_standard_library_is_frozen() -> None:
    @dataclasses.dataclass(frozen=True)
    class Base:
        a: int

    @dataclass(frozen=True)
    class Derived(Base):
        b: int = 2

    one = Derived(1)
    assert (one.a, one.b, one == Derived(1, 2), hash(one)) == (1, 2, True, hash(Derived(1)))
    with pytest.raises(FrozenInstanceError):
        one.b = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_a_subclass_that_is_made_first_takes_no_method_from_its_base() -> None:
    @dataclass
    class Base:
        a: int

    class Plain(Base):
        pass

    assert Plain(3) == Plain(3)
    assert "__init__" not in vars(Plain) and Plain(3) != Base(3)


def test_objects_are_pickled() -> None:
    one = Point(1, [2])
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.deepcopy(one) == one


def test_an_object_that_holds_itself_is_shown() -> None:
    one = Point(1, [])
    held: list[Any] = one.y
    held.append(one)
    assert "..." in repr(one)


def test_nothing_is_compiled_before_it_is_called() -> None:
    @dataclass
    class Late:
        a: int

    assert "a" not in vars(Late)["__init__"].__code__.co_varnames
    assert Late(1) == Late(1)
    assert "a" in vars(Late)["__init__"].__code__.co_varnames
    assert vars(Late)["__init__"].__qualname__.endswith("Late.__init__")
