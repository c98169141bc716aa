"""Programs with a function `loss`, whose gradient is compared with jax.grad of what is emitted for it."""

from __future__ import annotations

from typing import NamedTuple


class Written(NamedTuple):
    """A program, the arguments its gradient is by, and how many sums over devices the gradient takes."""

    name: str
    text: str
    argnums: tuple[int, ...]


def _written(texts: str) -> list[Written]:
    """Programs apart by lines `### name argnums`."""
    found: list[Written] = []
    for part in texts.split("### ")[1:]:
        head, _, text = part.partition("\n")
        name, _, numbers = head.partition(" ")
        found.append(Written(name, text, tuple(map(int, numbers.split(",")))))
    return found


CONTROL = _written(
    """
### counted 0,1
def loss(x: f32[8], w: f32[8]) -> f32[]:
    for i in range(5) carrying x:
        x = sin(x * w) + x
    return sum(x)

### counted_with_the_counter 0
def loss(x: f32[8]) -> f32[]:
    s = 0.0
    for i in range(4) carrying x, s:
        x = x * cos(x)
        s = s + sum(x) * i
    return s

### counted_from_two 0
def loss(x: f32[8]) -> f32[]:
    for i in range(2, 7) carrying x:
        x = x * sin(x) + x[i]
    return sum(x * x)

### counted_backwards 0,1
def loss(x: f32[4], w: f32[5, 4]) -> f32[]:
    for i in range(4, -1, -1) carrying x:
        x = tanh(x * w[i])
    return sum(x)

### no_turns 0
def loss(x: f32[4]) -> f32[]:
    for i in range(0) carrying x:
        x = x * x
    return sum(x * x)

### stack 0,1
def loss(ws: f32[3, 4, 4], x: f32[2, 4]) -> f32[]:
    for w in ws carrying x:
        x = tanh(x @ w)
    return sum(x * x)

### stack_reversed 0,1
def loss(ws: f32[3, 4, 4], x: f32[2, 4]) -> f32[]:
    for w in reversed(ws) carrying x:
        x = tanh(x @ w) + x
    return sum(x * x)

### stacks_of_records 0,1
record Layer:
    w: f32[4, 4]
    b: f32[4]

def block(h, l: Layer):
    return h + relu(h @ l.w + l.b)

def loss(ls: Layer[3], x: f32[2, 4]) -> f32[]:
    for l in ls carrying x:
        x = block(x, l)
    return sum(x * x)

### stack_read_twice 0,1
def loss(ws: f32[3, 4], x: f32[4]) -> f32[]:
    for i in range(3) carrying x:
        x = sin(x * ws[i]) + ws[2 - i]
    return sum(x * x)

### stack_and_whole 0,1
def loss(ws: f32[3, 4], x: f32[4]) -> f32[]:
    for i in range(3) carrying x:
        x = sin(x * ws[i]) + sum(ws)
    return sum(x * x)

### collecting 0,1
def loss(xs: f32[5, 4], h: f32[4]) -> f32[]:
    for x in xs carrying h collecting y:
        h = tanh(h * x + x)
        y = h * h
    return sum(y * xs) + sum(h)

### collecting_alone 0
def loss(xs: f32[5, 4]) -> f32[]:
    for x in xs collecting y:
        y = sin(x) * x
    return sum(y * y)

### collecting_backwards 0
def loss(xs: f32[5, 4]) -> f32[]:
    h = zeros(4)
    for x in reversed(xs) carrying h collecting y:
        h = h * 0.5 + x * x
        y = h * x
    return sum(y * y)

### nested 0,1
def loss(x: f32[4], w: f32[3, 4]) -> f32[]:
    for i in range(2) carrying x:
        for v in w carrying x:
            x = sin(x * v) + x
        x = x * 0.5
    return sum(x)

### nested_sum 0
def loss(x: f32[4, 4]) -> f32[]:
    s = 0.0
    for row in x carrying s:
        for other in x carrying s:
            s = s + sin(sum(row * other))
    return s

### branch 0,1
def loss(x: f32[8], p: f32[]) -> f32[]:
    y = cond(p > 0, lambda v: sin(v) * p, lambda v: v * v * v, x)
    return sum(y) * p

### branch_of_constants 0
def loss(x: f32[8]) -> f32[]:
    y = cond(sum(x) > 100, lambda v: v * v, lambda v: zeros(8), x)
    return sum(y * x)

### branch_in_a_loop 0,1
def loss(x: f32[8], w: f32[8]) -> f32[]:
    for i in range(4) carrying x:
        x = cond(i % 2 == 0, lambda v: sin(v * w), lambda v: v * v + w, x)
    return sum(x)

### loop_in_a_branch 0,1
def turns(v: f32[8], w: f32[8]) -> f32[8]:
    for i in range(3) carrying v:
        v = sin(v * w)
    return v

def loss(x: f32[8], w: f32[8]) -> f32[]:
    y = cond(sum(x) > -100, lambda v: turns(v, w), lambda v: v, x)
    return sum(y)

### three_branches 0
def double(x: f32[4]) -> f32[4]:
    return x * 2

def squared(x: f32[4]) -> f32[4]:
    return x * x

def loss(x: f32[4]) -> f32[]:
    y = 0 * x
    for i in range(4) carrying y:
        y = y + switch(i, (double, squared, lambda v: sin(v)), x)
    return sum(y)

### calls 0,1
def inner(x: f32[4], w: f32[4]) -> f32[4]:
    return tanh(x * w)

def outer_(x: f32[4], w: f32[4]) -> (f32[4], f32[]):
    y = inner(inner(x, w), w)
    return y, sum(y)

def loss(x: f32[4], w: f32[4]) -> f32[]:
    y, s = outer_(x, w)
    return sum(y * y) * s

### several_results 0
def loss(x: f32[6]) -> f32[]:
    a, b = split(x, 2)
    v, i = top_k(b, 2)
    return sum(a) * sum(v * v)

### unused 0,1
def loss(x: f32[6], y: f32[6]) -> f32[]:
    return sum(x)

### half 0,1
def loss(x: f32[4, 8], w: f32[8, 8]) -> f32[]:
    h = astype(x, bf16) @ astype(w, bf16)
    return sum(astype(h, f32) * x)

### eight_bits 0,1,2
def loss(x: f8e4m3fn[4, 8], w: f8e5m2[8, 8], v: f32[4, 8]) -> f32[]:
    h = matmul(x, w, preferred_element_type=f32) * v
    return sum(astype(astype(h, f8e4m3) * 0.5, f32) * v) + astype(max(x * x), f32)

### cross_entropy 0,1
def loss(x: f32[6, 4], w: f32[4, 9]) -> f32[]:
    logits = x @ w
    picked = take_along_axis(log_softmax(logits), array([[0], [3], [8], [2], [2], [1]]), axis=1)
    return -mean(picked)

### attention 0,1,2
def loss(q: f32[2, 5, 3, 4], k: f32[2, 5, 3, 4], v: f32[2, 5, 3, 4]) -> f32[]:
    scores = einsum("bqhd,bkhd->bhqk", q, k) / 4 ** 0.5
    scores = where(tril(ones((5, 5), dtype=bool)), scores, -inf)
    out = einsum("bhqk,bkhd->bqhd", softmax(scores), v)
    return sum(out * out)

### second_order 0
def f(x: f32[4]) -> f32[]:
    return sum(sin(x) * x * x)

def loss(x: f32[4]) -> f32[]:
    g = grad(f)(x)
    return sum(g * g)

### second_order_through_a_loop 0,1
def f(x: f32[4], w: f32[4]) -> f32[]:
    for i in range(3) carrying x:
        x = sin(x * w)
    return sum(x)

def loss(x: f32[4], w: f32[4]) -> f32[]:
    g, h = grad(f, (0, 1))(x, w)
    return sum(g * h)

### newton_in_a_loop 0
def f(x: f32[4], a: f32[4]) -> f32[]:
    return sum((x * x - a) ** 2)

def loss(a: f32[4]) -> f32[]:
    x = ones(4)
    for i in range(3) carrying x:
        x = x - 0.05 * grad(f)(x, a)
    return sum(x * a)

### cholesky 0
def loss(x: f32[4, 4]) -> f32[]:
    a = x @ transpose(x) + 4 * eye(4)
    l = op("stablehlo.cholesky", a, {lower=True})
    return sum(tril(l) * x)

### triangular 0,1
def loss(x: f32[4, 4], b: f32[4, 3]) -> f32[]:
    a = tril(x) + 4 * eye(4)
    y = op("stablehlo.triangular_solve", a, b, {
        left_side=True, lower=True, unit_diagonal=False, transpose_a="NO_TRANSPOSE"})
    z = op("stablehlo.triangular_solve", a, y, {
        left_side=True, lower=True, unit_diagonal=False, transpose_a="TRANSPOSE"})
    return sum(z * z)

### triangular_from_the_right 0,1
def loss(x: f32[4, 4], b: f32[3, 4]) -> f32[]:
    a = triu(x) + 4 * eye(4)
    y = op("stablehlo.triangular_solve", a, b, {
        left_side=False, lower=False, unit_diagonal=False, transpose_a="NO_TRANSPOSE"})
    z = op("stablehlo.triangular_solve", a, y, {
        left_side=False, lower=False, unit_diagonal=False, transpose_a="TRANSPOSE"})
    return sum(z * z)
"""
)

