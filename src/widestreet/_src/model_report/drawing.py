"""Pictures in SVG: lines, bars, points and grids of colours, with axes.

Colours are classes of the style sheet, so that they follow light and dark. Each picture has a title
and a description for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor, log10

import numpy as np

from widestreet._src.arrays import Floats
from widestreet._src.model_report.markup import Markup, in_digits, shortened, tag

WIDTH, HEIGHT = 480.0, 280.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 14.0, 14.0, 44.0
_TICKS = 5
_BAR, _GAP = 26.0, 14.0  # height and distance of horizontal bars
_LABEL_WIDTH = 150.0  # of the names of horizontal bars
_CHARACTER = 6.2  # width of one, on average
_DIGIT = 7.0  # width of one
_NAME_WIDTH = 20.0  # of the turned name of the axis that goes up
_TICK_GAP = 6.0  # from a tick to its number


@dataclass(frozen=True)
class Axis:
    """Numbers from `low` to `high` as places from `start` to `end`.

    Attributes
    ----------
    low, high, start, end : float
    log : bool
        Whether places are proportional to logarithms.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def over(cls, values: Floats, start: float, end: float, *, log: bool = False) -> Axis:
        """Return an axis on which all values have a place."""
        values = values[np.isfinite(values) & ((values > 0) | (not log))]
        low, high = (values.min(), values.max()) if len(values) else (1.0, 1.0)
        if log:
            low, high = 10.0 ** floor(log10(low)), 10.0 ** ceil(log10(high))
        if low == high:
            low, high = (low / 10, high * 10) if log else (low - 1.0, high + 1.0)
        return cls(float(low), float(high), start, end, log)

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = log10(low), log10(high), log10(value)
        return self.start + (self.end - self.start) * (at - low) / (high - low)

    def shows(self, value: float) -> bool:
        """Return whether a value has a place on the axis."""
        return bool(np.isfinite(value)) and (value > 0 or not self.log)

    def ticks(self) -> list[float]:
        """Return the values that are marked."""
        if self.log:
            first, last = round(log10(self.low)), round(log10(self.high))
            every = max(1, ceil((last - first) / _TICKS))
            return [10.0**e for e in range(first, last + 1, every)]
        rough = (self.high - self.low) / _TICKS
        size = 10.0 ** floor(log10(rough))
        step = next(f * size for f in (1, 2, 5, 10) if f * size >= rough)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [0.0 if k == 0 else k * step for k in range(first, last + 1)]


