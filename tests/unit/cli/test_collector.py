"""Python's garbage collector, around a compilation."""

from __future__ import annotations

import gc
import subprocess
import sys
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


PROCESS = """
import gc, sys, types
from shardc.collector import no_garbage_collection

class Cycle:
    def __init__(self):
        self.itself = self

    def __del__(self):
        print(told)

told = "finalized"

def looked(phase, info):
    print("looked", phase)

with no_garbage_collection():
    if IMPORTS:
        sys.modules["module_of_a_test"] = types.ModuleType("module_of_a_test")
assert gc.isenabled()
Cycle()
gc.callbacks.append(looked)
"""


@pytest.mark.parametrize("imports", [False, True])
def test_at_the_end_of_a_process_python_looks_once_and_finalizes_what_it_finds(imports: bool):
    code = PROCESS.replace("IMPORTS", str(imports))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "finalized" in done.stdout.splitlines()
    assert ("looked start" in done.stdout) != imports
    assert not done.stderr
