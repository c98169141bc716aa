"""Plans are looked for anew in each test: what a search does is changed in some."""

from __future__ import annotations

import pytest

from shardc.planning.program.remembered import known


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_RECENT", {})
