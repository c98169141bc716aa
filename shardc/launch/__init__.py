"""Programs on several processes: starting and ending them, and what each of them does.

`processes` starts and watches, `jax_process` and `mpi_process` are what runs in each, `rank` says how a rank
of MPI ended, `cluster` says whether this process was started by somebody else as one of many.
"""
