"""The few SVG elements that pictures are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr


def element(name: str, children: Iterable[str] = (), /, **attributes: object) -> str:
    """An element; an underscore in an attribute's name is a dash, one at the end nothing."""
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}={quoteattr(_number(value))}"
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(children)
    return f"<{name}{given}>{inner}</{name}>\n" if inner else f"<{name}{given}/>\n"


def text(content: str, x: float, y: float, **attributes: object) -> str:
    """A line of text; (x, y) is the middle of its base line unless `text_anchor` says otherwise."""
    return element("text", [escape(content)], x=x, y=y, **{"text_anchor": "middle", **attributes})


def tooltip(content: str) -> str:
    """What is shown when the pointer rests on the element that this is in."""
    return element("title", [escape(content)])


def polygon(points: Sequence[tuple[float, float]], **attributes: object) -> str:
    """A closed shape."""
    return element("polygon", points=" ".join(f"{_number(x)},{_number(y)}" for x, y in points), **attributes)


def document(width: float, height: float, children: Iterable[str], style: str) -> str:
    """A whole file on white ground."""
    ground = element("rect", width=width, height=height, fill="white")
    return element(
        "svg",
        [element("style", [escape(style)]), ground, *children],
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {_number(width)} {_number(height)}",
    )


def _number(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
