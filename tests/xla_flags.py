"""What XLA is told where emitted programs are run once, in processes of their own, on a few numbers.

Where XLA is the oracle it is not told so: without these emitters floats of 8 bits come out otherwise.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def _knows_fusion_emitters() -> bool:
    """JAX 0.12 has no such flag, and XLA ends the process where it finds one that it does not know."""
    try:
        return tuple(map(int, version("jax").split(".")[:2])) < (0, 12)
    except PackageNotFoundError:
        return False


QUICK = " ".join(
    [
        "--xla_backend_optimization_level=0",
        *["--xla_cpu_use_fusion_emitters=false"] * _knows_fusion_emitters(),
    ]
)
"""The value of XLA_FLAGS with which XLA optimizes and fuses little: it compiles in a quarter of the time."""
