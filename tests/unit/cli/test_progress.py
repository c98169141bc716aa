"""The line that says how far a command is: on a terminal, after a while, and gone at the end."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from shardc.backend.numpy import peak
from shardc.cli.progress import Progress
from shardc.frontend.read import read
from shardc.options import Options
from shardc.report.program import cost_module

EXAMPLE = Path(__file__).parents[3] / "examples/megatron_mlp/megatron_mlp.shard"


class Stream(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def written(seconds: list[float], terminal: bool = True) -> str:
    """What a command writes that starts at the first of these times and tells something at the others."""
    stream, clock = Stream(terminal), iter(seconds)
    with Progress(stream, lambda: next(clock)) as progress:
        for number in range(1, len(seconds)):
            progress.tell(f"part {number}")
    return stream.getvalue()


def test_a_quick_command_says_nothing() -> None:
    assert written([10.0, 10.1, 11.9]) == ""


def test_a_slow_one_says_the_last_and_clears_the_line() -> None:
    assert written([10.0, 11.0, 12.0, 15.0]) == "\r\x1b[Kpart 2\r\x1b[Kpart 3\r\x1b[K"


def test_a_file_gets_nothing() -> None:
    assert written([10.0, 13.0], terminal=False) == ""


def _fails(progress: Progress) -> None:
    with progress:
        progress.tell("half")
        raise ValueError


def test_the_line_is_gone_after_an_error() -> None:
    stream, clock = Stream(True), iter([0.0, 3.0])
    with pytest.raises(ValueError):
        _fails(Progress(stream, lambda: next(clock)))
    assert stream.getvalue() == "\r\x1b[Khalf\r\x1b[K"


def test_cost_tells_of_every_trial() -> None:
    told: list[str] = []
    module = read(EXAMPLE.read_text("utf-8"), Options(file="p.shard"))
    cost_module(module, peak, tries=2, tell=told.append)
    assert told == [f"trying changes of annotations: {number}, at most 2" for number in (1, 2)]
