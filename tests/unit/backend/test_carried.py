"""Texts that emitted programs carry are read and parsed where a program needs them."""

from __future__ import annotations

import ast

import pytest

from shardc.backend.jax import draws
from shardc.backend.python.carried import called

TEXT = (
    "def first(x):\n    return second(x)\n\n\ndef other():\n    return 0\n\n\ndef second(x):\n    return x\n"
)


def test_a_function_brings_those_that_it_calls() -> None:
    assert called(TEXT, "y = first(x)") == [
        "def first(x):\n    return second(x)\n",
        "def second(x):\n    return x\n",
    ]


def test_a_text_is_not_parsed_for_a_program_that_calls_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ast, "parse", None)
    assert called(TEXT, "y = third(x)") == []


def test_what_draws_blocks_is_read_for_a_program_that_may_call_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert draws.functions("x = jax.random.bits(key, (4,))\n") == []
    assert [text.partition("(")[0] for text in draws.functions("x = own_bits(key, (4,), split)\n")][:1] == [
        "def own_bits"
    ]
    monkeypatch.setattr(draws, "below_mark", lambda *_: pytest.fail("read"))
    assert draws.functions("x = jax.random.bits(key, (4,))\n") == []
