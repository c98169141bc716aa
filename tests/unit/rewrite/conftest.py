"""The user's cache folder, empty, in which programs of any size are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardc import cache
from shardc.planning.program.remembered import known
from shardc.proof import VARIABLE
from shardc.rewrite import kept_program


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is. Nothing is proved unasked."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    monkeypatch.setattr(known, "_RECENT", {})
    monkeypatch.setattr(kept_program, "WORTH", 0)
    monkeypatch.delenv(VARIABLE, raising=False)
    return tmp_path
