"""`shardc lsp` without pygls."""

from __future__ import annotations

import importlib.util

import pytest

from shardc.cli import lsp
from shardc.cli.shardc import main


def test_without_pygls(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(lsp, "find_spec", lambda name: None if name == "pygls" else found(name))
    assert main(["lsp"]) == 1
    assert capsys.readouterr().err == (
        "shardc lsp: error: pygls is not installed\n    note: pip install 'shardc[lsp]'\n"
    )
