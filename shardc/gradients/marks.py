"""The attributes by which programs tell derivatives something; to write them takes no derivatives."""

STOP = "shardc.stop_gradient"
"""Of an optimization_barrier that no derivative passes."""
