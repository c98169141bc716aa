"""The tables that programs are parsed by: those in the package, or made for another lark or grammar."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import lark
import pytest

from shardc import cache
from shardc.grammar import tables

TEXT = "def main(x: f32[4]) -> f32[4]:\n    return x\n"


def test_tables_in_the_package_are_current() -> None:
    """python -m shardc.grammar.tables > grammar/tables.json"""
    kept = files("shardc.grammar").joinpath("tables.json").read_text(encoding="utf-8")
    assert kept == tables.text()


def test_tables_of_another_lark_are_made_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    here = _tokens()
    monkeypatch.setattr(lark, "__version__", "1.99")
    assert _tokens() == here
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(tables, "text", _never)
    assert _tokens() == here


def test_tables_of_another_grammar_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grammar that was edited is the one that is parsed by."""
    monkeypatch.setenv(cache.VARIABLE, "off")
    grammar = files("shardc.grammar").joinpath("shard.lark").read_text(encoding="utf-8")
    edited = grammar.replace('"return"', '"give"')
    assert edited != grammar
    monkeypatch.setattr(tables, "_grammar", lambda: edited)
    assert "give" in _words()


def test_the_cache_has_no_tables_where_those_of_the_package_fit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    monkeypatch.setattr(tables, "text", _never)
    assert "return" in _words()
    assert not list(tmp_path.iterdir())


def _never() -> str:
    raise AssertionError("tables are made")


def _tokens() -> list[str]:
    return [token.type for token in tables.parser().lex(TEXT, dont_ignore=True)]


def _words() -> set[str]:
    return {terminal.pattern.value for terminal in tables.parser().terminals}
