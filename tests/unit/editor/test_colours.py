"""grammar/shard.tmLanguage.json colours what the grammar says, in every program of the repository."""

from __future__ import annotations

import re

import pytest
from lark import Token

from shardc.formatter.concrete import Written, concrete
from shardc.frontend.text.promotion import DTYPES
from tests.unit.editor.textmate import Grammar
from tests.unit.formatter.programs import ROOT, programs

GRAMMAR = Grammar(ROOT / "grammar/shard.tmLanguage.json")
PROGRAMS = programs()
LARK = (ROOT / "grammar/shard.lark").read_text(encoding="utf-8")
WORDS = sorted({*re.findall(r'"([a-z]+)"', re.sub(r"//.*", "", LARK))})
"""The keywords of the lark grammar."""

KEYWORDS = ("keyword.", "storage.")
KINDS = {
    "IMAGINARY": "constant.numeric",
    "INT": "constant.numeric",
    "FLOAT": "constant.numeric",
    "STRING": "string.",
    "LONG_STRING": "string.",
}


def wanted(node: Token, rule: str) -> tuple[str, ...] | None:
    """What the scope of a token begins with, if it is to have a colour."""
    if node.type in KINDS:
        return (KINDS[node.type],)
    if node in WORDS and node.type != "NAME":
        return KEYWORDS
    if rule == "tensor_type" and node in DTYPES:
        return ("support.type",)
    if rule == "axis_ref" and node.type == "NAME":
        return ("variable.other.axis", "plain")
    if rule == "function" and node.type == "NAME":
        return ("entity.name.function",)
    return None


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_token_has_its_colour(name: str) -> None:
    text = PROGRAMS[name].removeprefix("\ufeff")
    scopes = GRAMMAR.scopes(text)
    todo: list[tuple[Written | Token, str]] = [(concrete(text).tree, "")]
    while todo:
        node, rule = todo.pop()
        if not isinstance(node, Token):
            todo += [(child, str(node.data)) for child in node.children]
        elif (kinds := wanted(node, rule)) is not None:
            found = scopes[(node.line or 1) - 1][(node.column or 1) - 1]
            assert (found or "plain").startswith(kinds), (node, node.line, rule, found)
    for line, code in zip(scopes, text.split("\n"), strict=True):
        marks = [scope for scope, letter in zip(line, code, strict=True) if letter == "#"]
        assert all(scope and scope.startswith(("comment.", "string.")) for scope in marks)


@pytest.mark.parametrize("word", WORDS)
def test_every_keyword_of_the_grammar_is_known(word: str) -> None:
    texts = [pattern.get("match", "") for pattern in GRAMMAR.patterns]
    assert any(re.search(rf"\b{word}\b", text) for text in texts)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_known(dtype: str) -> None:
    assert GRAMMAR.scopes(f"x: {dtype}[4]")[0][3 : 3 + len(dtype)] == ["support.type.shard"] * len(dtype)


def test_words_of_other_kinds_keep_their_colour() -> None:
    """Names that hold keywords, fields, and what is in quotes or comments."""
    assert {*GRAMMAR.scopes("1.5e-3j")[0]} == {"constant.numeric.shard"}
    for text in ("format", "x.size", "iffy", "in_", "onto", "size_of", "pi2"):
        scopes = {scope for scope in GRAMMAR.scopes(f"    {text}")[0] if scope}
        assert scopes <= {"keyword.operator.shard"}, text
    assert {*GRAMMAR.scopes('"for # x" # if "')[0][:9]} == {"string.quoted.double.shard"}
    assert {*GRAMMAR.scopes('"for # x" # if "')[0][10:]} == {"comment.line.number-sign.shard"}
    long = GRAMMAR.scopes('    """for\n# if\n"""\nx  # y')
    assert {*long[1]} == {"string.quoted.triple.shard"} and long[3][0] is None
