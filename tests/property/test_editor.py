"""The editor agrees with the compiler on whole programs, and answers on any text."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from shardc.diagnostics import ShardcError
from shardc.editor.analysis import Analysis
from shardc.editor.completion import completions
from shardc.editor.hover import hover
from shardc.editor.names import resolve
from shardc.frontend.text import read
from tests.sampling import examples
from tests.unit.formatter.programs import ROOT, programs

PROGRAMS = {name: text for name, text in programs().items() if "import" not in text}
FILE = str(ROOT / "prog.shard")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted(PROGRAMS)[::3])
def test_whole_programs(name: str) -> None:
    """The compiler's error is among those of the editor, which shows none where there is none."""
    found = [shown.diagnostic for shown in Analysis(PROGRAMS[name], FILE, 1, {}).front()]
    errors = [one for one in found if one.severity == "error"]
    try:
        read(PROGRAMS[name], FILE)
    except ShardcError as error:
        assert error.diagnostic in errors or "has no type" in error.diagnostic.message
    else:
        assert errors == []


@st.composite
def spoilt(draw: st.DrawFn) -> str:
    """A program that somebody is changing."""
    text = PROGRAMS[draw(st.sampled_from(sorted(PROGRAMS)))]
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(text)))
        length = draw(st.sampled_from([0, 0, 1, 2, 5, 40]))
        new = draw(st.sampled_from(["", *'()[\n@.":=x\t😀', '"""', "    ", "def "]))
        text = text[:place] + new + text[place + length :]
    return text


@settings(max_examples=examples(60), phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(spoilt(), st.data())
def test_spoilt_programs(text: str, data: st.DataObject) -> None:
    analysis = Analysis(text, FILE, 1, {})
    shown = analysis.front()
    lines = text.split("\n")
    assert all(1 <= one.diagnostic.loc.line <= len(lines) for one in shown if one.diagnostic.loc.line)
    for _ in range(3):
        line = data.draw(st.integers(1, len(lines)))
        column = data.draw(st.integers(1, len(lines[line - 1]) + 1))
        hover(analysis, line, column)
        completions(analysis, line, column)
        word = analysis.text.word(line, column)
        if word is not None:
            resolve(analysis.mended.program, analysis.source, analysis.text, word)
    try:
        read(text, FILE)
    except ShardcError:
        return
    assert not [one for one in shown if one.diagnostic.severity == "error"]
