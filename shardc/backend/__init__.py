"""Writers: per-device IR into JAX, NumPy and .shard text."""
