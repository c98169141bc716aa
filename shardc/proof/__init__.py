"""The proof that the per-device program equals the global one; docs/proof.md has the theory."""

VARIABLE = "SHARDC_PROVE"
"""Variable of the environment: with off nothing is proved that nobody asked for."""

LARGE = "too large"
"""What the cache folder calls the line on a program that is too large to be proved by a command."""
