"""The proof that the per-device program equals the global one; docs/proof.md has the theory."""
