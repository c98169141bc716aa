"""Batch normalisation in JAX, which has no function for it: a small local function per operation."""

from __future__ import annotations

from typing import cast

from shardc.backend.jax.local_function import by_local_function
from shardc.backend.jax.target import JAX
from shardc.backend.python.expressions import integers
from shardc.backend.python.printers import Printed, Printer
from shardc.backend.python.scope import Scope
from shardc.graph import Node
from shardc.ops import hlo

_INFERENCE = """
scale, offset, mean, variance = (v.reshape({shape}) for v in (scale, offset, mean, variance))
return scale * (x - mean) / jnp.sqrt(variance + {epsilon}) + offset
"""
_TRAINING = """
mean, variance = jnp.mean(x, axis={others}), jnp.var(x, axis={others})
normal = (x - mean.reshape({shape})) / jnp.sqrt(variance.reshape({shape}) + {epsilon})
return scale.reshape({shape}) * normal + offset.reshape({shape}), mean, variance
"""
_GRAD = """
root = jnp.sqrt(variance.reshape({shape}) + {epsilon})
normal = (x - mean.reshape({shape})) / root
grad_scale, grad_offset = jnp.sum(grad * normal, axis={others}), jnp.sum(grad, axis={others})
shared = (grad_offset.reshape({shape}) + normal * grad_scale.reshape({shape})) / {count}
return scale.reshape({shape}) / root * (grad - shared), grad_scale, grad_offset
"""


def _local_function(name: str, params: str, text: str) -> Printer:
    """A printer that defines the function before the line that calls it."""

    def printer(scope: Scope, node: Node) -> Printed:
        type = scope.type(node.operands[0])
        feature = cast(int, node.attrs["feature_index"])
        others = tuple(d for d in range(type.rank) if d != feature)
        values = {
            "shape": str(tuple(n if d == feature else 1 for d, n in enumerate(type.shape))),
            "others": integers(others).text,
            "epsilon": repr(float(cast(float, node.attrs["epsilon"]))),
            "count": str(float(type.size // max(type.shape[feature], 1))),
        }
        return by_local_function(scope, node, name, params, text, values)

    return printer


JAX.prints(hlo.batch_norm_inference)(
    _local_function("normalize", "x, scale, offset, mean, variance", _INFERENCE)
)
JAX.prints(hlo.batch_norm_training)(_local_function("normalize", "x, scale, offset", _TRAINING))
JAX.prints(hlo.batch_norm_grad)(_local_function("normalize_grad", "x, scale, mean, variance, grad", _GRAD))
