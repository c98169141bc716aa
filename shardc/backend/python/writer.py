"""Lines of Python text with indentation, comments and wrapped statements."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager

from shardc.backend.python.expressions import MANY, Expr, call
from shardc.backend.python.names import printable

WIDTH = 88
_COMMENT_WIDTH = 100


def _listed(targets: Sequence[str], indent: str) -> list[str]:
    """Names with commas: one a line, or many that share lines."""
    if len(targets) < MANY:
        return [f"{indent}{target}," for target in targets]
    return [indent + line for line in textwrap.wrap(", ".join(targets) + ",", WIDTH - len(indent))]


class Writer:
    """Collects lines. Program text comes through Expr, `comment` or `docstring`, which keep it inert."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._indent = ""
        self._gap = False

    def line(self, text: str = "") -> None:
        """One line of Python as it is."""
        self._separate()
        self._lines.append(self._indent + text if text else "")

    def lines(self, text: str) -> None:
        """Several lines of Python, indented as they are relative to each other."""
        for line in textwrap.dedent(text).strip("\n").split("\n"):
            self.line(line)

    def blank(self, count: int = 1) -> None:
        """Blank lines."""
        self._gap = False
        self._lines += [""] * count

    def comment(self, text: str) -> None:
        """A comment, wrapped."""
        width = WIDTH - len(self._indent) - 2
        for line in textwrap.wrap(printable(text), width, break_on_hyphens=False):
            self.line(f"# {line}")

    def docstring(self, first: str, *paragraphs: str) -> None:
        """A docstring: a first line, then paragraphs, wrapped."""
        if not paragraphs:
            self.line(f'"""{_quoted(first)}"""')
            return
        self.line(f'"""{printable(first)}')
        for paragraph in paragraphs:
            self.blank()
            for line in paragraph.split("\n"):
                self.line(printable(line))
        self.line('"""')

    def statement(self, prefix: str, value: Expr, note: str | None = None) -> None:
        """`prefix` and an expression (`x = …`, `return …`), with a comment at the end if there is room."""
        several = ", " in prefix and prefix.endswith(" = ")
        bare = value.text.removeprefix("(").removesuffix(")")
        if several and value.is_tuple and len(self._indent + prefix + bare) <= WIDTH:
            lines = [self._indent + prefix + bare]
        else:
            lines = value.lines(self._indent + prefix, self._indent, WIDTH)
        if len(lines[0]) > WIDTH and several:
            broken = self._bracketed(prefix.removesuffix(" = ").split(", "), value)
            if max(map(len, broken)) <= WIDTH or len(self._indent + prefix) > WIDTH:
                lines = broken
        if note:
            noted = f"{lines[-1]}  # {printable(note)}"
            if len(noted) <= _COMMENT_WIDTH:
                lines[-1] = noted
            else:
                self.comment(note)
        self._separate()
        self._lines += lines

    def unpack(self, targets: Expr, value: Expr) -> None:
        """An assignment to a tuple of names and of such tuples: a, (b, c) = …"""
        plain = f"{targets.text.removeprefix('(').removesuffix(')')} = "
        lines = value.lines(self._indent + plain, self._indent, WIDTH)
        if max(map(len, lines)) > WIDTH:
            *above, last = targets.lines(self._indent, self._indent, WIDTH - 3)
            lines = [*above, *value.lines(f"{last} = ", self._indent, WIDTH)]
        self._separate()
        self._lines += lines

    def _bracketed(self, targets: Sequence[str], value: Expr) -> list[str]:
        """An assignment to more names than fit on a line: they stand in brackets."""
        inner = self._indent + "    "
        together = inner + ", ".join(targets)
        above = [together] if len(together) <= WIDTH else _listed(targets, inner)
        return [f"{self._indent}(", *above, *value.lines(f"{self._indent}) = ", self._indent, WIDTH)]

    def room(self, prefix: str) -> int:
        """How many characters fit behind `prefix` on a line."""
        return WIDTH - len(self._indent) - len(prefix)

    @contextmanager
    def indented(self, opening: str) -> Generator[None]:
        """A line such as `def f(x):`, and what is written inside one step to the right of it."""
        self.line(opening)
        before, self._indent = self._indent, self._indent + "    "
        yield
        self._indent = before

    def definition(self, function: str, params: Sequence[str]) -> AbstractContextManager[None]:
        """def f(x, w): and what is written inside; many parameters share lines of their own."""
        *above, opening = call(f"def {function}", *params).lines("", self._indent, WIDTH - 1)
        for line in above:
            self.line(line.removeprefix(self._indent))
        return self.indented(f"{opening.removeprefix(self._indent)}:")

    @contextmanager
    def inner_function(self, opening: str) -> Generator[None]:
        """A def inside a function, with a blank line on either side."""
        if self._lines and not self._lines[-1].endswith(":"):
            self._gap = True
        with self.indented(opening):
            yield
        self._gap = True

    def _separate(self) -> None:
        if self._gap:
            self._gap = False
            self._lines.append("")

    @property
    def length(self) -> int:
        """The number of lines so far."""
        return len(self._lines)

    def text(self) -> str:
        """Everything, with a newline at the end."""
        return "\n".join(self._lines).rstrip("\n") + "\n"


def paragraphs(doc: str) -> list[str]:
    """A docstring as it was written, without its indentation."""
    first, _, rest = inspect.cleandoc(doc).partition("\n")
    return [first, rest.strip("\n")] if rest.strip() else [first]


def _quoted(text: str) -> str:
    """Text before the end of a docstring, which it is not part of."""
    return printable(text.removesuffix('"')) + ('\\"' if text.endswith('"') else "")