DEVICES = _written(
    """
### whole_sum 0
mesh m[i=2, j=2]

@shard_map
def loss(x: f32[8@i]) -> f32[]:
    return psum(sum(sin(x)), i)

### replicated_weights 0,1
mesh m[i=2, j=2]

@shard_map
def loss(w: f32[4], x: f32[8@i, 4]) -> f32[]:
    return psum(sum(sin(x * w)), i)

### matmul 0,1
mesh m[i=2, j=2]

@shard_map
def matmul(a: f32[8@i, 8@j], b: f32[8@j, 4]) -> f32[8@i, 4]:
    return psum(a @ b, j)

def loss(a: f32[8@i, 8@j], b: f32[8@j, 4]) -> f32[]:
    return sum(sin(matmul(a, b)))

### scattered 0,1
mesh m[i=2, j=2]

@shard_map
def matmul(a: f32[8@i, 8@j], b: f32[8@j, 4]) -> f32[8@i, 4@j]:
    return psum_scatter(a @ b, j, scatter_dimension=1, tiled=True)

def loss(a: f32[8@i, 8@j], b: f32[8@j, 4]) -> f32[]:
    return sum(sin(matmul(a, b)))

### gathered 0,1
mesh m[i=2, j=2]

@shard_map
def f(a: f32[8@i, 8], w: f32[8@j, 4]) -> f32[8@i, 4@j]:
    whole = all_gather(w, j, tiled=True)
    y = a @ whole
    return psum_scatter(sin(y) / 2, j, scatter_dimension=1, tiled=True)

def loss(a: f32[8@i, 8], w: f32[8@j, 4]) -> f32[]:
    return sum(f(a, w) ** 2)

### gathered_invariant 0
mesh m[i=2, j=2]

@shard_map
def f(w: f32[8@j]) -> f32[8]:
    return sin(all_gather(w, j, tiled=True, to="invarying"))

def loss(w: f32[8@j]) -> f32[]:
    return sum(f(w) * w)

### exchanged 0
mesh m[i=2, j=2]

@shard_map
def f(x: f32[8@i, 4]) -> f32[8, 4@i]:
    return all_to_all(x * x, i, 1, 0, tiled=True)

def loss(x: f32[8@i, 4]) -> f32[]:
    return sum(sin(f(x)))

### permuted 0
mesh m[i=4]

@shard_map
def f(x: f32[8@i]) -> f32[8@i]:
    return x * ppermute(sin(x), i, ((0, 1), (1, 2), (2, 0)))

def loss(x: f32[8@i]) -> f32[]:
    return sum(f(x))

### ring 0,1
mesh m[i=4]

@shard_map
def f(x: f32[8@i, 4], w: f32[4, 4]) -> f32[8@i, 4]:
    n = axis_size(i)
    y = x
    for k in range(n) carrying x, y:
        x = ppermute(x, i, [(d, (d + 1) % n) for d in range(n)])
        y = y + tanh(x @ w)
    return y

def loss(x: f32[8@i, 4], w: f32[4, 4]) -> f32[]:
    return sum(f(x, w) ** 2)

### own_numbers 0,1
mesh m[i=2, j=2]

@shard_map
def f(x: f32[8], w: f32[4@i]) -> f32[16@(i, j)]:
    k = axis_index((i, j))
    return x[:4] * k + w[:1] * k

def loss(x: f32[8], w: f32[4@i]) -> f32[]:
    return sum(f(x, w) ** 2)

### mean_over_devices 0,1
mesh m[i=2, j=2]

@shard_map
def loss(w: f32[4], x: f32[8@(i, j), 4]) -> f32[]:
    return pmean(mean(tanh(x @ w)), (i, j))

### layers 0,1,2
mesh m[i=2, j=2]

@shard_map
def f(x: f32[8@i, 4], up: f32[3, 4, 8@j], down: f32[3, 8@j, 4]) -> f32[8@i, 4]:
    for u, d in up, down carrying x:
        x = x + psum(tanh(x @ u) @ d, j)
    return x

def loss(x: f32[8@i, 4], up: f32[3, 4, 8@j], down: f32[3, 8@j, 4]) -> f32[]:
    return sum(f(x, up, down) ** 2)

### scalars_stored 0
mesh m[i=2, j=2]

@shard_map
def f(x: f32[8@i]) -> f32[8@i]:
    s = psum(sum(x), i)
    t = sum(x)
    return x * sin(s) * cos(t)

def loss(x: f32[8@i]) -> f32[]:
    return sum(f(x))

### helper 0,1
mesh m[i=2, j=2]

@per_device
def total(x: f32[4, 4], w: f32[4, 4]) -> f32[4, 4]:
    return psum(x @ w, j)

@shard_map
def f(x: f32[8@i, 8@j], w: f32[8@j, 4]) -> f32[8@i, 4]:
    return tanh(total(x, w))

def loss(x: f32[8@i, 8@j], w: f32[8@j, 4]) -> f32[]:
    return sum(f(x, w) ** 2)

### own_block 0
mesh m[i=2, j=2]

@shard_map
def f(x: f32[8]) -> f32[8@i]:
    return sin(block(x * x, i))

def loss(x: f32[8]) -> f32[]:
    return sum(f(x) ** 2)

### two_meshes_axes 0,1
mesh m[i=2, j=2]

@shard_map
def f(x: f32[8@(i, j)], y: f32[4@j]) -> f32[8@(i, j)]:
    return x * psum(y[:2], j) + psum(x, i)

def loss(x: f32[8@(i, j)], y: f32[4@j]) -> f32[]:
    return sum(f(x, y) ** 2)

### branch_per_device 0
mesh m[i=2, j=2]

@shard_map
def f(x: f32[8@i], w: f32[4]) -> f32[8@i]:
    k = axis_index(i)
    return cond(k > 0, lambda v: sin(v * stop_gradient(w)), lambda v: v * v, x)

def loss(x: f32[8@i], w: f32[4]) -> f32[]:
    return sum(f(x, w))

### weights_in_a_loop 0,1
mesh m[i=2, j=2]

@shard_map
def loss(w: f32[4], x: f32[8@i, 4]) -> f32[]:
    s = pcast(0.0, i, to="varying")
    for k in range(3) carrying s:
        s = s + sum(sin(x * w * k))
    return psum(s, i)
"""
)
PROGRAMS = [*CONTROL, *DEVICES]
