"""Whether somebody else has started this process as one of many: Slurm, mpirun, a coordinator, a TPU pod."""

from __future__ import annotations

import os
from collections.abc import Mapping

_SIGNS = {
    "SLURM_STEP_ID": "Slurm",
    "SLURM_STEP_NODELIST": "Slurm",  # what JAX looks for
    "OMPI_COMM_WORLD_RANK": "mpirun",
    "PMI_RANK": "mpiexec",
    "JAX_COORDINATOR_ADDRESS": "a coordinator",
    "TPU_WORKER_HOSTNAMES": "a TPU pod",
    "JOB_COMPLETION_INDEX": "a job of Kubernetes",
}


def starter(environment: Mapping[str, str] = os.environ) -> str | None:
    """Who started this process as one of many; None for nobody. A sign with an empty value is none."""
    return next((who for sign, who in _SIGNS.items() if environment.get(sign)), None)
