"""What stands in a text of MLIR only where a reader of its own is needed, which is imported only then."""

from __future__ import annotations

APPROXIMATE = "ApproxTopK"
"""The call that is JAX's approximate top-k (mlir_approx.py)."""

MHLO_SHARDING = "mhlo.sharding"
"""The attribute that had shardings before Shardy (mlir_gspmd.py)."""

PYTHON = ".py"
"""The end of the files in whose lines variables have names (python_names.py)."""
