"""Names that a module defines twice."""

from __future__ import annotations

import pytest

from shardc.diagnostics import ShardcError
from shardc.frontend.mlir import read

MODULE = """module {
  sdy.mesh @mesh = <["x"=2]>
  SECOND
  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    return %a : tensor<8xf32>
  }
}
"""


@pytest.mark.parametrize(
    ("second", "line", "first"),
    [('sdy.mesh @mesh = <["x"=4]>', 3, 2), ("func.func @main() {\n    return\n  }", 6, 3)],
)
def test_the_second_of_two_is_an_error(second: str, line: int, first: int) -> None:
    with pytest.raises(ShardcError, match="there are two things called") as error:
        read(MODULE.replace("SECOND", second))
    assert error.value.diagnostic.loc.line == line
    assert f"the first one is in line {first}" in str(error.value)
