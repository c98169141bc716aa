"""docs/library-layer.md: the second listing is what the first compiles to."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pinned import with_pinned_jax

PAGE = Path(__file__).parents[3] / "docs" / "library-layer.md"


@with_pinned_jax
def test_the_listing_is_what_is_emitted(tmp_path: Path):
    jax = pytest.importorskip("jax")
    if len(jax.devices()) < 8:
        pytest.skip("needs 8 devices")
    script, shown = re.findall(r"^```\w+\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    file, emitted = tmp_path / "layer.py", tmp_path / "emitted.py"
    file.write_text(f"{script}\nopen({str(emitted)!r}, 'w').write(source)\n", encoding="utf-8")
    subprocess.run([sys.executable, str(file)], check=True)  # JAX's names depend on what it traced before
    assert f"\n{shown}\n\n@jax.jit\n" in emitted.read_text(encoding="utf-8")
