"""Python's garbage collector, around a compilation."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from shardc.collector import no_garbage_collection


@pytest.mark.parametrize("kept", [False, True])
def test_what_is_kept_is_not_looked_at_again(kept: bool):
    before = gc.get_freeze_count()
    try:
        with no_garbage_collection(kept):
            assert not gc.isenabled()
            made = [[number] for number in range(1000)]
        assert gc.isenabled()
        assert (gc.get_freeze_count() >= before + len(made)) == kept
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("imports", [False, True])
def test_what_is_there_is_among_what_is_old_where_modules_were_imported(
    imports: bool, monkeypatch: pytest.MonkeyPatch
):
    gc.unfreeze()  # what tests before left
    with no_garbage_collection():
        if imports:
            monkeypatch.setitem(sys.modules, "module_of_a_test", ModuleType("module_of_a_test"))
        made = [object()]
    assert any(each is made for each in gc.get_objects(generation=2)) == imports
    assert gc.isenabled() and not gc.get_freeze_count()


def test_what_another_froze_stays_frozen(monkeypatch: pytest.MonkeyPatch):
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with no_garbage_collection():
            monkeypatch.setitem(sys.modules, "module_of_a_test", ModuleType("module_of_a_test"))
        assert 0 < gc.get_freeze_count() <= frozen
    finally:
        gc.unfreeze()


ENDING = """
import atexit, gc, sys, types
frozen = gc.get_freeze_count()
atexit.register(lambda: print("left" if gc.get_freeze_count() > frozen else "looked at"))
from shardc.collector import no_garbage_collection

class Cycle:
    def __init__(self, held):
        self.itself, self.held = self, held

def numbers():
    try:
        yield 1
    finally:
        print("finished")

def begun():
    found = numbers()
    next(found)
    return found

class Finalized:
    def __del__(self):
        print(told)

told = "finalized"

def written():
    file = open(sys.argv[1], "w")
    file.write("all of it")
    return file

with no_garbage_collection():
    sys.modules["module_of_a_test"] = types.ModuleType("module_of_a_test")
cycle = Cycle(HELD)
"""


@pytest.mark.parametrize(
    ("held", "said", "text"),
    [
        ("[]", ["left"], ""),
        ("numbers()", ["left"], ""),
        ("begun()", ["looked at", "finished"], ""),
        ("Finalized()", ["looked at", "finalized"], ""),
        ("written()", ["looked at"], "all of it"),
    ],
)
def test_at_the_end_of_a_process_cycles_are_left_where_nothing_is_to_be_finished(
    held: str, said: list[str], text: str, tmp_path: Path
):
    file = tmp_path / "written"
    file.touch()
    command = [sys.executable, "-c", ENDING.replace("HELD", held), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == said
    assert file.read_text() == text
    assert not done.stderr
