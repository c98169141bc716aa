"""shardc compiles a sharded tensor program into the program each device runs."""

__version__ = "0.1.0"
