"""Characters that no program has: what they are, and what to write."""

from __future__ import annotations

import unicodedata

_HINTS = {
    "!": "~ is elementwise not, != compares",
    ";": "one statement per line, and commas inside brackets",
    "$": "names are made of letters, digits and _",
    "\\": "inside brackets a statement goes on in the next line by itself",
    "\r": "lines end in a line feed, or a carriage return and a line feed",
}

_LOOKS = {
    "MINUS SIGN": "-",
    "DASH": "-",
    "HYPHEN": "-",
    "SINGLE QUOTATION MARK": "'",
    "DOUBLE QUOTATION MARK": '"',
    "MULTIPLICATION SIGN": "*",
    "DIVISION SIGN": "/",
    "LESS-THAN OR EQUAL TO": "<=",
    "GREATER-THAN OR EQUAL TO": ">=",
    "NOT EQUAL TO": "!=",
    "RIGHTWARDS ARROW": "->",
}
"""Words in a character's name in Unicode -> what people type for it."""


def told(char: str) -> str:
    """A character in an error: as it is, and if it is none of ASCII its number and name."""
    if char.isascii():
        return repr(char)
    name = unicodedata.name(char, "")
    return f"{char!r} (U+{ord(char):04X}{' ' if name else ''}{name})"


def instead(char: str) -> str | None:
    """A hint what to write for a character."""
    if char.isascii():
        return _HINTS.get(char)
    name = unicodedata.name(char, "")
    typed = (typed for words, typed in _LOOKS.items() if words in name)
    plain = next(typed, unicodedata.normalize("NFKC", char))
    if plain == " ":
        return "write a space"
    if plain.isascii() and plain.isprintable():
        return f"write {plain}"
    if unicodedata.category(char) in ("Cf", "Cc"):
        return "it is not seen: remove it"
    return "names have ASCII letters, digits and _" if char.isalnum() else "texts and comments may have it"
