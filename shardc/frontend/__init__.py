"""Readers: .shard text, MLIR text, and more, into the one IR."""