@dataclass
class Plot:
    """A picture with two axes, to which marks are added.

    Attributes
    ----------
    x, y : Axis
    names : tuple of str
        What stands at the axes.
    marks : list of Markup
    legend : list of tuple
        Name and class of each series.
    """

    x: Axis
    y: Axis
    names: tuple[str, str]
    marks: list[Markup] = field(default_factory=list)
    legend: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, x: Floats, y: Floats, names: tuple[str, str], *, log_y: bool = False) -> Plot:
        """Return an empty picture in which all of these values have a place."""
        up = Axis.over(np.asarray(y, dtype=np.float64), HEIGHT - _BOTTOM, _TOP, log=log_y)
        longest = _DIGIT * max((len(in_digits(value)) for value in up.ticks()), default=0)
        left = max(_LEFT, _NAME_WIDTH + longest + _TICK_GAP)
        across = Axis.over(np.asarray(x, dtype=np.float64), left, WIDTH - _RIGHT)
        return cls(across, up, names)

    def line(self, name: str, style: str, x: Floats, y: Floats) -> None:
        """Add points that are connected. Sets: marks, legend."""
        shown = [(a, b) for a, b in zip(x, y, strict=True) if self.x.shows(a) and self.y.shows(b)]
        places = [f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in shown]
        self.marks.append(tag("polyline", points=" ".join(places), class_=f"line {style}"))
        self.points(style, x, y, 2.2)
        self.legend.append((name, style))

    def points(self, style: str, x: Floats, y: Floats, radius: float = 2.5) -> None:
        """Add points. Sets: marks."""
        for a, b in zip(x, y, strict=True):
            if self.x.shows(a) and self.y.shows(b):
                place = {"cx": f"{self.x(a):.1f}", "cy": f"{self.y(b):.1f}"}
                self.marks.append(tag("circle", **place, r=radius, class_=f"point {style}"))

    def rule(self, style: str, *, x: float | None = None, y: float | None = None) -> None:
        """Add a line across the picture at a value of one axis. Sets: marks."""
        if x is not None and self.x.low <= x <= self.x.high:
            at, ends = f"{self.x(x):.1f}", (self.y.start, self.y.end)
            self.marks.append(
                tag("line", x1=at, x2=at, y1=ends[0], y2=ends[1], class_=f"rule {style}")
            )
        if y is not None and self.y.low <= y <= self.y.high:
            at, ends = f"{self.y(y):.1f}", (self.x.start, self.x.end)
            self.marks.append(
                tag("line", y1=at, y2=at, x1=ends[0], x2=ends[1], class_=f"rule {style}")
            )

    def band(self, low: float, high: float, style: str) -> None:
        """Shade what lies between two values of x. Sets: marks."""
        a, b = self.x(max(low, self.x.low)), self.x(min(high, self.x.high))
        if a < b:
            place = {"x": f"{a:.1f}", "width": f"{b - a:.1f}"}
            up = {"y": self.y.end, "height": self.y.start - self.y.end}
            self.marks.insert(0, tag("rect", **place, **up, class_=f"band {style}"))

    def columns(self, name: str, style: str, edges: Floats, low: Floats, high: Floats) -> None:
        """Add the columns of a histogram. Sets: marks, legend."""
        for a, b, bottom, top in zip(edges[:-1], edges[1:], low, high, strict=True):
            if top > bottom:
                place = {"x": f"{self.x(a) + 0.5:.1f}", "width": f"{self.x(b) - self.x(a) - 1:.1f}"}
                up = {
                    "y": f"{self.y(top):.1f}",
                    "height": f"{self.y(bottom) - self.y(top):.1f}",
                }
                self.marks.append(tag("rect", **place, **up, class_=f"bar {style}"))
        self.legend.append((name, style))

    def svg(self, title: str, description: str) -> Markup:
        """Return the picture."""
        axes = []
        for value in self.x.ticks():
            at = f"{self.x(value):.1f}"
            axes.append(tag("line", x1=at, x2=at, y1=self.y.start, y2=self.y.end, class_="grid"))
            axes.append(_text(self.x(value), self.y.start + 16, in_digits(value), "middle"))
        for value in self.y.ticks():
            at = f"{self.y(value):.1f}"
            axes.append(tag("line", y1=at, y2=at, x1=self.x.start, x2=self.x.end, class_="grid"))
            axes.append(_text(self.x.start - _TICK_GAP, self.y(value) + 4, in_digits(value), "end"))
        middle = (self.y.start + self.y.end) / 2
        across = _text((self.x.start + self.x.end) / 2, HEIGHT - 8, self.names[0], "middle")
        up = tag(
            "text",
            self.names[1],
            x=14,
            y=middle,
            text_anchor="middle",
            transform=f"rotate(-90 14 {middle:.1f})",
        )
        picture = _svg(title, description, WIDTH, HEIGHT, *axes, *self.marks, across, up)
        return tag("figure", picture, _legend(self.legend))


