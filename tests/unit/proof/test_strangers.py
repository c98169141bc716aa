"""Per-device code that is wrong in one place, against the plain function beside it: each fault is found.

In `strangers/NAME.shard` stand a function, `plain`, the same for devices, `main`, and below them what is put
in the place of which text of `main`: `# right:` where it is right all the same, else the fault's name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.interpret.arguments import arguments
from shardc.interpret.compare import compare
from shardc.interpret.reference import GraphReference
from shardc.passes.pipeline import run_to
from shardc.proof.prove import Verdict, prove

FILES = sorted((Path(__file__).parent / "strangers").glob("*.shard"))


QUICK = 3
"""So many faults of each program are tried by `make test`."""


def _variants() -> Iterator[tuple[str, str, str]]:
    """The program's name, what is done to it (right: nothing that matters), and its text."""
    for path in FILES:
        text, *changes = path.read_text().split("\n# ")
        plain, mark, code = text.partition("@shard_map")
        yield path.stem, "right", text
        for change in changes:
            what, _, pair = change.partition(": ")
            old, new = json.loads(pair)
            assert old in code, (path.stem, what)
            yield path.stem, what, plain + mark + code.replace(old, new) + "\n"


VARIANTS = list(_variants())
RIGHT = [(name, text) for name, what, text in VARIANTS if what == "right"]
WRONG = {(name, what): text for name, what, text in VARIANTS if what != "right"}


def _faults() -> Iterator[Any]:
    seen = Counter[str]()
    for name, what in WRONG:
        seen[name] += 1
        marks = pytest.mark.slow if seen[name] > QUICK else ()
        yield pytest.param((name, what), marks=marks, id=f"{name}: {what}")


def _graphs(text: str) -> tuple[Graph, Graph]:
    plain, devices = (read(text, "test.shard", {}, entry) for entry in ("plain", "main"))
    run_to(make_context(), devices, "local")
    return snapshot(plain).graph, snapshot(devices).graph


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", [text for _, text in RIGHT], ids=[name for name, _ in RIGHT])
def test_right_programs_are_proved_and_run_equal(text: str) -> None:
    whole, local = _graphs(text)
    assert prove(whole, local).verdict is Verdict.PROVED
    for result in compare(GraphReference(whole), local, arguments(whole, None)):
        assert result.same, str(result)


@pytest.mark.parametrize("fault", list(_faults()))
def test_wrong_programs_differ(fault: tuple[str, str]) -> None:
    proof = prove(*_graphs(WRONG[fault]))
    assert proof.verdict is Verdict.DIFFERS, proof.reason
    assert proof.difference is not None and proof.difference.wanted != proof.difference.have


def test_there_are_many() -> None:
    assert len(WRONG) > 150 and len(RIGHT) > 40
