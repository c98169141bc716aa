"""Python's garbage collector, around a compilation."""

from __future__ import annotations

import gc
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