def bars(
    title: str,
    description: str,
    names: Sequence[str],
    parts: Sequence[tuple[str, str, Floats]],
) -> Markup:
    """Return horizontal bars, each divided into parts.

    Parameters
    ----------
    title, description : str
    names : sequence of str
        Name of each bar.
    parts : sequence of tuple
        Name, class and lengths of each part.
    """
    total = np.sum([lengths for _, _, lengths in parts], axis=0)
    axis = Axis(0.0, float(np.max(total, initial=0.0)) or 1.0, _LABEL_WIDTH, WIDTH - 8.0)
    marks = []
    for k, name in enumerate(names):
        y, done = 4.0 + k * (_BAR + _GAP), 0.0
        short = name if len(name) * _CHARACTER < _LABEL_WIDTH else name[:22] + "…"
        marks.append(_text(_LABEL_WIDTH - 8, y + _BAR / 2 + 4, short, "end"))
        for _, style, lengths in parts:
            a, b = axis(done), axis(done + lengths[k])
            if b > a:
                marks.append(
                    tag("rect", x=f"{a:.1f}", width=f"{b - a:.1f}", y=y, height=_BAR,
                        class_=f"bar {style}")
                )  # fmt: skip
            done += lengths[k]
    height = 8.0 + len(names) * (_BAR + _GAP)
    legend = [(name, style) for name, style, _ in parts] if len(parts) > 1 else []
    return tag("figure", _svg(title, description, WIDTH, height, *marks), _legend(legend))


def colour_grid(
    title: str,
    description: str,
    names: tuple[str, str],
    labels: tuple[Sequence[str], Sequence[str]],
    values: Floats,
    marked: tuple[int, int] | None = None,
) -> Markup:
    """Return a grid whose cells are the darker the larger their values are.

    Parameters
    ----------
    title, description : str
    names : tuple of str
        What stands at the axes, across and up.
    labels : tuple of sequence of str
        Names of the columns and of the rows.
    values : ndarray of shape (rows, columns)
        From the lowest row to the highest; nan leaves a cell empty.
    marked : tuple of int, default=None
        Row and column of a cell with a frame.
    """
    low, high = np.nanmin(values), np.nanmax(values)
    span = (high - low) or 1.0
    wide = (WIDTH - _LEFT - _RIGHT) / values.shape[1]
    tall = min(30.0, (HEIGHT - _TOP - _BOTTOM) / values.shape[0])
    height = _TOP + _BOTTOM + tall * values.shape[0]
    marks = []
    for i, line in enumerate(values):
        y = _TOP + tall * (values.shape[0] - 1 - i)
        marks.append(_text(_LEFT - 6, y + tall / 2 + 4, labels[1][i], "end"))
        for j, value in enumerate(line):
            if np.isfinite(value):
                frame = " marked" if (i, j) == marked else ""
                depth = f"{0.08 + 0.92 * (value - low) / span:.2f}"
                marks.append(
                    tag("rect", x=f"{_LEFT + j * wide + 1:.1f}", y=f"{y + 1:.1f}",
                        width=f"{wide - 2:.1f}", height=f"{tall - 2:.1f}",
                        class_=f"cell{frame}", fill_opacity=depth)
                )  # fmt: skip
    longest = _CHARACTER * max(map(len, labels[0])) + 4.0
    every = max(1, ceil(longest / wide))
    marks += [
        _text(_LEFT + (j + 0.5) * wide, height - 26, labels[0][j], "middle")
        for j in range(0, values.shape[1], every)
    ]
    marks.append(_text((_LEFT + WIDTH - _RIGHT) / 2, height - 8, names[0], "middle"))
    marks.append(_text(_LEFT - 6, _TOP - 3, names[1], "end"))
    return tag("figure", _svg(title, description, WIDTH, height, *marks))


def _svg(title: str, description: str, width: float, height: float, *marks: Markup) -> Markup:
    """Return a picture with its title and description."""
    return tag(
        "svg",
        tag("title", title),
        tag("desc", description),
        *marks,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=f"{title}. {description}",
    )


def _text(x: float, y: float, content: str, anchor: str) -> Markup:
    return tag("text", shortened(content), x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


def _legend(entries: Sequence[tuple[str, str]]) -> Markup:
    """Return the names of the series with their colours."""
    if not entries:
        return Markup("")
    items = [
        tag("li", tag("span", class_=f"swatch {style}", aria_hidden="true"), shortened(name))
        for name, style in entries
    ]
    return tag("ul", *items, class_="legend")
