"""Random numbers of JAX's, recognised by what they are computed with."""
