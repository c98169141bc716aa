"""Tests that compare with the JAX that the development extra pins.

Other versions lower the same program otherwise; docs/shardy.md says how their Shardys differ.
"""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest


def _pinned() -> str:
    project = Path(__file__).parents[1] / "pyproject.toml"
    extras = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    requirements: list[str] = extras["dev"]
    return next(text.removeprefix("jax==") for text in requirements if text.startswith("jax=="))


def _other() -> str:
    """Why this JAX is not compared with; empty if it is."""
    try:
        found = version("jax")
    except PackageNotFoundError:
        return "JAX is not installed"
    return "" if found == _pinned() else f"compared with jax {_pinned()}, this is {found}"


with_pinned_jax = pytest.mark.skipif(bool(_other()), reason=_other())
"""The mark of such a test."""
