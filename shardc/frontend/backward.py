"""Which operations of what JAX traced or lowered are of a backward pass, by their names."""

BACKWARD = "transpose("
"""What the names of a backward pass have: jit(step)/transpose(jvp())/mul."""

_AGAIN = "rematted_computation"
"""Of what jax.checkpoint computes anew there, which is the forward pass again."""


def is_backward(name: str, inside: bool) -> bool:
    """Whether JAX's name of an operation is one of a backward pass; `inside` says it of what calls it."""
    again, backward = name.rfind(_AGAIN), name.rfind(BACKWARD)
    return backward > again or (again < 0 and inside)
