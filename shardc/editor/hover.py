"""What an editor shows of the word under the pointer: type, layout, why, and what its line sends."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from pathlib import PurePath

from shardc.analysis.text import readable
from shardc.dialects.snapshot import snapshot
from shardc.editor import facts
from shardc.editor.analysis import Analysis
from shardc.editor.names import Definition, resolve
from shardc.editor.text import Word
from shardc.explain.show import value_text
from shardc.frontend.text import syntax as s
from shardc.frontend.text.builtins.table import BUILTINS
from shardc.frontend.text.printer import type_text
from shardc.frontend.text.values import Value, describe

_MOST_TURNS = 8


def hover(analysis: Analysis, line: int, column: int) -> tuple[str, Word | None] | None:
    """Markdown on a place, and the word that it is about; None if there is nothing to say."""
    word = analysis.text.word(line, column)
    code = analysis.text.line(line).partition("#")[0]
    parts: list[str] = []
    if word is not None and word.end <= len(code) + 1 and not _in_quotes(word.before):
        parts += _word(analysis, word)
    parts += _sends(analysis, line) if code.strip() else []
    return ("\n\n".join(parts), word if word and word.end <= len(code) + 1 else None) if parts else None


def _in_quotes(before: str) -> bool:
    """Whether a text in quotes begins on the line and has not ended."""
    return bool(re.sub(r'"[^"]*"|\'[^\']*\'', "", before).strip(" \t").count('"'))


def _word(analysis: Analysis, word: Word) -> list[str]:
    found = resolve(analysis.mended.program, analysis.source, analysis.text, word)
    if found is None:
        return [_builtin(word.name)] if word.name in BUILTINS else []
    if found.inside is not None:
        return _tensor(analysis, found)
    return [_declaration(analysis, found)]


def signature(name: str) -> str:
    """A built-in as it is called: sum(x, axis=None, keepdims=False)."""
    first, *parameters = inspect.signature(BUILTINS[name]).parameters.values()
    del first  # the emitter
    shown = [one.replace(annotation=one.empty) for one in parameters]
    return f"{name}{inspect.Signature(shown)}"


def _builtin(name: str) -> str:
    doc = inspect.getdoc(BUILTINS[name])
    return f"```shard\n{signature(name)}\n```" + (f"\n\n{doc}" if doc else "")


def _declaration(analysis: Analysis, found: Definition) -> str:
    """A declaration as it is written, and its value or its docstring."""
    if found.file != analysis.file:
        shown = _head(found)
    else:
        first, last = analysis.statement_at(found.line)
        if isinstance(found.node, s.RecordDef) and found.node.fields:
            last = found.node.fields[-1].pos.line
        shown = "\n".join(analysis.text.line(number) for number in range(first, last + 1))
    text = f"```shard\n{shown}\n```"
    if isinstance(found.node, s.Function | s.RecordDef) and found.node.doc:
        text += f"\n\n{inspect.cleandoc(found.node.doc)}"
    value = analysis.checked.known.get(found.name) if found.file == analysis.file else None
    if found.kind in ("size", "const") and value is not None:
        text += f"\n\n{found.name} is {_shown(value)}"
    if found.kind == "axis":
        text += f"\n\n{found.name} is an axis of the mesh"
    return text


def _head(found: Definition) -> str:
    if isinstance(found.node, s.Function):
        return f"def {found.name}({', '.join(parameter.name for parameter in found.node.parameters)})"
    if isinstance(found.node, s.Parameter):
        return f"{found.name}: {type_text(found.node.type)}"
    return f"{found.kind} {found.name}"


def _shown(value: Value) -> str:
    return f"({', '.join(map(_shown, value))})" if isinstance(value, tuple) else repr(value)


def _tensor(analysis: Analysis, found: Definition) -> list[str]:
    """The type and the layout of a value; only the type, where the program is not compiled."""
    first, last = analysis.statement_at(found.line)
    function = found.inside
    assert function is not None
    for entry in (None, function.name):
        explainer = analysis.explainer(entry)
        known = facts.reports(explainer, found.name, analysis.file, first, last) if explainer else []
        if known:
            folder = analysis.file.removesuffix(PurePath(analysis.file).name)
            texts = [
                value_text(one).replace(
                    f"{folder}{PurePath(analysis.file).name}", PurePath(analysis.file).name
                )
                for one in known
            ]
            return [
                f"```text\n{text}\n```\n{readable(one.bytes)} in all"
                for text, one in zip(texts, known, strict=True)
            ]
    types = _types(analysis, found.name, first, last)
    turns = analysis.checked.turns.get((found.file, found.line, found.col))
    if turns and not types:
        return [f"```shard\n{found.name}: {_turns(turns)}\n```"]
    node = found.node
    said = type_text(node.type) if isinstance(node, s.Parameter | s.Target) else ""
    return [f"```shard\n{found.name}: {', '.join(types) or said}\n```"] if types or said else []


def _turns(values: Sequence[Value]) -> str:
    """What a name of an unrolled loop is, turn by turn: 1, 2, 4; of a tensor or a record its type."""
    texts = list(dict.fromkeys(map(_turn, values)))
    rest = f", … ({len(texts)} values)" if len(texts) > _MOST_TURNS else ""
    return ", ".join(texts[:_MOST_TURNS]) + rest


def _turn(value: Value) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_turn, value))})"
    return repr(value) if isinstance(value, bool | int | float | complex | str) else describe(value)


def _types(analysis: Analysis, name: str, first: int, last: int) -> list[str]:
    """The types that values of a name have in these lines, by the front end."""
    module = analysis.checked.module
    if module is None:
        return []
    graph = snapshot(module.clone()).graph
    found = [
        str(graph.type(number))
        for number, value in enumerate(graph.values)
        if value.loc.name == name and value.loc.file == analysis.file and first <= value.loc.line <= last
    ]
    return list(dict.fromkeys(found))


def _sends(analysis: Analysis, line: int) -> list[str]:
    """What the statement at a line sends."""
    compiled = analysis.compiled()
    first, last = analysis.statement_at(line)
    found = facts.sent(compiled.collectives, analysis.file, first, last) if compiled else []
    if not found:
        return []
    total = sum(one.total for one in found)
    return [
        "\n".join(
            [
                f"This line sends {readable(total)} per device:",
                "",
                *(f"- {facts.sent_text(one)}" for one in found),
            ]
        )
    ]
