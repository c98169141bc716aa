"""What to write instead of a token that has no place where it stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from lark import Token

from shardc.diagnostics import did_you_mean
from shardc.frontend.text.indentation import INSTEAD
from shardc.frontend.text.wrong_lines import NO_SIZE

AFTER_TARGET = frozenset(("COMMA", "COLON", "EQUAL"))
"""What follows the name that a statement gives to a value."""

ENDS = ("_NL", "_DEDENT", "$END")
"""Tokens at the end of a line."""


class Wrong(NamedTuple):
    """A token, the kinds of token that could stand there, what its line has before it, the innermost bracket
    that is open there, or none, and the words of the language among those that could."""

    token: Token
    expected: set[str]
    before: str
    opened: str
    words: list[str]


def hint_of(wrong: Wrong) -> str | None:
    """The first hint that anything says."""
    return next(filter(None, (hint(wrong) for hint in _HINTS)), None)


def _misspelt_statement(wrong: Wrong) -> str | None:
    """A statement's first word is a name until something follows that fits no name."""
    words = wrong.before.split()
    is_first = len(words) == 1 and wrong.expected >= AFTER_TARGET
    if not is_first or wrong.token.type not in ("NAME", "INT", "FLOAT"):
        return None
    return did_you_mean(words[0], ("assert", "elif", "for", "return", "while"))


def _two_characters(wrong: Wrong) -> str | None:
    """An operator of other languages, of which the first character has been read as a token."""
    return _PAIRS.get(wrong.before[-1:] + str(wrong.token)[:1])


_PAIRS = {
    "==": "== compares two values; an assignment has one =",
    ":=": "an assignment is a statement of its own: y = relu(x)",
    "=>": "a function without a name is lambda x: 2 * x",
    "&&": INSTEAD["and"],
    "||": INSTEAD["or"],
    "|>": "a function is called: tanh(x)",
    "<>": "!= compares",
}


def _comment(wrong: Wrong) -> str | None:
    begins = not wrong.before.strip() and wrong.token.type in ("SLASH", "FLOOR_DIVIDE")
    return "a comment begins with #" if begins else None


def _word(wrong: Wrong) -> str | None:
    """A word that another language has, or an operator."""
    if wrong.token.type == "IF" and wrong.before.split() == ["else"]:
        return "else if is written elif"
    if wrong.token.type == "OPEN":
        return INSTEAD["else"]
    if wrong.token.type == "COMPARE":
        return "comparisons cannot be chained: write (a < b) & (b < c)"
    return INSTEAD.get(str(wrong.token))


def _number(wrong: Wrong) -> str | None:
    """A number and a letter without a space between."""
    last = wrong.before[-1:]
    if wrong.token.type == "NAME" and last.isdigit():
        is_exponent = str(wrong.token) in ("e", "E")
        return "an exponent has digits: 1e-5" if is_exponent else "a product is written with *: 2 * x"
    if wrong.token.type == "INT" and last == "." and wrong.expected == {"NAME"}:
        return "a number has one point at most"
    if wrong.token.type in ("INT", "FLOAT") and not wrong.before.strip() and "NAME" in wrong.expected:
        return "names begin with a letter or _"
    return None


def _text(wrong: Wrong) -> str | None:
    """A text in quotes, or a name where one belongs."""
    token, expected = wrong.token, wrong.expected
    if token.type == "NAME" and expected == {"STRING"}:
        return 'a file is named in quotes: import "layers.shard"'
    if token.type in ("STRING", "LONG_STRING") and expected == {"NAME", "_DEDENT"}:
        return "a docstring stands above the fields"
    if token.type == "STRING" and wrong.before[-1:].isalnum():
        return "nothing stands in front of the quotes of a text"
    if token.type == "STRING" and "NAME" in expected:
        return "names are written without quotes"
    return None


def _dimension(wrong: Wrong) -> str | None:
    """What is wrong in the brackets of a type."""
    token, expected = wrong.token, wrong.expected
    if token.type == "AT" and {"INT", "RSQB"} <= expected:
        return "a dimension's size stands before its axes: 16@j"
    if token.type == "LSQB" and {"OPEN", "LPAR"} <= expected:
        return _SEVERAL_AXES
    if token.type in ("COMMA", "RSQB") and {"OPEN", "LPAR"} <= expected:
        return "the axes that split a dimension stand behind @: 8@data"
    if token.type == "AT" and "PRIORITY" in expected:
        return _SEVERAL_AXES
    if token.type in ("LSQB", "COMMA") and {"INT", "RSQB"} <= expected and "FLOAT" not in expected:
        return "between the brackets of a type stand sizes with commas between: f32[8, 4]"
    if not {"COMMA", "RSQB"} <= expected:
        return None
    if token in ("on", "partial", "replicated"):
        return f"{token} stands behind the bracket of the type"
    if token.type == "FLOAT":
        return NO_SIZE
    if token.type in ("NAME", "INT") and "AT" in expected:
        return "commas stand between sizes: f32[8, 4]"
    if token.type == "SLASH" and "AT" in expected:
        return "axes stand behind @, as 8@data; // divides a size"
    return None


_SEVERAL_AXES = "several axes stand in round brackets: 8@(i, j)"


def _type(wrong: Wrong) -> str | None:
    """What is wrong behind a type."""
    token, expected, before = wrong.token, wrong.expected, wrong.before
    if token.type == "LPAR" and "LSQB" in expected and _TYPED.search(before):
        return "the sizes of a type stand in square brackets: f32[8, 4]"
    if "ARROW" in expected:
        return "the type of what a function returns stands behind ->"
    if token.type == "AT" and "REPLICATED" in expected:
        return "axes stand behind the size that they split: f32[8@data]"
    if token.type == "RPAR" and (expected == {"COLON"} or before.rstrip().endswith("partial")):
        return "what is partial says how it is combined: partial(sum: model)"
    if token.type == "RPAR" and before.rstrip().endswith("replicated("):
        return "replicated stands alone, or names axes: replicated(model)"
    if token.type == "COMMA" and "COLON" in expected and "->" in before and not wrong.opened:
        return "the types of several results stand in brackets: -> (f32[8], f32[4])"
    return None


