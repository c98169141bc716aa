"""The syntax tree as text, for --emit ast: one line per statement, expressions as nested trees."""

from __future__ import annotations

from shardc.frontend.text import syntax as s
from shardc.frontend.text.notations import text_of


def print_ast(program: s.Program) -> str:
    """The tree, with the line and column of every declaration and statement."""
    lines = ["text"] if program.about is not None else []
    for mesh in program.meshes:
        axes = ", ".join(f"{name}={_inline(size)}" for name, size in mesh.axes)
        devices = f" devices {list(mesh.devices)}" if mesh.devices is not None else ""
        processes = f" processes {mesh.processes}" if mesh.processes is not None else ""
        lines.append(f"mesh {mesh.name}[{axes}]{devices}{processes}{_at(mesh.pos)}")
    for declared in program.logical:
        lines.append(f"axes {declared.name} = ({', '.join(map(_axis, declared.axes))}){_at(declared.pos)}")
    for size in program.sizes:
        lines.append(f"size {size.name} = {_inline(size.value)}{_at(size.pos)}")
    for constant in program.constants:
        lines += [f"const {constant.name}{_at(constant.pos)}", *_tree(constant.value, "  ")]
    for assertion in program.assertions:
        lines += _statement(assertion, "")
    for record in program.records:
        lines.append(f"record {record.name}{_at(record.pos)}")
        lines += [f"  field {field.name}: {type_text(field.type)}" for field in record.fields]
    for function in program.functions:
        lines += _function(function)
    return "\n".join(lines) + "\n"


def _function(function: s.Function) -> list[str]:
    lines = [f"function {function.name}{_at(function.pos)}"]
    for decorator in (*([function.decorator] if function.decorator else ()), *function.rules):
        axes = "".join(f" {keyword.name}={_inline(keyword.value)}" for keyword in decorator.keywords)
        lines.append(f"  decorator {decorator.name}{axes}")
    lines += [line for parameter in function.parameters for line in _parameter(parameter)]
    lines += [f"  result {type_text(type)}" for type in function.results or ()]
    for statement in function.body:
        lines += _statement(statement, "  ")
    return lines


def _parameter(parameter: s.Parameter) -> list[str]:
    named = "named parameter" if parameter.named else "parameter"
    type = "" if parameter.type is None else f": {type_text(parameter.type)}"
    default = [] if parameter.default is None else ["    default", *_tree(parameter.default, "      ")]
    return [f"  {named} {parameter.name}{type}", *default]


def _statement(statement: s.Statement, indent: str) -> list[str]:
    match statement:
        case s.Assign():
            names = " = ".join(_side(pattern, statement.targets) for pattern in statement.patterns)
            return [f"{indent}assign {names}{_at(statement.pos)}", *_tree(statement.value, indent + "  ")]
        case s.Return():
            return [f"{indent}return{_at(statement.pos)}", *_tree(statement.value, indent + "  ")]
        case s.For():
            names = ", ".join(target.name for target in statement.targets)
            carried = ", ".join(target.name for target in statement.carrying)
            collected = ", ".join(target.name for target in statement.collecting)
            header = f"{indent}for {names}" + f" carrying {carried}" * bool(carried)
            lines = [header + f" collecting {collected}" * bool(collected) + _at(statement.pos)]
            lines += [f"{indent}  in", *_tree(statement.stacks, indent + "    "), f"{indent}  do"]
            for inner in statement.body:
                lines += _statement(inner, indent + "    ")
            return lines
        case s.While():
            carried = ", ".join(target.name for target in statement.carrying)
            header = f"{indent}while" + f" carrying {carried}" * bool(carried) + _at(statement.pos)
            lines = [header, *_tree(statement.condition, indent + "    "), f"{indent}  do"]
            return lines + _statements(statement.body, indent + "    ")
        case s.If():
            lines: list[str] = []
            for word, (condition, body) in zip(
                ["if", *["elif"] * len(statement.branches)], statement.branches, strict=False
            ):
                lines += [f"{indent}{word}{_at(condition.pos)}", *_tree(condition, indent + "  ")]
                lines += [f"{indent}  do", *_statements(body, indent + "    ")]
            otherwise = _statements(statement.otherwise, indent + "    ")
            return lines + ([f"{indent}  else", *otherwise] if otherwise else [])
        case s.Assert():
            message = [] if statement.message is None else _tree(statement.message, indent + "  ")
            return [
                f"{indent}assert{_at(statement.pos)}",
                *_tree(statement.condition, indent + "  "),
                *message,
            ]
        case s.Show():
            return [f"{indent}show{_at(statement.pos)}", *_tree(statement.call, indent + "  ")]
        case s.Docstring():
            return [f"{indent}text{_at(statement.pos)}"]
        case s.Function():
            return [indent + line for line in _function(statement)]


def _statements(body: tuple[s.Statement, ...], indent: str) -> list[str]:
    return [line for statement in body for line in _statement(statement, indent)]


def _side(pattern: s.Pattern, targets: tuple[s.Target, ...], inner: bool = False) -> str:
    """What takes a value: a, (b, c)"""
    if isinstance(pattern, int):
        return _target(targets[pattern])
    text = ", ".join(_side(one, targets, True) for one in pattern) + "," * (len(pattern) == 1)
    return f"({text})" if inner else text


