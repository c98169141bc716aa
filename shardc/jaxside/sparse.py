"""Products of JAX's sparse matrices (jax.experimental.sparse) as operations that devices can share.

On CPUs JAX lowers a product with a BCSR matrix to one call of a library's, which takes the matrix whole. Here
it is what JAX has for machines without that library, a gather, a product and a scatter that adds: these have
rules, by which the elements and the columns of the other operand can be split.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

_BCSR = "jax.experimental.sparse.bcsr"


def spelled_out() -> tuple[tuple[Any, Any], ...]:
    """The rules of a lowering for such products, as JAX's parameters of a lowering have them.

    None where nothing has imported sparse matrices.
    """
    if _BCSR not in sys.modules:
        return ()
    bcsr: Any = sys.modules[_BCSR]
    mlir: Any = import_module("jax._src.interpreters.mlir")
    return ((bcsr.bcsr_dot_general_p, mlir.lower_fun(bcsr._bcsr_dot_general_impl, multiple_results=False)),)
