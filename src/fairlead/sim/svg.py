"""SVG shapes, and scales with ticks."""

import math
from collections.abc import Iterable, Sequence
from html import escape

FONT = "font-family='Inter,DejaVu Sans,Arial,sans-serif'"
INK = "#1f2933"
FAINT = "#9aa5b1"
GRID = "#e4e7eb"

Point = tuple[float, float]


class Canvas:
    """Shapes on a white ground."""

    def __init__(self, width: float, height: float) -> None:
        self._width, self._height = width, height
        self._shapes: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float = 11,
        colour: str = INK,
        anchor: str = "start",
        bold: bool = False,
    ) -> None:
        """Text at a point; `anchor` says whether the text begins, ends or is centred there."""
        weight = " font-weight='600'" if bold else ""
        place = f"x='{x:.1f}' y='{y:.1f}' font-size='{size:g}' fill='{colour}' text-anchor='{anchor}'{weight}"
        self._shapes.append(f"<text {place} {FONT}>{escape(words)}</text>")

    def line(self, points: Iterable[Point], colour: str, width: float = 1.0, dashed: bool = False) -> None:
        """A line through points."""
        dash = " stroke-dasharray='5 4'" if dashed else ""
        self._shapes.append(
            f"<polyline points='{_joined(points)}' fill='none' stroke='{colour}' stroke-width='{width:g}'{dash}/>"
        )

    def area(self, points: Iterable[Point], colour: str, opacity: float = 1.0) -> None:
        """A filled shape."""
        self._shapes.append(f"<polygon points='{_joined(points)}' fill='{colour}' fill-opacity='{opacity:g}'/>")

    def dot(self, x: float, y: float, colour: str, radius: float = 2.5, opacity: float = 0.7) -> None:
        """A small circle."""
        place = f"cx='{x:.1f}' cy='{y:.1f}' r='{radius:g}'"
        self._shapes.append(f"<circle {place} fill='{colour}' fill-opacity='{opacity:g}'/>")

    def document(self) -> str:
        """The SVG document."""
        size = f"width='{self._width:g}' height='{self._height:g}' viewBox='0 0 {self._width:g} {self._height:g}'"
        ground = f"<rect width='{self._width:g}' height='{self._height:g}' fill='white'/>"
        return "\n".join([f"<svg xmlns='http://www.w3.org/2000/svg' {size}>", ground, *self._shapes, "</svg>", ""])


class Scale:
    """Maps values to coordinates."""

    def __init__(self, low: float, high: float, start: float, end: float, logarithmic: bool = False) -> None:
        if high <= low:
            high = low * 10 if logarithmic else low + 1.0
        self.low, self.high, self.logarithmic = low, high, logarithmic
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        bounded = min(self.high, max(self.low, value))
        if self.logarithmic:
            part = math.log(bounded / self.low) / math.log(self.high / self.low)
        else:
            part = (bounded - self.low) / (self.high - self.low)
        return self._start + part * (self._end - self._start)

    def ticks(self) -> list[float]:
        """Round values for a few ticks."""
        if not self.logarithmic:
            return _round_steps(self.low, self.high)
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        step = max(1, math.ceil((last - first) / 6))
        powers = [10.0**power for power in range(first, last + 1, step)]
        return [power for power in powers if self.low * 0.999 <= power <= self.high * 1.001]


def spread(values: Sequence[float]) -> tuple[float, float]:
    """A range of whole powers of ten that contains the positive values."""
    low, high = min(values), max(values)
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high * 1.001))


def _round_steps(low: float, high: float) -> list[float]:
    rough = (high - low) / 5
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)
    first = math.ceil(low / step)
    return [number * step for number in range(first, int(high / step + 1e-9) + 1)]


def _joined(points: Iterable[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
