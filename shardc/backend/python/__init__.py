"""Python text from a per-device program: what the JAX, NumPy and .shard printers share."""
