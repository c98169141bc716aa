"""What reaches outside the program is called, per device and around that, or an error: never dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from tests.unit.shard_map.conftest import filled

jax = pytest.importorskip("jax")
pytest.importorskip("jax.experimental")
lax, P = jax.lax, jax.sharding.PartitionSpec

TYPE = jax.ShapeDtypeStruct((8, 16), np.float32)
BLOCK = jax.ShapeDtypeStruct((4, 4), np.float32)


def mapped(body: Any) -> Any:
    auto = (jax.sharding.AxisType.Auto,) * 2
    mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=auto)
    return jax.shard_map(body, mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"))


def printed(v: Any, **options: Any) -> Any:
    jax.debug.print("{}", v.sum(), **options)
    return v


def called(v: Any) -> Any:
    jax.debug.callback(lambda x: None, v.sum())
    return v


PROGRAMS = {
    "print": mapped(printed),
    "print in a loop": mapped(lambda v: lax.fori_loop(0, 3, lambda i, c: printed(c), v)),
    "debug callback": mapped(called),
    "pure callback": mapped(lambda v: jax.pure_callback(np.sin, BLOCK, v)),
    "io callback": mapped(lambda v: jax.experimental.io_callback(np.sin, BLOCK, v)),
    "print outside": lambda v: mapped(lambda u: u * 2)(printed(v)),
    "ordered print in a loop": lambda v: lax.fori_loop(0, 3, lambda i, c: printed(c, ordered=True), v),
    "ordered io callback": lambda v: jax.experimental.io_callback(np.sin, TYPE, v, ordered=True),
}


CALLED = {
    "print": 'jax.debug.print("{}", jnp.sum(v))',
    "print in a loop": 'jax.debug.print("{}", jnp.sum(v))',
    "debug callback": "jax.debug.callback(host_functions[",
    "pure callback": "jax.pure_callback(",
    "io callback": "io_callback(",
    "print outside": 'lambda x: jax.debug.print("{}", x)',
}
"""Program -> the call that stands in what is emitted."""


@pytest.mark.parametrize(("name", "call"), CALLED.items())
def test_an_effect_is_called(name: str, call: str) -> None:
    assert call in shardc.from_jax(PROGRAMS[name], filled(8, 16)).source


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in CALLED])
def test_an_effect_in_an_order_is_an_error(name: str) -> None:
    with pytest.raises(ShardcError, match=r"in order \(ordered=True\) cannot be compiled") as error:
        shardc.from_jax(PROGRAMS[name], filled(8, 16))
    diagnostic = error.value.diagnostic
    assert diagnostic.loc.file is not None and diagnostic.loc.file.endswith("test_effects.py")
    assert diagnostic.hint is not None and "one device calls" in diagnostic.hint
