"""Families of cases: what runs at each commit and what in the sweep are all of them, once each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sampling import examples, first

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
FAMILIES = """
import pytest

def test_alone(): pass

@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(7))
def test_one(number): pass

@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(7))
def test_two(number): pass

@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.slow), 2])
def test_few(number): pass
"""
KINDS = """
import pytest
from tests.sampling import operation

@pytest.mark.sampled(2, each=operation)
@pytest.mark.parametrize("text", ["sin(x)", "sin(y)", "cos(x)", "sin(z)", "x + y"])
def test_each(text): pass
"""
CONFTEST = """
from tests.sampling import mark_the_rest
def pytest_addoption(parser): parser.addoption("--turn", type=int, default=0)
def pytest_collection_modifyitems(config, items): mark_the_rest(items, config.getoption("--turn"))
"""


@pytest.fixture
def names(pytester: pytest.Pytester):
    """What is collected with some words."""
    pytester.syspathinsert(ROOT)
    pytester.makeconftest(CONFTEST)
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nmarkers = ["slow", "sampled"]')

    def collect(*words: str) -> list[str]:
        done = pytester.runpytest_inprocess("-q", "--collect-only", "-p", "no:cacheprovider", *words)
        return re.findall(r"::(.+)", done.stdout.str())

    return collect


def test_functions_take_turns(pytester: pytest.Pytester, names) -> None:
    pytester.makepyfile(FAMILIES)
    quick, slow = names("-m", "not slow"), names("-m", "slow")
    assert quick == [
        "test_alone",
        *(f"test_one[{number}]" for number in (0, 3, 6)),
        *(f"test_two[{number}]" for number in (1, 4)),
        "test_few[0]",
    ]
    assert len(slow) == 11 and sorted(quick + slow) == sorted(names())


def test_the_next_turn_has_others(pytester: pytest.Pytester, names) -> None:
    pytester.makepyfile(FAMILIES)
    turns = [{*names("-m", "not slow", "--turn", str(turn))} for turn in range(3)]
    assert turns[0] & turns[1] == {"test_alone"}
    assert turns[0] | turns[1] | turns[2] == {*names()} - {"test_few[1]"}


def test_some_of_each_operation(pytester: pytest.Pytester, names) -> None:
    pytester.makepyfile(KINDS)
    found = [names("-m", "not slow", "--turn", str(turn)) for turn in range(2)]
    of_all = ["test_each[cos(x)]", "test_each[x + y]"]
    assert sorted(found[0]) == sorted(["test_each[sin(x)]", "test_each[sin(z)]", *of_all])
    assert sorted(found[1]) == sorted(["test_each[sin(y)]", *of_all])


def test_the_sweep_has_more_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHARDC_RANDOM", raising=False)
    assert [examples(count) for count in (1, 60, 100)] == [1, 20, 34]
    monkeypatch.setenv("SHARDC_RANDOM", "1")
    assert examples(100) == 100


def test_something_of_each_runs() -> None:
    for every in range(1, 6):
        for count in range(1, 9):
            begin = [first(place, turn, every, count) for place in range(7) for turn in range(7)]
            assert max(begin) < count
