"""A picture of a sharded tensor: its blocks, and on each the devices that hold it.

One dimension is a strip, two are a grid, three and more are a slab for each part of the leading ones. On a
block, copies stand side by side with = between them; partial results are hatched and stand one above the
other with their operation between. With several processes, a device's border has the colour of its process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from colorsys import hls_to_rgb
from functools import cached_property
from itertools import accumulate
from math import ceil, sqrt

from msgspec import Struct

from shardc.explain.blocks_grid import Cell, Grid, Holder, Range, grid_of
from shardc.explain.svg import document, element, polygon, text, tooltip
from shardc.layout import Sharding
from shardc.layout.uneven import Policy

STYLE = (
    "text{font-family:Helvetica,Arial,sans-serif;font-size:13px;fill:#222}.small{fill:#666;font-size:12px}"
)
PROCESSES = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#e377c2", "#17becf")
OPERATIONS = {"sum": "+", "max": "max", "min": "min"}

CHIP = 22
"""The height of a device, in pixels."""
GAP = 14
PAD = 10
MARGIN = 24
MOST_CHIPS = 16
"""More copies than this are counted, not drawn."""
MOST_PARTIALS = 8
"""More partial results than this are counted, not drawn."""
DEPTH = 9
"""How thick slabs look."""


def draw(sharding: Sharding, shape: Sequence[int], policy: Policy = "ceil", title: str = "") -> str:
    """The picture as SVG. LayoutError if the layout doesn't fit the shape, or is too fine to draw."""
    grid = grid_of(sharding, shape, policy)
    return _Picture(grid, sharding, tuple(shape), title).document()


