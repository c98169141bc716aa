"""Python files whose functions JAX lowers, so that locations lead to lines that can be read."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The module whose text is the test module's PYTHON."""
    file = tmp_path / "model.py"
    file.write_text(request.module.PYTHON)
    spec = importlib.util.spec_from_file_location("model", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
