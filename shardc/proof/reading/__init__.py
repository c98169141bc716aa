"""Emitted NumPy programs, read back: run once at full size, on arrays that hold no data."""
