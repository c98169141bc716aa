r"""xDSL's lexer, with strings read in time linear in their length; and where a bracket closes.

Its own pattern for a string, `"(?:[^"\\…]+|\\…)*"`, repeats a repetition: for a string that does not end it
tries every way to divide the text after the quote, twice as many with each character.
"""

from __future__ import annotations

import re

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Position, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken

_STRING = re.compile(r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"')


class StrictLexer(MLIRLexer):
    """Refuses a string that does not end, at its beginning, before xDSL looks for its end."""

    def _lex_string_literal(self, start_pos: Position) -> MLIRToken:
        if _STRING.match(self.input.content, start_pos) is None:
            raise ParseError(
                Span(start_pos, start_pos + 1, self.input),
                "this string does not end in its line, or has an escape that there is not",
            )
        return super()._lex_string_literal(start_pos)


def closing(text: str, start: int) -> int:
    """The position of the parenthesis that closes the one at `start`; -1 if there is none."""
    depth, quoted, position = 0, False, start
    while position < len(text):
        char = text[position]
        if quoted:
            position += char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        elif char in "()":
            depth += 1 if char == "(" else -1
            if depth == 0:
                return position
        position += 1
    return -1
