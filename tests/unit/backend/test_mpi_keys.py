"""An MPI program that takes dicts: other keys on one process are an error on all."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import shardc

TEXT = """
sdy.mesh @m = <["x"=2]>
func.func public @main(%0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>} loc("params['a b']"),
                       %1: tensor<4xf32> loc("params['w'][0].mu"), %2: tensor<4xf32> loc("params['w'][1]"),
                       %3: tensor<4xf32> loc("x")) -> (tensor<4xf32> {jax.result_info = "result"}) {
  %4 = stablehlo.add %0, %1 : tensor<4xf32>
  %5 = stablehlo.add %2, %3 : tensor<4xf32>
  %6 = stablehlo.multiply %4, %5 : tensor<4xf32>
  return %6 : tensor<4xf32>
}
"""
ONE = np.ones(4, np.float32)


class World:
    """What this process says, as all of two say it."""

    def allgather(self, said: Any) -> list[Any]:
        return [[], said]


@pytest.fixture(scope="module")
def program() -> ModuleType:
    pytest.importorskip("mpi4py")
    module = shardc.compile(TEXT, language="mlir", target="mpi").module
    setattr(module, "communicator", lambda: SimpleNamespace(world=World()))
    return module


def test_right_ones_pass(program: ModuleType) -> None:
    record = ((ONE,), ONE)
    program.check_keys({"w": record, "a b": ONE}, ONE)
    program.check_keys({"w": [[ONE], ONE], "a b": ONE}, ONE)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"a b": ONE}, "process 1 gives the keys ['a b'] in params, and ['a b', 'w'] are expected"),
        ({"w": 0, "b": 0}, "process 1 gives the keys ['b', 'w'] in params, and ['a b', 'w'] are expected"),
        ((ONE, ONE), "process 1 gives a tuple in params, and ['a b', 'w'] are expected"),
        ({"a b": ONE, "w": (ONE,)}, """process 1 gives 1 items in params["w"], and 2 are expected"""),
        ({"a b": ONE, "w": (ONE, ONE)}, """process 1 gives a ndarray in params["w"].0, and 1 are expected"""),
    ],
)
def test_other_ones_are_an_error(program: ModuleType, params: Any, message: str) -> None:
    for main in (program.main, program.main_local):
        with pytest.raises(ValueError) as caught:
            main(params, ONE)
        assert str(caught.value) == message


def test_programs_without_dicts_have_none_of_it() -> None:
    text = "mesh m[x=2]\ndef main(a: f32[4@x]) -> f32[4@x]:\n    return a + 1.0\n"
    assert "check_keys" not in shardc.compile(text, target="mpi").source
