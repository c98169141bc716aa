"""Who needs which elements of whose block: the arithmetic behind forms that move borders.

A dimension of blocks is made out of dimensions of blocks. *Runs* say which elements come from where; a
*window* says which stretch of the made dimension each device needs, overlapping its neighbours' or not. Out
of the two come *pieces*, one per sender and receiver, and *rounds* of pieces: in a round every device sends
at most one piece and receives at most one, so a round is one collective permute, or none if all stay at home.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct


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


Round = list[Piece]


def pieces(runs: Sequence[ElementRun], window: Window, blocks: Sequence[int], devices: int) -> list[Piece]:
    """All pieces that `devices` devices need; a device's block of source i has blocks[i] elements."""
    return [
        piece
        for receiver in range(devices)
        for run in runs
        for piece in _of_run(run, window, blocks[run.source], receiver)
    ]


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
    return sum(max(piece.count for piece in round) for round in crossing)


def _place(found: list[Round], piece: Piece) -> None:
    """Into the first round where sender and receiver are free, if need be after exchanging pieces between
    two rounds, else into a new one."""
    for round in found:
        if _fits(round, piece):
            round.append(piece)
            return
    for one in found:
        for other in found:
            if _after_exchange(one, other, piece):
                one.append(piece)
                return
    found.append([piece])


def _fits(round: Round, piece: Piece) -> bool:
    same = (round[0].step, round[0].gap) == (piece.step, piece.gap)
    return same and all(p.sender != piece.sender and p.receiver != piece.receiver for p in round)


def _after_exchange(one: Round, other: Round, piece: Piece) -> bool:
    """Make room for a piece in `one`, where its sender is busy, by exchanging a chain of pieces of the same
    length with `other`, where its sender is free."""
    if any(p.sender == piece.sender for p in other) or any(p.receiver == piece.receiver for p in one):
        return False
    if len({(p.count, p.step, p.gap) for p in (*one, *other, piece)}) > 1:
        return False
    moved: list[Piece] = []
    rounds, sender, receiver = (one, other), piece.sender, -1
    while True:
        end = next((p for p in rounds[0] if p.sender == sender or p.receiver == receiver), None)
        if end is None:
            break
        moved.append(end)
        sender, receiver = (-1, end.receiver) if sender == end.sender else (end.sender, -1)
        rounds = rounds[::-1]
    for index, p in enumerate(moved):
        source, target = (one, other) if index % 2 == 0 else (other, one)
        source.remove(p)
        target.append(p)
    return True


def _joins(crossing: list[Round], piece: Piece) -> bool:
    for round in crossing:
        if piece.count <= max(p.count for p in round) and _fits(round, piece):
            round.append(piece)
            return True
    return False


def _at_home(home: list[Round], piece: Piece) -> None:
    for round in home:
        if round[0].source == piece.source and _fits(round, piece):
            round.append(piece)
            return
    home.append([piece])
