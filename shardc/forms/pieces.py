"""Who needs which elements of whose block: the arithmetic behind forms that move borders.

A dimension of blocks is made out of dimensions of blocks. *Runs* say which elements come from where; a
*window* says which stretch of the made dimension each device needs, overlapping its neighbours' or not. Out
of the two come *pieces*, one per sender and receiver, and *rounds* of pieces: in a round every device sends
at most one piece and receives at most one, so a round is one collective permute, or none if all stay at home.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace


class ElementRun(Struct, frozen=True):
    """Made elements place, place + gap, … are elements first, first + step, … of a source, `count` in all."""

    source: int
    first: int
    place: int
    count: int
    step: int = 1
    gap: int = 1


class Window(Struct, frozen=True):
    """Device r needs the made elements from base + r * pitch on, `width` of them; those from `end` on may be
    anything."""

    base: int
    pitch: int
    width: int
    end: int

    def start(self, device: int) -> int:
        """The first element that a device needs."""
        return self.base + device * self.pitch


class Piece(Struct, frozen=True):
    """`count` elements, every `step`-th of the sender's block from `start` on, to every `gap`-th place of the
    receiver's window from `at` on."""

    source: int
    sender: int
    receiver: int
    start: int
    at: int
    count: int
    step: int
    gap: int

    @property
    def stop(self) -> int:
        """The place behind the last one."""
        return self.at + (self.count - 1) * self.gap + 1


class Round:
    """Pieces of one stride, of which every device sends at most one and receives at most one."""

    def __init__(self, first: Piece) -> None:
        self.stride, self.counts = (first.step, first.gap), set[int]()
        self._senders, self._receivers = dict[int, Piece](), dict[int, Piece]()
        self.append(first)

    def __iter__(self) -> Iterator[Piece]:
        return iter(self._senders.values())

    def __len__(self) -> int:
        return len(self._senders)

    # What follows is asked for once no piece comes or goes any more.

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Who sends to whom, in order."""
        return tuple(sorted((piece.sender, piece.receiver) for piece in self))

    @cached_property
    def sources(self) -> list[int]:
        """Of which sources something is sent, ascending."""
        return sorted({piece.source for piece in self})

    @cached_property
    def place(self) -> int | None:
        """Where the pieces come to lie, if that is one place in the windows of all."""
        places = {piece.at for piece in self}
        return places.pop() if len(places) == 1 else None

    @property
    def first(self) -> Piece:
        """The piece that has been there for longest."""
        return next(iter(self))

    @property
    def longest(self) -> int:
        """How many elements the longest piece has."""
        return max(self.counts)

    def alike(self, piece: Piece) -> bool:
        """Whether a piece has the round's stride."""
        return self.stride == (piece.step, piece.gap)

    def fits(self, piece: Piece) -> bool:
        """Whether a piece's sender and receiver are free, and it has the round's stride."""
        return self.from_(piece.sender) is None and self.to(piece.receiver) is None and self.alike(piece)

    def from_(self, sender: int) -> Piece | None:
        """What a device sends."""
        return self._senders.get(sender)

    def to(self, receiver: int) -> Piece | None:
        """What a device receives."""
        return self._receivers.get(receiver)

    def append(self, piece: Piece) -> None:
        """Take one more, which fits."""
        self.counts.add(piece.count)
        self._senders[piece.sender] = self._receivers[piece.receiver] = piece

    def remove(self, piece: Piece) -> None:
        """Give one away, for which another of as many elements comes."""
        del self._senders[piece.sender], self._receivers[piece.receiver]


Held = Literal["in order", "mirrored", "whole"]
"""Which device holds a block: each its own, the last the first, or each of them all."""

REMEMBERED = 32  # exchanges: many operations of a program ask for the same


class Exchange(NamedTuple):
    """The rounds that cross between devices, those that stay at home, and the sources in them, ascending."""

    crossing: Sequence[Round]
    home: Sequence[Round]
    used: Sequence[int]


@lru_cache(maxsize=REMEMBERED)
def exchanged(
    runs: tuple[ElementRun, ...], window: Window, blocks: tuple[int, ...], devices: int, held: Held
) -> Exchange:
    """What `devices` devices send each other, so that each has its window; a device's block of source i has
    blocks[i] elements."""
    found = pieces(runs, window, blocks, devices)
    used = sorted({piece.source for piece in found})
    if held == "mirrored":
        found = [replace(piece, sender=devices - 1 - piece.sender) for piece in found]
    elif held == "whole":
        found = [replace(piece, sender=piece.receiver) for piece in found]
    return Exchange(*rounds(found, devices), used)