_TYPED = re.compile(r"(?::|->)\s*\w+\s*$")
"""A line up to the name of a type."""


def _assignment(wrong: Wrong) -> str | None:
    expected = wrong.expected
    if wrong.token.type == "EQUAL" and (
        expected == {"COLON"} or ("NAME" not in expected and "COMPARE" in expected)
    ):
        return "== compares; an assignment is a statement of its own"
    if wrong.token.type == "EQUAL" and wrong.before.rstrip().endswith(")"):
        return "what gets a value is a name, or elements of one: y = tanh(x), y[0] = 1"
    if expected >= AFTER_TARGET and not wrong.opened:
        return "a statement gives a name to a value: y = relu(x), x = x + 1"
    return None


def _block(wrong: Wrong) -> str | None:
    """What is wrong where a block begins."""
    if "_INDENT" in wrong.expected:
        return "a block is indented more than the line above it"
    if wrong.token.type == "LBRACE" and _HEAD.match(wrong.before):
        return "a block has no braces: it is indented, below a line that ends in a colon"
    is_end = wrong.token.type in ENDS or wrong.token in ("then", "do")
    if is_end and "COLON" in wrong.expected and _HEAD.match(wrong.before):
        return "a line that begins a block ends in a colon"
    return None


_HEAD = re.compile(r"\s*(def|for|while|if|elif|else|record)\b")
"""A line that begins a block."""


def _bracket(wrong: Wrong) -> str | None:
    """A bracket that closes none."""
    if wrong.token.type not in ("RPAR", "RSQB", "RBRACE"):
        return None
    if not wrong.opened:
        return "no bracket is open here"
    is_other = wrong.opened != _CLOSED[wrong.token.type]
    return f'the bracket that is open is "{wrong.opened}"' if is_other else None


_CLOSED = {"RPAR": "(", "RSQB": "[", "RBRACE": "{"}


def _value(wrong: Wrong) -> str | None:
    """Where a value belongs: at the end of a line, in an index, behind the name of an argument."""
    token, expected, before = wrong.token, wrong.expected, wrong.before.strip()
    if token.type in ENDS and "FLOAT" in expected:
        if before == "return":
            return "a function returns a value"
        return "a statement goes on in the next line inside brackets"
    if token.type == "DOT" and before[-1:] in ("[", ",") and "COLON" in expected:
        return "... stands for all dimensions that are left"
    if token.type == "COLON" and {"EQUAL", "RPAR"} <= expected:
        return "the name of an argument stands before =: axis=0"
    if token.type == "NAME" and _LAMBDA.search(before):
        return "a colon stands behind the parameters: lambda x: 2 * x"
    return None


_LAMBDA = re.compile(r"\blambda [\w, ]*$")
"""A line up to a parameter of a lambda."""


def _comma(wrong: Wrong) -> str | None:
    if wrong.token.type == "NAME" and "REPLICATED" in wrong.expected:
        return "a comma stands between parameters; behind a type stand partial(…), replicated or on pod"
    if wrong.token.type == "NAME" and wrong.before.rstrip().endswith("*") and "RPAR" in wrong.expected:
        return "a function has a fixed number of parameters; a tuple is one: xs: (f32[8], f32[8])"
    if wrong.token.type == "COMMA" and wrong.expected <= {"_NL"} and wrong.before[:1] == " ":
        return "each field of a record has a line of its own"
    is_next = wrong.token.type in ("NAME", "INT", "FLOAT", "STRING", "LBRACE")
    return "a comma is missing" if is_next and wrong.opened and "COMMA" in wrong.expected else None


def _decorator(wrong: Wrong) -> str | None:
    is_dotted = wrong.token.type == "DOT" and wrong.expected == {"LPAR", "_NL"}
    return "decorators have no module in front: @shard_map" if is_dotted else None


def near_keyword(wrong: Wrong) -> str | None:
    """A hint for a keyword that is misspelt where it stands."""
    return did_you_mean(wrong.token, wrong.words) if wrong.token.type == "NAME" else None


def _declaration(wrong: Wrong) -> str | None:
    """How a declaration or a loop is written."""
    begins = _DECLARED.match(wrong.before) or _LOOP.match(wrong.before)
    return f"it is written so: {_DECLARATIONS[begins[1]]}" if begins else None


_DECLARATIONS = {
    "mesh": "mesh pod[data=2, model=4]",
    "axes": "axes embed = (x, y)",
    "size": "size B = 32, D = 64",
    "const": "const EPS = 1e-5",
    "record": "record Layer:",
    "import": 'import "layers.shard"',
    "from": 'from "layers.shard" import linear',
    "def": "def f(x: f32[8, 4], y: f32[4]) -> f32[8, 4]:",
    "for": "for i in range(4) carrying x:",
    "while": "while change > 1e-5 carrying x, change:",
}
"""Of each declaration and loop, by its first word, one."""

_DECLARED = re.compile(r"(mesh|axes|size|const|record|import|from|def)\b")
_LOOP = re.compile(r"\s*(for|while)\b")

_HINTS: tuple[Callable[[Wrong], str | None], ...] = (
    _misspelt_statement,
    _two_characters,
    _comment,
    _block,
    _type,
    _dimension,
    _word,
    _number,
    _text,
    _assignment,
    _bracket,
    near_keyword,
    _value,
    _comma,
    _decorator,
    _declaration,
)
