"""Places are known by their ranks, and found where they have moved to, also in texts."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shardc.diagnostics import Location, place, register_source
from shardc.rewrite.source_places import SourcePlaces, says_line

BEFORE = [
    Location("a/model.py", 12, 5, "x"),
    Location("a/model.py", 12, 9),
    Location("a/model.py", 40, 5, "y"),
    Location("b/model.py", 20, 1),
    Location("prog.mlir", 3, 7),
    Location("prog.mlir", 30, 2),
    Location(),
]


def moved(loc: Location, lines: int, columns: int) -> Location:
    return Location(loc.file, loc.line + lines, loc.col + columns, loc.name) if loc.file else loc


def said(one: Location, other: Location) -> str:
    return f"the result of add {place(one)} is needed whole, as add {place(other)} has it"


@pytest.mark.parametrize(("lines", "columns"), [(0, 0), (1, 0), (-2, 3), (100, 1)])
def test_what_moves_is_found_by_its_rank(lines: int, columns: int) -> None:
    now = [moved(loc, lines, columns) for loc in BEFORE]
    then, places = SourcePlaces.among(BEFORE), SourcePlaces.among(now)
    for old, new in zip(BEFORE, now, strict=True):
        assert then.rank(old) == places.rank(new)
        assert places.place(then.rank(old)) == new
    for old, new in zip(BEFORE[:-1], now[:-1], strict=True):
        ranked = then.ranked(said(old, BEFORE[2]))
        assert places.told(ranked) == said(new, now[2])
        assert not says_line(repr(ranked).encode())


def test_ranks_tell_lines_apart_as_texts_do() -> None:
    """Files of one name are one to a text, so lines that cross are another program."""
    crossed = [*BEFORE[:3], Location("b/model.py", 41, 1), *BEFORE[4:]]
    then, now = SourcePlaces.among(BEFORE), SourcePlaces.among(crossed)
    assert [*map(then.rank, BEFORE)] != [*map(now.rank, crossed)]


def test_other_lines_have_no_rank() -> None:
    places = SourcePlaces.among(BEFORE)
    for other in (Location("a/model.py", 13, 5), Location("a/model.py", 12, 6), Location("c.py", 12, 5)):
        with pytest.raises(LookupError):
            places.rank(other)
    for text in ("add in model.py:13", "add in line 4", "add in other.py:12"):
        with pytest.raises(LookupError):
            places.ranked(text)
    assert places.ranked("tensors are added online 4 times") == "tensors are added online 4 times"


@pytest.mark.parametrize(
    "odd", [Location("my model.py", 3, 1), Location(None, 3, 1), Location("a:b.py", 3, 1)]
)
def test_lines_that_a_text_does_not_tell_do_not_move(odd: Location) -> None:
    places = SourcePlaces.among([*BEFORE, odd])
    assert places.lines is None
    assert places.rank(BEFORE[1]) == Location("a/model.py", 12, 1)
    text = "add in model.py:12"
    assert places.told(places.ranked(text)) == text


def test_the_programs_file_may_have_another_name() -> None:
    now = [replace(loc, file="new.mlir") if loc.file == "prog.mlir" else loc for loc in BEFORE]
    then, places = SourcePlaces.among(BEFORE), SourcePlaces.among(now)
    for old, new in zip(BEFORE, now, strict=True):
        assert then.rank(old) == places.rank(new)
        assert places.place(then.rank(old)) == new
        assert then.fixed().rank(old).file == old.file
    assert then.are_said(b"as /tmp/prog.mlir has it")
    assert not then.are_said(b"as /tmp/new.mlir has it")
    assert not then.fixed().are_said(b"as /tmp/prog.mlir has it")


def test_of_two_files_each_keeps_its_name() -> None:
    places = SourcePlaces.among([*BEFORE, Location("other.mlir", 3, 7)])
    assert places.rank(BEFORE[4]).file == "prog.mlir"


def test_lines_with_titles_do_not_move() -> None:
    """A text says the title, which belongs to the line."""
    register_source("graph.onnx", "a\nb", ["encoder", "decoder"])
    assert SourcePlaces.among([Location("graph.onnx", 2, 1)]).lines is None


def test_it_can_be_written() -> None:
    for places in (SourcePlaces.among(BEFORE), SourcePlaces.among(BEFORE).fixed()):
        assert SourcePlaces.read(places.written()) == places
        assert SourcePlaces.among(places.every()).columns == places.columns
