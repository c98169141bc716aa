"""Loops, branches, barriers, tokens and tuples, and what ends a body."""
