"""Plots of lines over logarithmic axes, as SVG."""
import math
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 520, 340, 64, 16, 16, 52
COLOURS = ["#1f6feb", "#d1242f", "#1a7f37", "#8250df"]


def decades(values):
    """Returns the powers of ten around some numbers above 0."""
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return list(range(first, max(last, first + 1) + 1))


def line_plot(series, x_label, y_label):
    """Returns a plot of named lists of points (x, y), all above 0; an empty frame where there are none."""
    points = [point for line in series.values() for point in line] or [(1, 1)]
    xs, ys = decades([x for x, _ in points]), decades([y for _, y in points])

    def x_at(value):
        return LEFT + (math.log10(value) - xs[0]) / (xs[-1] - xs[0]) * (WIDTH - LEFT - RIGHT)

    def y_at(value):
        return HEIGHT - BOTTOM - (math.log10(value) - ys[0]) / (ys[-1] - ys[0]) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
             'font-size="12">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for power in xs:
        parts += [f'<line x1="{x_at(10.0 ** power):.1f}" y1="{TOP}" x2="{x_at(10.0 ** power):.1f}" y2="{HEIGHT - BOTTOM}" '
                  'stroke="#ddd"/>',
                  f'<text x="{x_at(10.0 ** power):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{10.0 ** power:g}</text>']
    for power in ys:
        parts += [f'<line x1="{LEFT}" y1="{y_at(10.0 ** power):.1f}" x2="{WIDTH - RIGHT}" y2="{y_at(10.0 ** power):.1f}" '
                  'stroke="#ddd"/>',
                  f'<text x="{LEFT - 6}" y="{y_at(10.0 ** power) + 4:.1f}" text-anchor="end">{10.0 ** power:g}</text>']
    for number, (name, line) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{x_at(x):.1f},{y_at(y):.1f}" for x, y in line)
        parts += [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>',
                  *(f'<circle cx="{x_at(x):.1f}" cy="{y_at(y):.1f}" r="3" fill="{colour}"/>' for x, y in line),
                  f'<text x="{LEFT + 10}" y="{TOP + 18 + 16 * number}" fill="{colour}">{escape(name)}</text>']
    parts += [f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle">{escape(x_label)}</text>',
              f'<text x="16" y="{(TOP + HEIGHT - BOTTOM) / 2}" text-anchor="middle" '
              f'transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2})">{escape(y_label)}</text>', "</svg>"]
    return "\n".join(parts) + "\n"
