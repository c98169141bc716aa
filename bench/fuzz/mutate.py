"""Mutants of a text: other bytes, tokens and lines, and tokens exchanged for others of their kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

_TOKEN = re.compile(
    r'"[^"\n]*"|[@%#!^]?[A-Za-z_][\w.$-]*|\d+\.\d+(?:[eE][+-]?\d+)?|\d+|->|::|[ \t]+|\n|.', re.DOTALL
)

_KINDS: tuple[re.Pattern[str], ...] = tuple(
    map(
        re.compile,
        (
            r"(?:stablehlo|chlo|sdy|spmd|func)\.[a-z_]+",
            r"tensor|[fiu]\d+|bf16|complex|bool",
            r"@.*",
            r"%.*",
            r"[#!^].*",
            r'".*"',
            r"\d.*",
            r"[A-Za-z_].*",
            r"[()\[\]{}<>]",
            r"\S",
        ),
    )
)
"""Kinds of tokens: one is exchanged for another of the first kind that it is."""

ODD = (
    *'0 -1 8_ 00 2147483648 9223372036854775808 1e999 nan 0x 1. " "\\ \' "" ? * @ % # ! ^bb0 ->'.split(),
    *"// /* \\ { } < > , : = - _ loc( dense< i99999 ä \ufeff".split(),
    *("\0", "\x1b", "\r", "\t", "\n\n", "9" * 30, "(" * 60, "[" * 60),
)
"""Words that readers tend to forget."""

Strategy = Callable[[Random, str, Sequence[str]], str]


def mutant(random: Random, text: str, others: Sequence[str]) -> bytes:
    """The text after one to four changes; `others` are texts of the same kind to borrow from."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        text = random.choice(STRATEGIES)(random, text, others)
    data = text.encode("utf-8", "surrogatepass")
    return _damaged(random, data) if random.random() < 0.1 else data


def mutant_of_bytes(random: Random, data: bytes) -> bytes:
    """The data after one to four changes of bytes."""
    for _ in range(random.choice((1, 1, 2, 4))):
        data = _damaged(random, data)
    return data


def _damaged(random: Random, data: bytes) -> bytes:
    start = random.randrange(len(data) + 1)
    end = min(len(data), start + random.choice((0, 1, 1, 2, 8, 64)))
    new = random.choice((b"", random.randbytes(1), random.randbytes(4), data[start:end] * 2))
    return data[:start] + new + data[end:]


def _characters(random: Random, text: str, others: Sequence[str]) -> str:
    start = random.randrange(len(text) + 1)
    end = start + random.choice((0, 1, 1, 3))
    new = random.choice(("", random.choice(text or " "), chr(random.randrange(1, 256)), random.choice(ODD)))
    return text[:start] + new + text[end:]


def _tokens(random: Random, text: str, others: Sequence[str]) -> str:
    tokens = _TOKEN.findall(text) or [""]
    place, other = random.randrange(len(tokens)), random.randrange(len(tokens))
    match random.randrange(4):
        case 0:
            del tokens[place]
        case 1:
            tokens[place], tokens[other] = tokens[other], tokens[place]
        case 2:
            tokens.insert(place, tokens[other])
        case _:
            tokens[place] = random.choice(ODD)
    return "".join(tokens)


def _lines(random: Random, text: str, others: Sequence[str]) -> str:
    lines = text.split("\n")
    place, other = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(5):
        case 0:
            del lines[place]
        case 1:
            lines[place], lines[other] = lines[other], lines[place]
        case 2:
            lines.insert(place, lines[other])
        case 3:
            lines.insert(place, random.choice(random.choice(others).split("\n")))
        case _:
            lines = lines[:place]
    return "\n".join(lines)


def _of_a_kind(random: Random, text: str, others: Sequence[str]) -> str:
    """One token for another of its kind, of this text or of another."""
    tokens = _TOKEN.findall(text)
    places = [place for place, token in enumerate(tokens) if token.strip()]
    if not places:
        return text
    place = random.choice(places)
    kind = next(kind for kind in _KINDS if kind.fullmatch(tokens[place]) or kind is _KINDS[-1])
    source = tokens if random.random() < 0.6 else _TOKEN.findall(random.choice(others))
    same = [token for token in source if kind.fullmatch(token)] or [tokens[place]]
    tokens[place] = random.choice(same)
    return "".join(tokens)


def _numbers(random: Random, text: str, others: Sequence[str]) -> str:
    """One number for one near it, or for one that is far off."""
    found = list(re.finditer(r"\d+", text))
    if not found:
        return text
    match = random.choice(found)
    value = int(match[0][:18])
    new = random.choice((value + 1, max(value - 1, 0), value * 2, value * 1000, 0, 1, 3, 2**31, 2**63))
    return text[: match.start()] + str(new) + text[match.end() :]


STRATEGIES: tuple[Strategy, ...] = (_characters, _tokens, _lines, _of_a_kind, _of_a_kind, _numbers)
