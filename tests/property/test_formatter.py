"""A formatted program is the same program, with the same comments, and formatted again the same text."""

from __future__ import annotations

import re

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from shardc.diagnostics import ShardcError
from shardc.formatter import WIDTH, formatted
from shardc.formatter.concrete import LAYOUT, concrete, tokens_of
from shardc.formatter.meaning import meaning
from shardc.frontend.text import parse
from tests.sampling import examples
from tests.unit.formatter.programs import programs

PROGRAMS = programs()
_QUOTED = re.compile(r'"""(?:.|\n)*?"""|\'\'\'(?:.|\n)*?\'\'\'|"[^"\n]*"|\'[^\'\n]*\'')


def comments(text: str) -> list[str]:
    """The letters of all comments: two that come to stand on one line are one comment from there on."""
    return sorted("".join(re.findall(r"#(.*)", _QUOTED.sub('""', text))).replace(" ", ""))


def check(text: str) -> str:
    made = formatted(text, "prog.shard")
    assert formatted(made, "prog.shard") == made
    assert meaning(parse(made, "prog.shard")) == meaning(parse(text, "prog.shard"))
    assert [letter for letter in comments(made) if letter != "#"] == [c for c in comments(text) if c != "#"]
    lines = _QUOTED.sub('""', made).split("\n")
    assert all(line == line.rstrip() for line in lines) and not made.startswith("\n")
    return made


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_the_repository(name: str) -> None:
    made = check(PROGRAMS[name])
    for line in made.split("\n"):
        code = line.partition("#")[0].strip()
        assert len(line) <= WIDTH or "#" in line or '"' in line or not re.search(r"[(\[{].+[)\]}]", code), (
            line
        )


def respaced(text: str, draw: st.DrawFn) -> str:
    """The same tokens with other spaces, and in brackets with other line breaks and comments."""
    tokens = [token for token in tokens_of(concrete(text).tree) if token.type not in LAYOUT]
    inside = ["", " ", "   ", "\n", "\n      ", "  # note\n", "\n# note\n  "]
    made, end, depth = "", 0, 0
    for token in tokens:
        start = token.start_pos or 0
        gap = text[end:start]
        if depth and draw(st.integers(0, 3)) == 0:
            gap = draw(st.sampled_from(inside[1:])) + (gap if "#" in gap else "")
        elif gap and not gap.strip(" "):
            gap = " " * draw(st.integers(1, 3))
        made += gap + str(token)
        end = start + len(token)
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(str(token), 0)
    return made + text[end:]


@settings(max_examples=examples(100), phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.data())
def test_respaced_programs(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(PROGRAMS)))
    text = st.composite(lambda draw: respaced(PROGRAMS[name], draw))()
    variant = data.draw(text)
    try:
        same = meaning(parse(variant, "prog.shard")) == meaning(parse(PROGRAMS[name], "prog.shard"))
    except ShardcError:
        assume(False)  # P( and the like are one token
    else:
        assume(same)
        check(variant)
        crlf = formatted(variant.replace("\n", "\r\n"), "prog.shard")
        assert '"""' in variant or crlf == formatted(variant, "prog.shard").replace("\n", "\r\n")
