"""mpi_process, but another process waits for it and says how it ended."""

from __future__ import annotations

import sys

from shardc.launch.rank import become_watched


def main() -> int:
    """Fork, then go on as mpi_process in the new process."""
    become_watched()
    from shardc.launch.mpi_process import main as run  # only now: NumPy starts threads

    return run()


if __name__ == "__main__":
    sys.exit(main())
