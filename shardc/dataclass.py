"""`dataclass` of the standard library, with methods that are compiled when they are first called.

A program of a few lines imports 300 classes, makes objects of a half of them, and compares or hashes those of
twenty. The standard library compiles six methods of each, which takes half a millisecond a class. Here a
class has its fields at once; what has to be quick is compiled at its first call, and the rest is closures.

Type checkers are told that it is the standard library's, and it is for a class that inherits from a frozen
one made there. It differs in this: `==` compares as tuples do in every version of Python, there are no
`InitVar`s, and a class is not known as frozen to one of the standard library's that inherits from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from dataclasses import dataclass as _of_python
from inspect import Signature, signature
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options):
        """As `dataclasses.dataclass`: for a class, or for options and then a class."""
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        return _of_python(cls, **options) if _is_of_frozen(cls) else _made(cls, **options)


__all__ = ["dataclass"]

_Source = Callable[[type, dict[str, Any]], str]
"""What a method of a class is compiled from; what that names is put into the dictionary."""


def _is_of_frozen(cls: type[Any]) -> bool:
    """Whether a base is a frozen class of the standard library's, as those of xDSL are."""
    params = (getattr(base, "__dataclass_params__", None) for base in cls.__mro__[1:])
    return any(each.frozen for each in params if each)


def _made(
    plain: Any,
    *,
    init: bool = True,
    repr: bool = True,
    eq: bool = True,
    order: bool = False,
    frozen: bool = False,
    slots: bool = False,
    **more: Any,
) -> type[Any]:
    """The class with its fields and methods."""
    own: set[str] = {*plain.__dict__}
    if own >= {"__hash__", "__eq__"} and plain.__hash__ is None:
        own.remove("__hash__")  # Python's mark of a class with __eq__ alone
    if plain.__doc__ is None:
        plain.__doc__ = plain.__name__  # else the standard library writes a signature
    cls: Any = _of_python(plain, init=False, repr=False, eq=False, slots=slots, **more)
    if init and "__init__" not in own:
        _compile_later(cls, "__init__", _init)
        cls.__signature__ = _CLASS_SIGNATURE
    if repr and "__repr__" not in own:
        cls.__repr__ = _repr(cls)
    if eq and "__eq__" not in own:
        _compile_later(cls, "__eq__", _eq)
    if eq and "__hash__" not in own:
        if frozen:
            _compile_later(cls, "__hash__", _hash)
        else:
            cls.__hash__ = None
    for name, sign in _ORDER.items() if order else ():
        _compile_later(cls, name, sign)
    if frozen:
        _freeze(cls)
    if frozen and slots and "__getstate__" not in own:
        cls.__getstate__, cls.__setstate__ = _state, _set_state
    return cls


def _compile_later(cls: type[Any], name: str, source: _Source) -> None:
    """Give a class a method that puts another in its place, compiled from its source, when it is called."""

    def first(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return _compiled(cls, name)(self, *args, **kwargs)

    first.__name__, first.__qualname__ = name, f"{cls.__qualname__}.{name}"
    first.source = source  # pyright: ignore[reportFunctionMemberAccess]
    setattr(cls, name, first)


def _compiled(cls: type[Any], name: str) -> Callable[..., Any]:
    """The method of a class, compiled now if it was not before."""
    method = cls.__dict__[name]
    source: _Source | None = getattr(method, "source", None)
    if source is None:
        return method
    scope: dict[str, Any] = {"_set": object.__setattr__, "_ABSENT": MISSING, "__name__": cls.__module__}
    exec(source(cls, scope), scope)
    made = scope[name]
    made.__qualname__ = method.__qualname__
    setattr(cls, name, made)
    return made


def _init(cls: type[Any], scope: dict[str, Any]) -> str:
    """`__init__`: arguments are those fields that have init, and defaults are looked up in the scope."""
    frozen = cls.__setattr__ is not object.__setattr__
    places: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    for field in fields(cls):
        name, make = field.name, field.default_factory
        held = f"_default_{name}"
        scope[held] = field.default if make is MISSING else make
        absent, default = (held, held) if make is MISSING else ("_ABSENT", f"{held}()")
        if field.init:
            needed = scope[held] is MISSING
            (named if field.kw_only else places).append(name if needed else f"{name}={absent}")
        elif scope[held] is MISSING or getattr(cls, name, None) is scope[held]:
            continue  # it is set later, or the class has it
        value = name if field.init else default
        if field.init and make is not MISSING:
            value = f"{default} if {name} is _ABSENT else {name}"
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    arguments = ", ".join(["self", *places, *(["*", *named] if named else [])])
    return f"def __init__({arguments}):\n " + "\n ".join(lines or ["pass"])


def _tuple(of: str, compared: Iterable[Field[Any]]) -> str:
    """(of.a, of.b,)"""
    return f"({''.join(f'{of}.{field.name}, ' for field in compared)})"


def _compare(name: str, sign: str) -> _Source:
    def source(cls: type[Any], scope: dict[str, Any]) -> str:
        compared = [field for field in fields(cls) if field.compare]
        return (
            f"def {name}(self, other):\n"
            " if other.__class__ is self.__class__:\n"
            f"  return {_tuple('self', compared)} {sign} {_tuple('other', compared)}\n"
            " return NotImplemented"
        )

    return source


_eq = _compare("__eq__", "==")
_SIGNS = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
_ORDER = {name: _compare(name, sign) for name, sign in _SIGNS.items()}


def _hash(cls: type[Any], scope: dict[str, Any]) -> str:
    hashed = [field for field in fields(cls) if (field.compare if field.hash is None else field.hash)]
    return f"def __hash__(self):\n return hash({_tuple('self', hashed)})"


def _repr(cls: type[Any]) -> Callable[[Any], str]:
    @recursive_repr()
    def shown(self: Any) -> str:
        parts = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(cls) if field.repr)
        return f"{type(self).__qualname__}({', '.join(parts)})"

    return shown


def _freeze(cls: Any) -> None:
    """Let nobody change the fields of a class."""
    names = frozenset(field.name for field in fields(cls))

    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)  # pyright: ignore[reportUnknownMemberType]

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)  # pyright: ignore[reportUnknownMemberType]

    cls.__setattr__, cls.__delattr__ = __setattr__, __delattr__


def _state(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


class _ClassSignature:
    """What `inspect.signature` says of a class: that of the `__init__` that is compiled."""

    def __get__(self, instance: object, owner: type[Any]) -> Signature:
        holder = next(cls for cls in owner.__mro__ if "__init__" in cls.__dict__)
        whole = signature(_compiled(holder, "__init__"))
        return whole.replace(parameters=[*whole.parameters.values()][1:])


_CLASS_SIGNATURE = _ClassSignature()
