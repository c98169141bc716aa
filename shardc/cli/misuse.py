"""What every command says of words that it does not take: the nearest that it does, and exit code 2."""

from __future__ import annotations

import argparse
import math
import re
from typing import Any, NoReturn

from shardc.diagnostics import did_you_mean

_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)", re.DOTALL)

_UNKNOWN = re.compile(r"unrecognized arguments:.* (--?\w[\w-]*)")
"""The last option of those that are unknown."""

_SIZE = re.compile(r"([0-9]{1,18})(?:(\.[0-9]{1,18})? ?([KMGT]i?B))?")
"""A number of bytes: 4096, 16GiB, 1.5 GB."""

_PREFIXES = " KMGT"


class Parser(argparse.ArgumentParser):
    """Options that may not be abbreviated, and notes on those that are misspelt."""

    def __init__(self, allow_abbrev: bool = False, **named: Any) -> None:
        super().__init__(allow_abbrev=allow_abbrev, **named)

    def error(self, message: str, note: str | None = None) -> NoReturn:
        """Say how the command is used and what is wrong, and exit with 2."""
        if choice := _CHOICE.search(message):
            note = did_you_mean(choice[1], re.findall(r"[\w-]+", choice[2]))
        elif unknown := _UNKNOWN.search(message):
            note = did_you_mean(unknown[1], self._option_string_actions)
        super().error(f"{message}\n    note: {note}" if note else message)


def size_in_bytes(text: str) -> int:
    """A number of bytes, with or without a unit: 4096, 16GiB, 1.5GB."""
    size = _SIZE.fullmatch(text)
    if size is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of bytes such as 2000000000 or 16GiB")
    number, part, unit = size[1], size[2] or "", size[3] or ""
    base = 1024 if "i" in unit else 1000
    whole = base ** _PREFIXES.index(unit[0]) if unit else 1
    return int(number) * whole + (int(part[1:]) * whole // 10 ** (len(part) - 1) if part else 0)


def positive(text: str) -> int:
    """A whole number from 1."""
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1")
    return int(text)


def seconds(text: str) -> float:
    """A time, more than none."""
    try:
        time = float(text)
    except ValueError:
        time = math.nan
    if not 0 < time < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds")
    return time