def _target(target: s.Target) -> str:
    if target.rest:
        return f"*{target.name}"
    return target.name if target.type is None else f"{target.name}: {type_text(target.type)}"


def _at(pos: s.Pos) -> str:
    return f"  # {pos.line}:{pos.col}"


# ---- types


def type_text(type: s.AnyType | None) -> str:
    """A type as it is written."""
    if type is None:
        return ""
    if isinstance(type, s.NamedType):
        return type.name
    if isinstance(type, s.TupleType):
        return f"({', '.join(map(type_text, type.items))}{',' * (len(type.items) == 1)})"
    dims = ", ".join(_dim(dim) for dim in type.dims)
    return f"{type.dtype}[{dims}]" + "".join(f" {_suffix(suffix)}" for suffix in type.suffixes)


def _dim(dim: s.DimType | s.Rest) -> str:
    if isinstance(dim, s.Rest):
        return f"*{dim.name}"
    size = _inline(dim.size)
    if not dim.annotated:
        return size
    axes = [_axis(axis) for axis in dim.axes]
    split = axes[0] if len(axes) == 1 else f"({', '.join(axes)})" if axes else ""
    priority = "" if dim.priority is None else f":p{dim.priority}"
    return f"{size}@{split}{'?' if dim.open else ''}{priority}"


def _axis(axis: s.AxisRef) -> str:
    return axis.name if axis.part is None else f"{axis.name}:({axis.part[0]}){axis.part[1]}"


def _suffix(suffix: s.Suffix) -> str:
    match suffix:
        case s.Notated():
            return text_of(suffix.written)
        case s.On():
            return f"on {suffix.mesh}"
        case s.Partial():
            return f"partial({suffix.kind}: {', '.join(map(_axis, suffix.axes))})"
        case s.Replicated():
            return "replicated" + (f"({', '.join(map(_axis, suffix.axes))})" if suffix.axes else "")


# ---- expressions


def _tree(root: s.Expr, indent: str) -> list[str]:
    """An expression with its operands indented below it. A stack, because chains may be long."""
    lines: list[str] = []
    todo: list[tuple[s.Expr | s.Keyword | s.Slice | str, str]] = [(root, indent)]
    while todo:
        node, indent = todo.pop()
        if isinstance(node, str):
            lines.append(indent + node)
            continue
        label, inner = _label(node)
        lines.append(indent + label)
        todo += [(one, indent + "  ") for one in reversed(inner)]
    return lines


def _known(node: s.Choice | s.Lambda) -> tuple[str, list[s.Expr | s.Keyword | s.Slice | str]]:
    if isinstance(node, s.Choice):
        return "choice", [node.condition, node.yes, node.no]
    return f"lambda {', '.join(target.name for target in node.parameters)}", [node.body]


def _operator(node: s.Unary | s.Binary) -> tuple[str, list[s.Expr | s.Keyword | s.Slice | str]]:
    if isinstance(node, s.Unary):
        return f"unary {node.op}", [node.operand]
    return node.op, [node.left, node.right]


def _label(node: s.Expr | s.Keyword | s.Slice) -> tuple[str, list[s.Expr | s.Keyword | s.Slice | str]]:
    """What a node is called, and what stands below it."""
    match node:
        case s.Name():
            return node.id, []
        case s.Number():
            return str(node.value), []
        case s.String() | s.Dots():
            return f'"{node.value}"' if isinstance(node, s.String) else "...", []
        case s.Sequence():
            return "tuple", list(node.items)
        case s.Starred() | s.Evaluated():
            return "*", [node.value] if isinstance(node, s.Starred) else []
        case s.Comprehension():
            names = ", ".join(target.name for target in node.targets)
            return f"list for {names} in", [node.source, node.item]
        case s.Record():
            return "record", list(node.entries)
        case s.Choice() | s.Lambda():
            return _known(node)
        case s.Unary() | s.Binary():
            return _operator(node)
        case s.Attribute():
            return f"attribute {node.name}", [node.value]
        case s.Keyword():
            return f"{node.name} =", [node.value]
        case s.Call():
            return "call", [node.function, *node.args, *node.keywords]
        case s.Slice():
            return "slice", [part or "-" for part in (node.start, node.stop, node.step)]
        case s.Index():
            return "index", [node.value, *node.subscripts]


def _inline(expr: s.Expr) -> str:
    """A size or a tuple of axes on one line, with the brackets it needs. A chain is walked in a loop."""
    chain: list[s.Binary] = []
    while isinstance(expr, s.Binary):
        chain.append(expr)
        expr = expr.left
    text, sum_so_far = _leaf(expr), False
    for node in reversed(chain):
        right = _inline(node.right)
        if isinstance(node.right, s.Binary):
            right = f"({right})"
        if sum_so_far and node.op not in "+-":
            text = f"({text})"
        text, sum_so_far = f"{text} {node.op} {right}", node.op in "+-"
    return text


def _leaf(expr: s.Expr) -> str:
    if isinstance(expr, s.Sequence):
        comma = "," if len(expr.items) == 1 else ""
        return f"({', '.join(map(_inline, expr.items))}{comma})"
    return _label(expr)[0]
