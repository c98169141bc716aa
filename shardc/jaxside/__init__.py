"""shardc for people who write JAX: `shardc.jit` in the place of `jax.jit`, and what it is made of."""
