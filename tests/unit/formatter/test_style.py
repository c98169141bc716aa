"""The style, on one program that has everything: untidy.shard is written as tidy.shard."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardc.diagnostics import ShardcError
from shardc.formatter import formatted
from tests.unit.formatter.programs import PAGES, ROOT, examples

HERE = Path(__file__).parent
EXAMPLES = ROOT / "examples"


def test_everything() -> None:
    untidy, tidy = ((HERE / name).read_text(encoding="utf-8") for name in ("untidy.shard", "tidy.shard"))
    assert formatted(untidy, "untidy.shard") == tidy


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("", ""),
        ("# alone", "# alone\n"),
        ("\ufeffsize N=1", "size N = 1\n"),
        ("size N=1\r\nsize M=2\r\n", "size N = 1\r\nsize M = 2\r\n"),
        ("size N=1\n\n\n\n\nsize M=2", "size N = 1\n\n\nsize M = 2\n"),
        ('const A = "# no comment"  #one', 'const A = "# no comment"  # one\n'),
        ("const A = 'ü'  # ≤", "const A = 'ü'  # ≤\n"),
    ],
)
def test_small_texts(text: str, made: str) -> None:
    assert formatted(text, "a.shard") == made


def test_a_long_text_in_quotes_stays() -> None:
    text = 'def f(x):\r\n  """one\r\n  two"""\r\n  return x\r\n'
    assert formatted(text, "a.shard") == 'def f(x):\r\n    """one\r\n  two"""\r\n    return x\r\n'


def test_comments_behind_texts_of_several_lines() -> None:
    text = "def f(x):\n    '''# one\n    it's two'''#three\n    return x\n"
    assert formatted(text, "a.shard") == text.replace("#three", "  # three")


def test_long_chains() -> None:
    text = "def f(x):\n    return x" + " + x" * 5000 + "\n"
    assert formatted(text, "a.shard") == text
    broken = formatted(text.replace("return x", "return (x")[:-1] + ")\n", "a.shard")
    assert broken.count("\n        + x") == 5000


def test_deep_brackets() -> None:
    text = "def f(x):\n    return " + "(" * 98 + "x" + ")" * 98 + "\n"
    assert formatted(formatted(text, "a.shard"), "a.shard") == formatted(text, "a.shard")


def test_a_wrong_program_is_an_error() -> None:
    with pytest.raises(ShardcError, match=r'a\.shard:1:9: error: expected ":"'):
        formatted("def f(x)\n    return x\n", "a.shard")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/*.shard")), ids=lambda path: path.stem)
def test_examples_are_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert formatted(text, path.name) == text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_programs_of_pages_are_formatted(page: Path) -> None:
    for text in examples(page):
        assert formatted(text, page.name) == text


def test_one_name_keeps_its_comma() -> None:
    text = "def f(x):\n    a, = x\n    (b,) = x\n    return a + b\n"
    assert formatted(text, "a.shard") == text


@pytest.mark.parametrize("part", ["16@data:(2{})2", "(8{})@data", "8 // (2 + 2{})"])
def test_brackets_that_hold_no_list_get_no_comma(part: str) -> None:
    """A comment makes their lines break, and no more."""
    noted = part.format("  # note\n")
    made = formatted(f"mesh pod[data=4]\n\ndef f(x: f32[{noted}]):\n    return x\n", "a.shard")
    assert "2  # note\n" in made or "8  # note\n" in made
