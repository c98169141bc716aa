"""The .shard grammar, as data."""
