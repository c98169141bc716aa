"""The cases agree with shardc, and the runner says so, or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shardc.layout import Mesh
from shardc.layout.notations import jax
from tests.conformance.__main__ import main
from tests.conformance.cases import KINDS, problems_of, read_cases
from tests.conformance.device_order import of_axes, of_picture, of_shards
from tests.conformance.notes import NOTES_AND_TESTS, where
from tests.conformance.process_local import ascending

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "conformance" / "seed_cases.json"
CASES = [case for file in sorted(HERE.glob("*.json")) for case in read_cases(file)]


def name_of(case: dict[str, Any]) -> str:
    return f"{case['kind']}: {case['case']}"[:80]


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_case(case: dict[str, Any]) -> None:
    assert problems_of(case) == []


def test_every_kind_has_a_case() -> None:
    assert {case["kind"] for case in CASES} == set(KINDS)


@pytest.mark.skipif(not SHARED.exists(), reason="the shared cases are not here")
def test_the_shared_cases(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(SHARED)]) == 0, capsys.readouterr().out


@pytest.mark.skipif(not SHARED.exists(), reason="the shared cases are not here")
def test_every_note_has_a_place() -> None:
    """Those of shard_map are held against test_shard_map.py."""
    noted = [case for case in json.loads(SHARED.read_text()) if case["kind"] == "note"]
    names = [case["case"] for case in noted if case["seed"] != "jax.shard_map"]
    assert len(names) > 40 and [name for name in names if where(name) is None] == []


def test_places_of_notes_are_there() -> None:
    root = HERE.parents[1]
    assert [path for path in set(NOTES_AND_TESTS.values()) if not (root / path).exists()] == []


def test_a_failure_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = {
        "kind": "oneflow.balanced_split",
        "case": "wrong",
        "input": {"size": 3, "parts": 2},
        "expected": {"ranges": [[0, 1], [1, 3]]},
    }
    file = tmp_path / "cases.json"
    file.write_text(json.dumps([case, {"kind": "note"}, {**case, "expected": {"ranges": [[0, 2], [2, 3]]}}]))
    assert main([str(file)]) == 1
    assert capsys.readouterr().out == (
        "FAILED 0 oneflow.balanced_split: wrong\n"
        "    ranges: expected [[0, 1], [1, 3]], got [[0, 2], [2, 3]]\n"
        "1 of 2\n"
    )


@pytest.mark.parametrize(
    ("expected", "given", "problem"),
    [
        ({"error": "something"}, {"size": 3, "parts": 2}, "expected error: something; got: None"),
        ("something", {"size": 3, "parts": 2}, "expected error: something; got: None"),
        ({"ranges": []}, {"size": 3, "parts": 0}, "expected error: None; got: a dimension cannot be split"),
        ({"rages": []}, {"size": 3, "parts": 1}, "rages: expected [], got null"),
        ({"ranges": []}, {"size": 3}, "KeyError: 'parts'"),
    ],
)
def test_problems(expected: object, given: dict[str, int], problem: str) -> None:
    case = {"kind": "oneflow.balanced_split", "case": "", "input": given, "expected": expected}
    (found,) = problems_of(case)
    assert found.startswith(problem)


def test_an_unknown_kind() -> None:
    assert problems_of({"kind": "what"}) == ["there is no kind what"]


@pytest.mark.parametrize("case", [c for c in CASES if c["expected"].get("shards_by_process")], ids=name_of)
def test_the_pictures_show_what_the_shards_say(case: dict[str, Any]) -> None:
    sharding = ascending(case["input"])
    assert of_picture(sharding, case) == of_shards(sharding, case)


def test_an_order_of_axes() -> None:
    sharding = jax.read("P('a', ('b', 'c'))", Mesh("mesh", (("a", 2), ("b", 2), ("c", 2)), None, 4), 2)
    for shares, order in [([2, 2], [0, 1, 2, 3, 4, 5, 6, 7]), ([1, 4], [0, 2, 4, 6, 1, 3, 5, 7])]:
        assert of_axes(sharding, {"expected": {"distinct_shards_per_dim": shares}}) == order
    assert of_axes(sharding, {"expected": {"distinct_shards_per_dim": [7, 7]}}) is None
