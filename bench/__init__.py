"""Measurements of shardc, each a command: `python -m bench.results`, run in the root of the repository.

`ruler/` is what several compilers are measured with, kept as it is; `results/` is what was measured. JAX runs
on the CPU unless the environment says otherwise.
"""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
