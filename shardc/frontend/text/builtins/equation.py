"""The equation of einsum: "bsd,df->bsf" -> the names of each operand's dimensions, and of the result's.

Names are letters. The dimensions that `...` stands for get digits, the last one 0, so they align at the end.
"""

from __future__ import annotations

from shardc.frontend.text.emitter import Emitter


def parse_equation(e: Emitter, equation: str, ranks: list[int]) -> tuple[list[str], str]:
    """The names of the operands' dimensions and of the result's. Raises ShardcError if they don't fit."""
    left, arrow, output = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise e.error(f'"{equation}" is for {len(inputs)} operands, and there are {len(ranks)}')
    for names in (*inputs, output):
        _check_letters(e, equation, names)
    inputs = [_without_dots(e, names, rank) for names, rank in zip(inputs, ranks, strict=True)]
    dots = max((name for names in inputs for name in names if name.isdigit()), default=None)
    leading = "" if dots is None else _digits(int(dots) + 1)
    if arrow:
        if leading and "..." not in output:
            raise e.error(f'the result of "{equation}" lacks the ... of its operands')
        output = output.replace("...", leading, 1)
    else:
        every = "".join(inputs)
        output = leading + "".join(sorted(n for n in set(every) if every.count(n) == 1 and n.isalpha()))
    for name in output:
        if not any(name in names for names in inputs):
            raise e.error(f'"{name}" of the result of "{equation}" is in no operand')
    return inputs, output


def label(name: str) -> str:
    """A dimension's name as the user wrote it."""
    return "..." if name.isdigit() else name


def _check_letters(e: Emitter, equation: str, names: str) -> None:
    letters = names.replace("...", "", 1)
    for name in letters:
        if not (name.isascii() and name.isalpha()):
            raise e.error(f'"{name}" in "{equation}" is no letter')
        if letters.count(name) > 1:
            raise e.error(f'"{name}" stands twice in one part of "{equation}"', "einsum takes no diagonals")


def _without_dots(e: Emitter, names: str, rank: int) -> str:
    """The names of one operand, with digits for `...`."""
    if "..." not in names:
        if len(names) != rank:
            raise e.error(f'"{names}" names {len(names)} dimensions, and the operand has {rank}')
        return names
    count = rank - (len(names) - 3)
    if not 0 <= count <= 10:
        raise e.error(f'"{names}" does not fit an operand of rank {rank}')
    return names.replace("...", _digits(count))


def _digits(count: int) -> str:
    return "9876543210"[10 - count :]
