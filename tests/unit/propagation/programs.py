"""Random sharded programs as MLIR text."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from random import Random
from re import findall

Shape = tuple[int, ...]

MESHES = (
    {"x": 2, "y": 4},
    {"x": 2, "y": 2, "z": 2},
    {"x": 4, "y": 2},
    {"x": 3, "y": 2},
    {"x": 6, "y": 4},
    {"x": 8, "y": 3},
    {"x": 2, "y": 1, "z": 3},
)
SIZES = (1, 2, 3, 4, 6, 8, 12, 16)


@dataclass
class Program:
    """Draws a program line by line. `features` are names of what it may contain besides plain operations."""

    random: Random
    features: frozenset[str] = frozenset()
    lines: list[str] = field(default_factory=list)
    values: list[tuple[str, Shape]] = field(default_factory=list)
    count: int = 0
    functions: list[str] = field(default_factory=list)
    free: tuple[str, ...] = ()
    group_shapes: dict[int, Shape] = field(default_factory=dict)
    inner: bool = False
    depth: int = 0

    def text(self, size: int) -> str:
        """A module with a main function of about `size` operations."""
        self.mesh = self.random.choice(MESHES)
        self.free = tuple(self.mesh)
        axes = ", ".join(f'"{name}"={n}' for name, n in self.mesh.items())
        meshes = [f"sdy.mesh @m = <[{axes}]>"]
        if "meshes" in self.features:
            ids = list(range(prod(self.mesh.values())))
            self.random.shuffle(ids)
            meshes.append(f"sdy.mesh @n = <[{axes}], device_ids={ids}>")
            meshes.append("sdy.mesh @one = <[], device_ids=[0]>")
        if "calls" in self.features:
            for i in range(self.random.randint(1, 2)):
                self.function(f"f{i}", self.random.randint(1, 4))
        arguments = [(f"%a{i}", self.shape()) for i in range(self.random.randint(1, 4))]
        self.values = list(arguments)
        self.lines = []
        for _ in range(size):
            self.operation()
        outs = [self.pick() for _ in range(self.random.randint(1, 3))]
        if "priorities" in self.features or self.chance(0.6):
            outs = [*dict.fromkeys([*outs, *self.unused()])]
        args = ", ".join(f"{name}: {tensor(shape)}{self.annotation(shape, 0.7)}" for name, shape in arguments)
        results = ", ".join(tensor(shape) + self.annotation(shape, 0.3) for _, shape in outs)
        self.lines.append(returned("return", outs))
        body = "\n  ".join(self.lines)
        return "\n".join(
            [*meshes, *self.functions, f"func.func @main({args}) -> ({results}) {{\n  {body}\n}}"]
        )

    def unused(self) -> list[tuple[str, Shape]]:
        """Values that nothing uses. (Shardy crashes when a dimension of one has a priority.)"""
        text = "\n".join(self.lines) + "\n"
        return [(name, shape) for name, shape in self.values if len(findall(rf"{name}\b", text)) < 2]

    def function(self, name: str, size: int) -> None:
        outer = (self.lines, self.values)
        arguments = [(f"%{name}_{i}", self.shape()) for i in range(self.random.randint(1, 2))]
        self.lines, self.values = [], list(arguments)
        for _ in range(size):
            self.operation()
        outs = [self.pick()]
        args = ", ".join(f"{n}: {tensor(shape)}{self.annotation(shape, 0.15)}" for n, shape in arguments)
        results = ", ".join(tensor(shape) + self.annotation(shape, 0.15) for _, shape in outs)
        body = "\n  ".join([*self.lines, returned("return", outs)])
        self.functions.append(f"func.func private @{name}({args}) -> ({results}) {{\n  {body}\n}}")
        self.lines, self.values = outer
        self.signatures = {
            **getattr(self, "signatures", {}),
            name: ([s for _, s in arguments], [s for _, s in outs]),
        }

    # ---------------------------------------------------------------- pieces

    def shape(self) -> Shape:
        return tuple(self.random.choice(SIZES) for _ in range(self.random.randint(1, 3)))

    def pick(self) -> tuple[str, Shape]:
        return self.random.choice(self.values)

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, shape: Shape, text: str) -> tuple[str, Shape]:
        name = self.name()
        self.lines.append(f"{name} = {text}")
        self.values.append((name, shape))
        return name, shape

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def annotation(self, shape: Shape, p: float) -> str:
        if not self.chance(p):
            return ""
        return f" {{sdy.sharding = #sdy.sharding<{self.sharding(shape)}>}}"

    def sharding(self, shape: Shape, closed: float = 0.3) -> str:
        mesh = "m"
        if "meshes" in self.features and self.chance(0.15):
            mesh = "n"
            if mesh == "one":
                return "@one, [" + ", ".join("{}" for _ in shape) + "]"
        axes = self.axes()
        self.random.shuffle(axes)
        dims = []
        for _ in shape:
            taken = [axes.pop() for _ in range(self.random.choice((0, 0, 1, 1, 2))) if axes]
            body = list(taken)
            if not self.chance(closed):
                body.append("?")
            text = "{" + ", ".join(body) + "}"
            if "priorities" in self.features and not self.depth and body and self.chance(0.4):
                text += f"p{self.random.randint(0, 2)}"
            dims.append(text)
        tail = ""
        if axes and self.chance(0.2):
            tail += f", replicated={{{axes.pop()}}}"
        if axes and "unreduced" in self.features and self.chance(0.2):
            tail += f", unreduced={{{axes.pop()}}}"
        return f"@{mesh}, [{', '.join(dims)}]{tail}"

    def axes(self) -> list[str]:
        """Axes and parts of axes that do not overlap."""
        found: list[str] = []
        for name in self.free:
            size = self.mesh[name]
            divisors = [d for d in range(2, size) if size % d == 0]
            if divisors and self.chance(0.3):
                d = self.random.choice(divisors)
                parts = [f'"{name}":(1){d}', f'"{name}":({d}){size // d}']
                found.append(self.random.choice(parts))
            else:
                found.append(f'"{name}"')
        return found

    # ---------------------------------------------------------------- operations

    def operation(self) -> None:
        kinds = [
            "unary", "binary", "binary", "dot", "dot", "transpose", "reshape", "broadcast", "reduce", "slice",
            "pad", "constant", "concat", "dynamic_slice", "annotated", "wide", "reverse", "dus",
        ]  # fmt: skip
        kinds += [
            k
            for k in ("constraint", "barrier", "while", "case", "group", "opt", "calls")
            if k in self.features
        ]
        if "manual" in self.features and not self.inner:
            kinds.append("manual")
        getattr(self, "op_" + self.random.choice(kinds))()

    def op_unary(self) -> None:
        name, shape = self.pick()
        op = self.random.choice(("tanh", "negate", "exponential"))
        self.emit(shape, f"stablehlo.{op} {name} : {tensor(shape)}")

    def op_annotated(self) -> None:
        name, shape = self.pick()
        given = f"{{sdy.sharding = #sdy.sharding_per_value<[<{self.sharding(shape)}>]>}}"
        self.emit(shape, f"stablehlo.abs {name} {given} : {tensor(shape)}")

    def same(self, shape: Shape) -> tuple[str, Shape]:
        """A value of the given shape."""
        found = [v for v in self.values if v[1] == shape]
        if found and self.chance(0.8):
            return self.random.choice(found)
        name, other = self.pick()
        if prod(other) == prod(shape):
            return self.emit(shape, f"stablehlo.reshape {name} : ({tensor(other)}) -> {tensor(shape)}")
        return self.emit(shape, f"stablehlo.constant dense<1.0> : {tensor(shape)}")

    def op_binary(self) -> None:
        name, shape = self.pick()
        other, _ = self.same(shape)
        op = self.random.choice(("add", "multiply", "maximum"))
        self.emit(shape, f"stablehlo.{op} {name}, {other} : {tensor(shape)}")

    def op_dot(self) -> None:
        name, shape = self.pick()
        dim = self.random.randrange(len(shape))
        others = [(v, s, d) for v, s in self.values for d in range(len(s)) if s[d] == shape[dim]]
        other, with_shape, at = self.random.choice(others)
        out = tuple(s for i, s in enumerate(shape) if i != dim) + tuple(
            s for i, s in enumerate(with_shape) if i != at
        )
        if len(out) > 4 or not out:
            return
        self.emit(
            out,
            f"stablehlo.dot_general {name}, {other}, contracting_dims = [{dim}] x [{at}] : "
            f"({tensor(shape)}, {tensor(with_shape)}) -> {tensor(out)}",
        )

    def op_transpose(self) -> None:
        name, shape = self.pick()
        order = list(range(len(shape)))
        self.random.shuffle(order)
        out = tuple(shape[i] for i in order)
        self.emit(out, f"stablehlo.transpose {name}, dims = {order} : ({tensor(shape)}) -> {tensor(out)}")

    def op_reshape(self) -> None:
        name, shape = self.pick()
        flat: list[int] = []
        left = prod(shape)
        while left > 1 and len(flat) < 3:
            d = self.random.choice([d for d in range(2, left + 1) if left % d == 0])
            flat.append(d)
            left //= d
        if left > 1:
            flat.append(left)
        out = tuple(flat) or (1,)
        self.emit(out, f"stablehlo.reshape {name} : ({tensor(shape)}) -> {tensor(out)}")

    def op_broadcast(self) -> None:
        name, shape = self.pick()
        if len(shape) > 3:
            return
        extra = self.random.choice(SIZES)
        at = self.random.randint(0, len(shape))
        out = (*shape[:at], extra, *shape[at:])
        dims = [i for i in range(len(out)) if i != at]
        self.emit(
            out, f"stablehlo.broadcast_in_dim {name}, dims = {dims} : ({tensor(shape)}) -> {tensor(out)}"
        )

    def op_wide(self) -> None:
        """A constant expression: a broadcast of a scalar, perhaps with something after it."""
        scalar = self.name()
        self.lines.append(f"{scalar} = stablehlo.constant dense<2.0> : tensor<f32>")
        out = self.pick()[1]
        name, _ = self.emit(
            out, f"stablehlo.broadcast_in_dim {scalar}, dims = [] : (tensor<f32>) -> {tensor(out)}"
        )
        if self.chance(0.5):
            self.emit(out, f"stablehlo.negate {name} : {tensor(out)}")

    def op_reduce(self) -> None:
        name, shape = self.pick()
        dim = self.random.randrange(len(shape))
        out = tuple(s for i, s in enumerate(shape) if i != dim)
        if not out:
            return
        zero = self.name()
        self.lines.append(f"{zero} = stablehlo.constant dense<0.0> : tensor<f32>")
        self.emit(
            out,
            f"stablehlo.reduce({name} init: {zero}) applies stablehlo.add across dimensions = [{dim}] : "
            f"({tensor(shape)}, tensor<f32>) -> {tensor(out)}",
        )

    def op_slice(self) -> None:
        name, shape = self.pick()
        ends = [s if self.chance(0.6) else max(1, s // 2) for s in shape]
        out = tuple(ends)
        ranges = ", ".join(f"0:{e}" for e in ends)
        self.emit(out, f"stablehlo.slice {name} [{ranges}] : ({tensor(shape)}) -> {tensor(out)}")

    def op_reverse(self) -> None:
        name, shape = self.pick()
        self.emit(shape, f"stablehlo.reverse {name}, dims = [0] : {tensor(shape)}")

    def op_pad(self) -> None:
        name, shape = self.pick()
        zero = self.name()
        self.lines.append(f"{zero} = stablehlo.constant dense<0.0> : tensor<f32>")
        low = [self.random.choice((0, 0, 1)) for _ in shape]
        out = tuple(s + p for s, p in zip(shape, low, strict=True))
        none = [0] * len(shape)
        self.emit(
            out,
            f"stablehlo.pad {name}, {zero}, low = {low}, high = {none}, interior = {none} : "
            f"({tensor(shape)}, tensor<f32>) -> {tensor(out)}",
        )

    def op_constant(self) -> None:
        shape = self.pick()[1]
        self.emit(shape, f"stablehlo.constant dense<3.0> : {tensor(shape)}")

    def op_concat(self) -> None:
        name, shape = self.pick()
        other, _ = self.same(shape)
        out = (shape[0] * 2, *shape[1:])
        self.emit(
            out,
            f"stablehlo.concatenate {name}, {other}, dim = 0 : "
            f"({tensor(shape)}, {tensor(shape)}) -> {tensor(out)}",
        )

    def _indices(self, shape: Shape) -> tuple[str, str]:
        zero = self.name()
        self.lines.append(f"{zero} = stablehlo.constant dense<0> : tensor<i32>")
        return ", ".join([zero] * len(shape)), ", ".join(["tensor<i32>"] * len(shape))

    def op_dynamic_slice(self) -> None:
        name, shape = self.pick()
        out = tuple(s if self.chance(0.6) else max(1, s // 2) for s in shape)
        indices, types = self._indices(shape)
        self.emit(
            out,
            f"stablehlo.dynamic_slice {name}, {indices}, sizes = {list(out)} : "
            f"({tensor(shape)}, {types}) -> {tensor(out)}",
        )

    def op_dus(self) -> None:
        name, shape = self.pick()
        part = tuple(s if self.chance(0.6) else max(1, s // 2) for s in shape)
        update, _ = self.same(part)
        indices, types = self._indices(shape)
        self.emit(
            shape,
            f"stablehlo.dynamic_update_slice {name}, {update}, {indices} : "
            f"({tensor(shape)}, {tensor(part)}, {types}) -> {tensor(shape)}",
        )

    # ---------------------------------------------------------------- features

    def op_constraint(self) -> None:
        name, shape = self.pick()
        closed = 1.0 if self.chance(0.6) else 0.3
        self.emit(shape, f"sdy.sharding_constraint {name} <{self.sharding(shape, closed)}> : {tensor(shape)}")

    def op_barrier(self) -> None:
        name, shape = self.pick()
        way = self.random.choice(("FORWARD", "BACKWARD", "NONE"))
        self.emit(shape, f"sdy.propagation_barrier {name} allowed_direction={way} : {tensor(shape)}")

    def op_opt(self) -> None:
        name, shape = self.pick()
        self.emit(shape, f"stablehlo.optimization_barrier {name} : {tensor(shape)}")

    def op_group(self) -> None:
        name, shape = self.pick()
        base = 100 if self.inner else 0
        group = self.random.randint(0, 2) + base
        if self.group_shapes.setdefault(group, shape) == shape:
            self.lines.append(f"sdy.sharding_group {name} group_id={group} : {tensor(shape)}")

    def region(self, values: list[tuple[str, Shape]], size: int) -> list[str]:
        """Lines of a region that sees `values`; they stay in self.values until the caller resets it."""
        lines, self.lines, self.values = self.lines, [], values
        self.depth += 1
        for _ in range(size):
            self.operation()
        self.depth -= 1
        lines, self.lines = self.lines, lines
        return lines

    def op_while(self) -> None:
        carried = [self.pick() for _ in range(self.random.randint(1, 2))]
        outer = self.values
        names = [self.name() for _ in carried]
        counter, limit, step = self.name(), self.name(), self.name()
        args = [(n, s) for n, (_, s) in zip(names, carried, strict=True)]
        visible = [*args, *outer] if self.chance(0.4) else list(args)
        body = self.region(visible, self.random.randint(1, 3))
        outs = [self.random.choice([v for v in self.values if v[1] == s] or [(n, s)]) for n, s in args]
        self.values = outer
        pairs = ", ".join(
            [f"%i{self.count} = {counter}"] + [f"{n} = {o}" for n, (o, _) in zip(names, carried, strict=True)]
        )
        types = ", ".join(["tensor<i32>"] + [tensor(s) for _, s in carried])
        i = f"%i{self.count}"
        result = self.name()
        self.lines += [
            f"{counter} = stablehlo.constant dense<0> : tensor<i32>",
            f"{limit} = stablehlo.constant dense<3> : tensor<i32>",
            f"{result}:{len(carried) + 1} = stablehlo.while({pairs}) : {types} cond {{",
            f"  {step} = stablehlo.compare LT, {i}, {limit} : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            f"  stablehlo.return {step} : tensor<i1>",
            "} do {",
            *body,
            f"  stablehlo.return {', '.join([i, *[n for n, _ in outs]])} : {types}",
            "}",
        ]
        self.values = [*outer, *((f"{result}#{k + 1}", s) for k, (_, s) in enumerate(carried))]

    def op_case(self) -> None:
        outer = self.values
        shape = self.pick()[1]
        index = self.name()
        branches = []
        for _ in range(2):
            body = self.region(list(outer), self.random.randint(0, 2))
            out = self.random.choice([v for v in self.values if v[1] == shape])
            branches.append("\n".join([*body, returned("stablehlo.return", [out])]))
        self.values = outer
        self.lines.append(f"{index} = stablehlo.constant dense<0> : tensor<i32>")
        regions = ", ".join(f"{{\n{b}\n}}" for b in branches)
        self.emit(shape, f'"stablehlo.case"({index}) ({regions}) : (tensor<i32>) -> {tensor(shape)}')

    def op_calls(self) -> None:
        signatures = getattr(self, "signatures", {})
        if not signatures:
            return
        name = self.random.choice(sorted(signatures))
        shapes, (out,) = signatures[name]
        args = [self.same(shape)[0] for shape in shapes]
        types = ", ".join(map(tensor, shapes))
        self.emit(out, f"func.call @{name}({', '.join(args)}) : ({types}) -> {tensor(out)}")

    def op_manual(self) -> None:
        name, shape = self.pick()
        manual = self.random.choice([a for a in self.mesh if self.mesh[a] > 1])
        at = self.random.randrange(len(shape))
        sharded = shape[at] % self.mesh[manual] == 0 and self.chance(0.7)
        free, self.free = self.free, tuple(a for a in self.free if a != manual)
        dims = []
        pool = self.axes()
        for d in range(len(shape)):
            axes = [f'"{manual}"'] if sharded and d == at else []
            if pool and self.chance(0.3):
                axes.append(pool.pop())
            if not self.chance(0.4):
                axes.append("?")
            dims.append("{" + ", ".join(axes) + "}")
        side = f"<@m, [{', '.join(dims)}]>"
        local = tuple(s // self.mesh[manual] if sharded and d == at else s for d, s in enumerate(shape))
        outer, self.inner = self.values, True
        arg = self.name()
        body = self.region([(arg, local)], self.random.randint(1, 3))
        out = self.random.choice([v for v in self.values if v[1] == local])
        self.values, self.free, self.inner = outer, free, False
        inner = "\n".join([*body, returned("sdy.return", [out])])
        self.emit(
            shape,
            f"sdy.manual_computation({name}) in_shardings=[{side}] out_shardings=[{side}] "
            f'manual_axes={{"{manual}"}} '
            f"({arg}: {tensor(local)}) {{\n{inner}\n}} : ({tensor(shape)}) -> {tensor(shape)}",
        )


def tensor(shape: Shape) -> str:
    return f"tensor<{''.join(f'{s}x' for s in shape)}f32>"


def returned(op: str, values: list[tuple[str, Shape]]) -> str:
    return f"{op} {', '.join(n for n, _ in values)} : {', '.join(tensor(s) for _, s in values)}"
