"""A certificate with one byte altered, or of programs with one byte altered, is refused."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest

from shardc.diagnostics import ShardcError
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.text import read
from shardc.passes.pipeline import run_to
from shardc.proof.certificate import LOCAL, certificate
from shardc.proof.check import Refused, check
from shardc.proof.prove import prove

PROGRAM = """mesh m[x=2]
def main(a: f32[4@x, 4], b: f32[4, 4@x]) -> f32[4]:
    for i in range(2) carrying a:
        a = tanh(a @ b)
    return max(a, 1)
"""


@cache
def texts() -> list[str]:
    """Both programs, and the certificate."""
    module = read(PROGRAM, "test.shard", {}, None)
    first, whole = print_module(module), snapshot(module.clone()).graph
    run_to(make_context(), module, "local")
    second = print_module(module)
    return [first, second, certificate((prove(whole, snapshot(module).graph), (first, second), LOCAL))]


def altered(text: str, random: Random) -> str:
    """Another byte for one, one less or one more."""
    place, byte = random.randrange(len(text)), chr(random.randrange(32, 127))
    kind = random.randrange(3)
    return text[:place] + (byte if kind else "") + text[place + (kind < 2) :]


@pytest.mark.parametrize(
    ("which", "count"), [(2, 40), (0, 15), (1, 15), pytest.param(2, 600, marks=pytest.mark.slow)]
)
def test_one_byte(which: int, count: int) -> None:
    random = Random(count)
    check(*texts())
    for _ in range(count):
        given = [*texts()]
        given[which] = altered(given[which], random)
        if given[which] != texts()[which]:
            with pytest.raises((Refused, ShardcError)):
                check(*given)
