"""Python's garbage collector, around a compilation."""

from __future__ import annotations

import gc

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
