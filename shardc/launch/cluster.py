"""Whether somebody else has started this process as one of many: Slurm, mpirun, a coordinator, a TPU pod."""

from __future__ import annotations

import os
from collections.abc import Mapping

from shardc.diagnostics import ShardcError

_SIGNS = {
    "SLURM_STEP_ID": "Slurm",
    "SLURM_STEP_NODELIST": "Slurm",  # what JAX looks for
    "OMPI_COMM_WORLD_RANK": "mpirun",
    "PMI_RANK": "mpiexec",
    "JAX_COORDINATOR_ADDRESS": "a coordinator",
    "TPU_WORKER_HOSTNAMES": "a TPU pod",
    "JOB_COMPLETION_INDEX": "a job of Kubernetes",
}


_PLACES = {"num_processes": "JAX_NUM_PROCESSES", "process_id": "JAX_PROCESS_ID"}
"""Arguments of jax.distributed.initialize that JAX reads from no variable."""


def own_place(environment: Mapping[str, str] = os.environ) -> dict[str, int]:
    """What the variables of a coordinator say of this process. ShardcError for what is no number."""
    found: dict[str, int] = {}
    for argument, variable in _PLACES.items():
        if text := environment.get(variable):
            if not text.isdecimal():
                raise ShardcError(f"{variable} is a number, not {text!r}")
            found[argument] = int(text)
    return found


def starter(environment: Mapping[str, str] = os.environ) -> str | None:
    """Who started this process as one of many; None for nobody. A sign with an empty value is none."""
    return next((who for sign, who in _SIGNS.items() if environment.get(sign)), None)