class _Picture(Struct, frozen=True, dict=True):
    grid: Grid
    sharding: Sharding
    shape: tuple[int, ...]
    title: str

    def document(self) -> str:
        """Title, panels in rows, legend."""
        parts = [_hatch(), text(self.title, MARGIN, MARGIN + 4, text_anchor="start", font_weight="bold")]
        parts.append(text(self._subtitle(), MARGIN, MARGIN + 24, text_anchor="start", class_="small"))
        width, height = self._panel_size
        across = max(1, min(len(self._panels), 960 // ceil(width)))
        top = MARGIN + 40
        for number, (lead, rows) in enumerate(self._panels):
            x, y = number % across * width, top + number // across * height
            parts += self._panel(lead, rows, x, y, number == 0)
        top += ceil(len(self._panels) / across) * height
        legend = list(self._legend(top))
        longest = max(map(len, (self.title, self._subtitle(), *(line for line, _ in legend))))
        total = max(across * width + MARGIN, 7.2 * longest + 2 * MARGIN)
        parts += [markup for _, markup in legend]
        return document(total, top + 20 * len(legend) + MARGIN / 2, parts, STYLE)

    @cached_property
    def _panels(self) -> list[tuple[tuple[Range, ...], list[list[Cell]]]]:
        return list(self.grid.panels())

    @cached_property
    def _chip_width(self) -> float:
        digits = max(len(str(h.device)) for c in self.grid.cells.values() for g in c.holders for h in g)
        return 14.0 + 8 * digits

    @cached_property
    def _needed(self) -> tuple[float, float]:
        """The smallest size of a cell that its devices fit into."""
        cells = self.grid.cells.values()
        copies = max(len(group) for cell in cells for group in cell.holders)
        partials = min(MOST_PARTIALS, max(len(cell.holders) for cell in cells))
        more = 18 * any(len(cell.holders) > MOST_PARTIALS for cell in cells)
        columns = _columns(copies)
        lines = ceil(min(copies, MOST_CHIPS) / columns) + (copies > MOST_CHIPS)
        width = columns * self._chip_width + (columns - 1) * GAP
        height = partials * (lines * CHIP + (lines - 1) * 5) + (partials - 1) * GAP
        return max(width, 72.0 * (copies > MOST_CHIPS), 120.0 * (more > 0)) + 2 * PAD, height + more + 2 * PAD

    @cached_property
    def _sizes(self) -> tuple[list[float], list[float]]:
        """The widths of columns and the heights of rows: in proportion to elements where there is room."""
        rows = self.grid.ranges[-2] if len(self.grid.shown) > 1 else ((0, 1),)
        columns = self.grid.ranges[-1] if self.grid.shown else ((0, 1),)
        most = 420 if len(self._panels) == 1 else 240
        unit = most / max(columns[-1][1], rows[-1][1], 1)
        width, height = self._needed
        width = max(width, _label_width(columns) + 8)
        widths = [max(width, unit * (stop - start)) for start, stop in columns]
        if len(self.grid.shown) < 2:
            return widths, [height]
        return widths, [max(height, unit * (stop - start)) for start, stop in rows]

    @cached_property
    def _left(self) -> float:
        """The room for the labels of rows."""
        return 54.0 + _label_width(self.grid.ranges[-2]) if len(self.grid.shown) > 1 else float(MARGIN)

    @cached_property
    def _panel_size(self) -> tuple[float, float]:
        widths, heights = self._sizes
        labels = [self._lead_text(lead) for lead, _ in self._panels if lead]
        width = max(self._left + sum(widths), *(MARGIN + 8.0 * len(label) for label in labels), 0)
        return width + MARGIN, 46 + sum(heights) + (26 if labels else 0) + 14

    def _subtitle(self) -> str:
        names = ", ".join(f"{name}={size}" for name, size in self.sharding.mesh.axes)
        dropped = [d for d in range(len(self.shape)) if d not in self.grid.shown]
        left_out = (
            f"; not shown: dimensions {', '.join(map(str, dropped))}, which are whole" if dropped else ""
        )
        return f"tensor {self.shape} on mesh {names or 'of one device'}{left_out}"

    def _panel(
        self, lead: tuple[Range, ...], rows: list[list[Cell]], x: float, y: float, labelled: bool
    ) -> Iterator[str]:
        widths, heights = self._sizes
        left, top = x + self._left, y + 46
        lefts = [left, *accumulate(widths, initial=left)][1:]
        tops = [top, *accumulate(heights, initial=top)][1:]
        if lead:
            yield from _slab(left, top, sum(widths), sum(heights))
        for row, cells in enumerate(rows):
            for column, cell in enumerate(cells):
                yield from self._cell(cell, lefts[column], tops[row], widths[column], heights[row])
        yield from self._labels(lead, lefts, tops)

    def _labels(self, lead: tuple[Range, ...], lefts: list[float], tops: list[float]) -> Iterator[str]:
        shown, ranges = self.grid.shown, self.grid.ranges
        if shown:
            middle = (lefts[0] + lefts[-1]) / 2
            yield text(f"dimension {shown[-1]}", middle, tops[0] - 28, class_="small")
            for (start, stop), a, b in zip(ranges[-1], lefts, lefts[1:], strict=False):
                yield text(f"{start}:{stop}", (a + b) / 2, tops[0] - 12)
        if len(shown) > 1:
            x, middle = lefts[0] - self._left + 22, (tops[0] + tops[-1]) / 2
            turn = f"rotate(-90 {x:.0f} {middle:.0f})"
            yield text(f"dimension {shown[-2]}", x, middle, class_="small", transform=turn)
            for (start, stop), a, b in zip(ranges[-2], tops, tops[1:], strict=False):
                yield text(f"{start}:{stop}", lefts[0] - 8, (a + b) / 2 + 4, text_anchor="end")
        if lead:
            x = lefts[0] - self._left + MARGIN
            yield text(self._lead_text(lead), x, tops[-1] + 20, text_anchor="start", font_weight="bold")

    def _lead_text(self, lead: Sequence[Range]) -> str:
        """What a slab is of."""
        return ", ".join(f"dimension {d}: {a}:{b}" for d, (a, b) in zip(self.grid.shown, lead, strict=False))

    def _cell(self, cell: Cell, x: float, y: float, width: float, height: float) -> Iterator[str]:
        yield element("rect", x=x, y=y, width=width, height=height, fill=_colour(cell.number), stroke="#444")
        groups = [_Group(group, len(cell.holders) > 1) for group in cell.holders[:MOST_PARTIALS]]
        heights = [group.lines * CHIP + (group.lines - 1) * 5 for group in groups]
        more = 18 * (len(cell.holders) > MOST_PARTIALS)
        top = y + (height - sum(heights) - GAP * (len(groups) - 1) - more) / 2
        for number, (group, size) in enumerate(zip(groups, heights, strict=True)):
            if number:
                yield text(
                    OPERATIONS[self.sharding.kind], x + width / 2, top - GAP / 2 + 4, font_weight="bold"
                )
            yield from self._chips(group, cell, x + width / 2, top)
            top += size + GAP
        if more:
            yield text(f"… {len(cell.holders)} partial results", x + width / 2, top + 2)

    def _chips(self, group: _Group, cell: Cell, middle: float, top: float) -> Iterator[str]:
        step = self._chip_width + GAP
        for line, holders in enumerate(group.rows()):
            x = middle - (len(holders) * step - GAP) / 2
            y = top + line * (CHIP + 5)
            for number, holder in enumerate(holders):
                if number:
                    yield text("=", x - GAP / 2, y + 15)
                yield self._chip(holder, cell, x, y, group.partial)
                x += step
        if group.hidden:
            yield text(f"… {len(group.holders)} copies", middle, top + (group.lines - 1) * (CHIP + 5) + 15)

    def _chip(self, holder: Holder, cell: Cell, x: float, y: float, partial: bool) -> str:
        several = self.sharding.mesh.processes > 1
        border = PROCESSES[holder.process % len(PROCESSES)] if several else "#444"
        where = ", ".join(f"{start}:{stop}" for start, stop in cell.place)
        note = f"device {holder.device}" + (f" of process {holder.process}" if several else "")
        return element(
            "g",
            [
                tooltip(f"{note}: [{where}]"),
                element(
                    "rect",
                    x=x,
                    y=y,
                    width=self._chip_width,
                    height=CHIP,
                    rx=6,
                    fill="url(#hatch)" if partial else "white",
                    stroke=border,
                    stroke_width=2.5 if several else 1,
                ),
                text(str(holder.device), x + self._chip_width / 2, y + 15.5),
            ],
        )

    def _legend(self, top: float) -> Iterator[tuple[str, str]]:
        """Only what the picture has."""
        lines = ["a number is a device; a colour is a block of the tensor"]
        cells = self.grid.cells.values()
        if any(len(group) > 1 for cell in cells for group in cell.holders):
            lines.append("=  copies: the devices hold the same")
        if any(len(cell.holders) > 1 for cell in cells):
            kind = self.sharding.kind
            lines.append(f"{OPERATIONS[kind]}  partial results, hatched: their {kind} is the block")
        if self.grid.empty:
            lines.append(f"hold nothing: {', '.join(map(str, self.grid.empty[:16]))}")
        y = top + 12
        for line in lines:
            yield line, text(line, MARGIN, y, text_anchor="start", class_="small")
            y += 20
        if self.sharding.mesh.processes > 1:
            names = [f"process {i}" for i in range(min(self.sharding.mesh.processes, len(PROCESSES)))]
            yield " ".join(names), "".join(_process(i, name, y) for i, name in enumerate(names))


class _Group(Struct, frozen=True):
    """The holders of copies, in lines."""

    holders: tuple[Holder, ...]
    partial: bool

    @property
    def hidden(self) -> bool:
        return len(self.holders) > MOST_CHIPS

    def rows(self) -> list[tuple[Holder, ...]]:
        """The holders that are drawn."""
        drawn, columns = self.holders[:MOST_CHIPS], _columns(len(self.holders))
        return [drawn[i : i + columns] for i in range(0, len(drawn), columns)]

    @property
    def lines(self) -> int:
        return len(self.rows()) + self.hidden


def _label_width(ranges: Sequence[Range]) -> float:
    return 7.5 * max(len(f"{start}:{stop}") for start, stop in ranges)


def _columns(copies: int) -> int:
    return min(4, copies) if copies <= 8 else ceil(sqrt(min(copies, MOST_CHIPS)))


def _slab(x: float, y: float, width: float, height: float) -> Iterator[str]:
    """The top and the right side of a slab behind a panel."""
    right, bottom, d = x + width, y + height, DEPTH
    yield polygon([(x, y), (x + d, y - d), (right + d, y - d), (right, y)], fill="#e4e4e4", stroke="#444")
    side = [(right, y), (right + d, y - d), (right + d, bottom - d), (right, bottom)]
    yield polygon(side, fill="#cfcfcf", stroke="#444")


def _colour(number: int) -> str:
    """A light colour; those of neighbouring numbers are far apart on the wheel."""
    light = 0.84 if number // 12 % 2 == 0 else 0.76
    rgb = hls_to_rgb(number * 0.381966 % 1, light, 0.65)
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)


def _hatch() -> str:
    """The ground of partial results."""
    line = element("path", d="M0 8 L8 0", stroke="#ccc", stroke_width=1.5)
    ground = element("rect", width=8, height=8, fill="white")
    pattern = element("pattern", [ground, line], id="hatch", width=8, height=8, patternUnits="userSpaceOnUse")
    return element("defs", [pattern])


def _process(number: int, name: str, y: float) -> str:
    x = MARGIN + 90 * number
    box = element(
        "rect",
        x=x,
        y=y - 11,
        width=14,
        height=14,
        rx=4,
        fill="white",
        stroke=PROCESSES[number],
        stroke_width=2.5,
    )
    return box + text(name, x + 20, y, text_anchor="start", class_="small")
