"""Classes of attributes are defined and loaded without a look at all other classes of attributes."""

from __future__ import annotations

from abc import ABCMeta

import pytest
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Data, TypeAttribute
from xdsl.utils.exceptions import AlreadyRegisteredConstructException, PyRDLAttrDefinitionError

from shardc.dialects.context import DIALECTS, OpenContext, make_context
from shardc.dialects.data_attribute import ValueAttr, data_attribute
from shardc.dialects.sdy_attributes import MeshAttr
from shardc.dialects.stablehlo.enums import TextAttr, TokenType

Asked = list[tuple[type, type]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Each question whether a class is a subclass of an abstract one, but for those that it leads to."""
    questions: Asked = []
    answer, within = ABCMeta.__subclasscheck__, list[type]()

    def ask(cls: ABCMeta, subclass: type) -> bool:
        if not within:
            questions.append((cls, subclass))
        within.append(cls)
        try:
            return answer(cls, subclass)
        finally:
            within.pop()

    monkeypatch.setattr(ABCMeta, "__subclasscheck__", ask)
    return questions


def test_defining_asks_nothing(asked: Asked) -> None:
    @data_attribute
    class Word(TextAttr):
        name = "test.word"

    assert Word not in {subclass for _, subclass in asked}
    assert Word("a") == Word("a") != Word("b")
    with pytest.raises(TypeError, match="Subclassing final classes"):
        type("Longer", (Word,), {})


def test_what_holds_no_value_is_told_by_its_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    questions: Asked = []
    answer = ABCMeta.__subclasscheck__

    def ask(cls: ABCMeta, subclass: type) -> bool:
        questions.append((cls, subclass))
        return answer(cls, subclass)

    other = type("Other", (), {})
    monkeypatch.setattr(ABCMeta, "__subclasscheck__", ask)
    assert not issubclass(other, ValueAttr)
    assert issubclass(MeshAttr, ValueAttr) and not issubclass(MeshAttr, TextAttr)
    assert [subclass for _, subclass in questions].count(other) == 1


def test_a_name_is_needed() -> None:
    with pytest.raises(PyRDLAttrDefinitionError, match="name"):
        data_attribute(type("Nameless", (Data,), {}))


def test_loading_asks_for_no_subclasses(asked: Asked) -> None:
    context = make_context()
    for name in DIALECTS:
        context.load_registered_dialect(name)
    assert TypeAttribute not in {cls for cls, _ in asked}
    assert context.get_optional_type("stablehlo.token") is TokenType
    assert context.get_optional_type("tensor") is TensorType
    assert context.get_optional_type("integer_type") is type(i64)
    assert context.get_optional_attr("sdy.mesh") is MeshAttr
    assert context.get_optional_attr("stablehlo.token") is None
    assert context.get_optional_type("sdy.mesh") is None


def test_a_name_is_loaded_once() -> None:
    context = OpenContext()
    context.load_attr_or_type(MeshAttr)
    with pytest.raises(AlreadyRegisteredConstructException, match=r"sdy\.mesh"):
        context.load_attr_or_type(MeshAttr)
