"""The tables by which lark parses the language: python -m shardc.grammar.tables > grammar/tables.json

Reading them takes a tenth of the time that making them from the grammar does. They are those of one version
of lark, and of the grammar as it was: both stand in the file, and a test keeps it current. With another
version they are made from the grammar, and kept in the user's cache folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

from shardc import cache

_FOLDER = Path(__file__).parent


def parser(**options: Any) -> Lark:
    """A parser for programs. options: those of lark that its tables don't depend on."""
    tables = json.loads(_shipped() or _kept())
    tables["data"]["parser"]["parser"]["states"] = tables["states"]
    memo = {int(key): value for key, value in tables["memo"].items()}
    return Lark._load_from_dict(tables["data"], memo, **options)  # pyright: ignore


def _shipped() -> str | None:
    """The tables in the package; None if another lark or another grammar made them."""
    kept = _FOLDER.joinpath("tables.json").read_text(encoding="utf-8")
    return kept if kept.startswith(_made_from(_grammar())) else None


def _kept() -> str:
    """The tables in the user's cache folder, where they are put if they are not there."""
    key = ("tables of the grammar", _made_from(_grammar()))
    found = cache.get(*key)
    if found is not None:
        return found.decode()
    made = text()
    cache.put(made.encode(), *key)
    return made


def _grammar() -> str:
    return _FOLDER.joinpath("shard.lark").read_text(encoding="utf-8")


def _made_from(grammar: str) -> str:
    """How the tables of a grammar begin: with lark's version, and a digest of the grammar."""
    digest = hashlib.sha256(grammar.encode()).hexdigest()
    return f'{{"lark":"{lark.__version__}","grammar":"{digest}",\n'


def text() -> str:
    """The tables as JSON, a line for each state; the same in whatever order lark finds the states."""
    grammar = _grammar()
    made = Lark(grammar, parser="lalr", maybe_placeholders=True)
    data, memo = made.memo_serialize([TerminalDef, Rule])  # pyright: ignore
    table: dict[str, Any] = data["parser"]["parser"]
    rows = _rows(table)
    number = {state: str(index) for index, state in enumerate(_reached(rows, table["start_states"].values()))}
    tokens = {token: str(index) for index, token in enumerate(sorted(table["tokens"].values()))}
    states = {
        number[state]: {
            tokens[token]: [action, to if action else number[to]]
            for token, (action, to) in sorted(rows[state].items())
        }
        for state in number
    }
    table["states"] = {}
    table["tokens"] = {index: token for token, index in tokens.items()}
    for ends in ("start_states", "end_states"):
        table[ends] = {rule: number[state] for rule, state in table[ends].items()}
    parts = {"data": _json(data), "memo": _lines(memo), "states": _lines(states)}
    return _made_from(grammar) + ",\n".join(f'"{name}":{part}' for name, part in parts.items()) + "}\n"


def _rows(table: dict[str, Any]) -> dict[int, dict[str, tuple[int, Any]]]:
    """State -> token or rule -> 0 and the next state, or 1 and what is reduced."""
    names = table["tokens"]
    return {
        state: {names[token]: action for token, action in row.items()}
        for state, row in table["states"].items()
    }


def _reached(rows: dict[int, dict[str, tuple[int, Any]]], starts: Iterable[int]) -> list[int]:
    """The states in the order in which they are reached first, by the alphabet of tokens."""
    found: dict[int, None] = dict.fromkeys(starts)
    order = list(found)
    for state in order:
        for _, (action, to) in sorted(rows[state].items()):
            if not action and to not in found:
                found[to] = None
                order.append(to)
    return order


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _lines(values: Mapping[Any, object]) -> str:
    """A JSON object with a line for each item."""
    items = [f'"{key}":{_json(value)}' for key, value in values.items()]
    return "{\n" + ",\n".join(items) + "\n}"


if __name__ == "__main__":
    print(text(), end="")
