"""JAX's caches go when the process that runs tests has grown much, and only then."""

from __future__ import annotations

import sys

import pytest

from tests import memory


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_is_compiled_goes_where_much_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    jax = pytest.importorskip("jax")
    assert memory.resident() > 1 << 20
    monkeypatch.setattr(memory, "_left", 0)
    traced = []

    @jax.jit
    def function(x):
        traced.append(x)
        return x + 1

    for limit in (1 << 60, 0):
        monkeypatch.setattr(memory, "LARGE", limit)
        function(1.0)
        memory.release()
    function(1.0)
    assert len(traced) == 2
    assert memory._left > 1 << 20
