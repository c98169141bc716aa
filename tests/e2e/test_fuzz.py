"""Mutants of every input end in a result or in an error, in 10 seconds and 1 GiB (bench/fuzz)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import sleep

import pytest

from bench.fuzz.__main__ import part_of
from bench.fuzz.entries import SHARES, Main, Trial, sound, trial
from bench.fuzz.trial import attempt, warm


def failures(found: Counter[str], folder: Path) -> str:
    """What failed, with the first mutant of each kind."""
    kinds = [key for key in found if " failed" in key]
    return "\n".join(
        [*kinds, *(path.read_text(errors="replace") for path in (folder / "failures").iterdir())]
    )


@pytest.fixture(scope="module", autouse=True)
def ready(tmp_path_factory: pytest.TempPathFactory) -> None:
    here = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("warm"))
    warm()
    os.chdir(here)


def test_sound_inputs_are_done() -> None:
    assert {attempt(made).kind for made in sound()} <= {"done", "refused"}


def test_a_seed_says_what_is_tried() -> None:
    assert trial(7) == trial(7)
    assert {trial(seed)[0] for seed in range(200)} == set(SHARES)


def test_some_mutants(tmp_path: Path) -> None:
    (tmp_path / "failures").mkdir()
    assert not failures(part_of((0, 60), tmp_path), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 10_000, 500))
def test_ten_thousand_mutants(start: int, tmp_path: Path) -> None:
    (tmp_path / "failures").mkdir()
    assert not failures(part_of((start, start + 500), tmp_path), tmp_path)


def _endless(words: Sequence[str]) -> int:
    while True:
        len(words)


def _asleep(words: Sequence[str]) -> int:
    sleep(1000)
    return 0


@pytest.mark.parametrize("main", [_endless, _asleep])
def test_a_hang_says_where(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    """The innermost line of shardc or its tests when the time is over."""
    monkeypatch.setattr("bench.fuzz.trial.SECONDS", 1)
    monkeypatch.setattr("bench.fuzz.trial.ASLEEP", 2)
    outcome = attempt(Trial(".txt", b"", main, ()))
    assert (outcome.kind, outcome.where) == ("hang", f"tests/e2e/test_fuzz.py:{main.__name__}")
