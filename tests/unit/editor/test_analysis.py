"""A text that several threads ask about."""

from __future__ import annotations

import time
from threading import Event, Thread

import pytest

from shardc.editor.analysis import Analysis

TEXT = "def main(x: f32[8]) -> f32[8]:\n    return x + 1.0\n"


def test_syntax_is_asked_for_while_the_front_end_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a completion is while errors are looked for: each has its answer."""
    reads, check = Event(), Analysis._checked

    def slowly(self: Analysis, entry: str | None) -> object:
        reads.set()
        time.sleep(0.2)  # in which the other thread asks for the syntax
        return check(self, entry)

    monkeypatch.setattr(Analysis, "_checked", slowly)
    analysis = Analysis(TEXT, "a.shard", 1, {})

    def ask() -> None:
        reads.wait()
        assert analysis.mended.program

    threads = [Thread(target=lambda: analysis.checked, daemon=True), Thread(target=ask, daemon=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert analysis.checked.errors == () and analysis.checked is analysis.checked