def pieces(runs: Sequence[ElementRun], window: Window, blocks: Sequence[int], devices: int) -> list[Piece]:
    """All pieces that `devices` devices need; a device's block of source i has blocks[i] elements."""
    met: list[list[ElementRun]] = [[] for _ in range(devices)]
    for run in runs:
        for receiver in _receivers(run, window, devices):
            met[receiver].append(run)
    return [
        piece
        for receiver, several in enumerate(met)
        for run in several
        for piece in _of_run(run, window, blocks[run.source], receiver)
    ]


def _receivers(run: ElementRun, window: Window, devices: int) -> range:
    """The devices whose windows a run may meet."""
    if window.pitch <= 0:
        return range(devices)
    before, last = run.place - window.base - window.width, run.place + (run.count - 1) * run.gap
    stop = (last - window.base) // window.pitch + 1
    return range(max(0, before // window.pitch + 1), min(devices, stop))


def _of_run(run: ElementRun, window: Window, block: int, receiver: int) -> Iterator[Piece]:
    start = window.start(receiver)
    begin = max(0, -((run.place - start) // run.gap))
    end = min(run.count, -((run.place - min(start + window.width, window.end)) // run.gap))
    while begin < end:
        element = run.first + begin * run.step
        sender = element // block
        count = min(end - begin, -((element - (sender + 1) * block) // run.step))
        at = run.place + begin * run.gap - start
        yield Piece(run.source, sender, receiver, element - sender * block, at, count, run.step, run.gap)
        begin += count


def rounds(found: Iterable[Piece], devices: int) -> tuple[list[Round], list[Round]]:
    """The pieces in rounds: those that cross between devices, and those that stay at home.

    Long pieces go first, those over the same distance together. A piece that stays at home joins a crossing
    round if it is no longer than that round's longest.
    """
    order = sorted(
        found,
        key=lambda p: (-p.count, p.step, p.gap, (p.sender - p.receiver) % devices, p.source, p.receiver),
    )
    crossing: list[Round] = []
    for piece in order:
        if piece.sender != piece.receiver:
            _place(crossing, piece)
    home: list[Round] = []
    for piece in sorted(order, key=lambda p: (p.source, p.at, p.receiver)):
        if piece.sender == piece.receiver and not _joins(crossing, piece):
            _at_home(home, piece)
    return crossing, home


def sent(crossing: Iterable[Round]) -> int:
    """Elements that a device sends: in each round as many as the longest piece has."""
    return sum(round.longest for round in crossing)


def _place(found: list[Round], piece: Piece) -> None:
    """Into the first round where sender and receiver are free, if need be after exchanging pieces between
    two rounds, else into a new one."""
    for round in found:
        if round.fits(piece):
            round.append(piece)
            return
    for one in found:
        for other in found:
            if _after_exchange(one, other, piece):
                one.append(piece)
                return
    found.append(Round(piece))


def _after_exchange(one: Round, other: Round, piece: Piece) -> bool:
    """Make room for a piece in `one`, where its sender is busy, by exchanging a chain of pieces of the same
    length with `other`, where its sender is free."""
    if other.from_(piece.sender) is not None or one.to(piece.receiver) is not None:
        return False
    if one.counts | other.counts != {piece.count} or not (one.alike(piece) and other.alike(piece)):
        return False
    moved: list[Piece] = []
    rounds, end = (one, other), one.from_(piece.sender)
    while end is not None:
        moved.append(end)
        rounds = rounds[::-1]
        end = rounds[0].to(end.receiver) if len(moved) % 2 else rounds[0].from_(end.sender)
    for index, p in enumerate(moved):
        (one, other)[index % 2].remove(p)
    for index, p in enumerate(moved):
        (other, one)[index % 2].append(p)
    return True


def _joins(crossing: list[Round], piece: Piece) -> bool:
    for round in crossing:
        if piece.count <= round.longest and round.fits(piece):
            round.append(piece)
            return True
    return False


def _at_home(home: list[Round], piece: Piece) -> None:
    for round in home:
        if round.first.source == piece.source and round.fits(piece):
            round.append(piece)
            return
    home.append(Round(piece))
