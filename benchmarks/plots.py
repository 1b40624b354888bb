"""Plots of lines over logarithmic or linear axes, as SVG."""
import math
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 520, 340, 64, 16, 16, 52
COLOURS = ["#1f6feb", "#d1242f", "#1a7f37", "#8250df", "#bf8700", "#1b7c83", "#6e7781"]


def steps(values):
    """Returns about six round numbers from 0 (or below) to above the largest of some numbers."""
    low, high = min(0, *values), max(values)
    size = (high - low or 1) / 5
    unit = 10.0 ** math.floor(math.log10(size))
    unit *= next(factor for factor in (1, 2, 5, 10) if factor * unit >= size * 0.999)
    first = math.floor(low / unit)
    last = max(first + 1, math.ceil(high / unit * 0.999))
    return [unit * number for number in range(first, last + 1)]


def decades(values):
    """Returns the powers of ten around some numbers above 0."""
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return list(range(first, max(last, first + 1) + 1))


class Axis:
    """Places values between two ends, by their logarithms or, if linear, as they are."""

    def __init__(self, values, ends, linear):
        self.linear, self.ends = linear, ends
        self.ticks = steps(values) if linear else [10.0 ** power for power in decades(values)]

    def at(self, value):
        first, last, value = (number if self.linear else math.log10(number)
                              for number in (self.ticks[0], self.ticks[-1], value))
        return self.ends[0] + (value - first) / (last - first) * (self.ends[1] - self.ends[0])


def line_plot(series, x_label, y_label, linear_x=False, linear_y=False, theory=None):
    """Returns a plot of named lists of points (x, y), above 0 where an axis is not linear; an empty frame where there are
    none. A series that has a line in `theory` is points on it."""
    theory = theory or {}
    points = [point for line in [*series.values(), *theory.values()] for point in line] or [(1, 1)]
    x_axis = Axis([x for x, _ in points], (LEFT, WIDTH - RIGHT), linear_x)
    y_axis = Axis([y for _, y in points], (HEIGHT - BOTTOM, TOP), linear_y)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
             'font-size="12">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for tick in x_axis.ticks:
        x = x_axis.at(tick)
        parts += [f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#ddd"/>',
                  f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{tick:g}</text>']
    for tick in y_axis.ticks:
        y = y_axis.at(tick)
        parts += [f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>',
                  f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>']
    for number, (name, line) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{x_axis.at(x):.1f},{y_axis.at(y):.1f}" for x, y in theory.get(name, line))
        parts += [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>',
                  *(f'<circle cx="{x_axis.at(x):.1f}" cy="{y_axis.at(y):.1f}" r="3" fill="{colour}"/>' for x, y in line),
                  f'<text x="{LEFT + 10}" y="{TOP + 18 + 16 * number}" fill="{colour}">{escape(name)}</text>']
    parts += [f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle">{escape(x_label)}</text>',
              f'<text x="16" y="{(TOP + HEIGHT - BOTTOM) / 2}" text-anchor="middle" '
              f'transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2})">{escape(y_label)}</text>', "</svg>"]
    return "\n".join(parts) + "\n"
