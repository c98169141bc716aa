"""What mlp.shard computes, in NumPy: what an edited program must still compute."""

import numpy as np


def mlp(x, w1, w2, scale):
    y = np.maximum(x @ w1, 0) @ w2
    return y / np.sqrt(np.mean(y * y, axis=-1, keepdims=True) + 1e-6) * scale
