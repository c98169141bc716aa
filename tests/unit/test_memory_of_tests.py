"""JAX's caches go when the process that runs tests is large, and only then."""

from __future__ import annotations

import sys

import pytest

from tests import memory


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_is_compiled_goes_where_much_is_resident(monkeypatch: pytest.MonkeyPatch) -> None:
    jax = pytest.importorskip("jax")
    assert memory.resident() > 1 << 20
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
