"""The .shard grammar, and the tables that it is parsed by, as data."""
