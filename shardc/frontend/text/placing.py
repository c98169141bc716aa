"""Where what is built belongs: the place in the source, the composite it is a part of, the error there."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager

from shardc.diagnostics import Location, ShardcError
from shardc.frontend.text.builder import SourceBuilder
from shardc.frontend.text.places import Pos

MAX_CALLS = 50
"""How many calls of functions that values are may be one in the other."""


class Placing:
    """A builder at a place of the source."""

    def __init__(self, builder: SourceBuilder, file: str) -> None:
        self.builder = builder
        self.file = file
        self.loc: Location = Location(file)
        self._in_group = False
        self._calls = 0

    @contextmanager
    def at(self, pos: Pos) -> Generator[None]:
        """Operations and errors inside belong to this place."""
        previous = self.loc
        self.loc = self.place(pos)
        with self.builder.at(self.loc):
            try:
                yield
            finally:
                self.loc = previous

    @contextmanager
    def calling(self, name: str, pos: Pos) -> Generator[None]:
        """What is built inside is what a function at this place computes, which a value may be. ShardcError
        where that calls functions without an end.
        """
        if self._calls == MAX_CALLS:
            hint = (
                "a function that is given itself and calls it has no end, "
                "unless numbers known while compiling end it"
            )
            raise self.error(f"{name}: calls are nested more than {MAX_CALLS} deep", hint, pos)
        self._calls += 1
        try:
            with self.at(pos):
                yield
        finally:
            self._calls -= 1

    def error(self, message: str, hint: str | None = None, pos: Pos | None = None) -> ShardcError:
        """An error at the current place, or at `pos`."""
        return ShardcError(message, self.loc if pos is None else self.place(pos), hint)

    def place(self, pos: Pos, name: str | None = None) -> Location:
        """A place of the program or of a file that it imports, and what is called `name` there."""
        return Location(pos.file or self.file, pos.line, pos.col, name)

    @contextmanager
    def apart(self) -> Generator[None]:
        """What is built inside is no part of what is being built: a function of its own."""
        old, self._in_group = self._in_group, False
        try:
            with self.builder.apart():
                yield
        finally:
            self._in_group = old

    @contextmanager
    def drafting(self) -> Generator[None]:
        """What is built inside is for a gradient: groups are its own."""
        old, self._in_group = self._in_group, False
        try:
            with self.builder.ungrouped(), self.builder.counted():
                yield
        finally:
            self._in_group = old

    @contextmanager
    def group(self, name: str) -> Generator[None]:
        """Mark what is emitted inside as one composite, unless it is already part of one."""
        if self._in_group:
            yield
            return
        self._in_group = True
        self.builder.groups += 1
        try:
            with self.builder.group(f"{name}#{self.builder.groups}"):
                yield
        finally:
            self._in_group = False

    def tagged(self, tags: Mapping[str, object]) -> AbstractContextManager[None]:
        """What is emitted inside has these attributes besides its own."""
        return self.builder.tagged(tags)
