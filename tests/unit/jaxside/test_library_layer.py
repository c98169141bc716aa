"""docs/library-layer.md: the second listing is what the first compiles to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.pinned import with_pinned_jax

PAGE = Path(__file__).parents[3] / "docs" / "library-layer.md"


@with_pinned_jax
def test_the_listing_is_what_is_emitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    jax = pytest.importorskip("jax")
    if len(jax.devices()) < 8:
        pytest.skip("needs 8 devices")
    script, shown = re.findall(r"^```\w+\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    monkeypatch.setattr(jax.config, "update", lambda *_: None)
    names: dict[str, Any] = {}
    file = tmp_path / "layer.py"
    file.write_text(script, encoding="utf-8")
    exec(compile(script, str(file), "exec"), names)
    assert f"\n{shown}\n\n@jax.jit\n" in names["source"]
