"""One plot of a comparison, as SVG: over the vector's size, on logarithmic axes, a panel for each transport and number of ranks."""

import math
from xml.sax.saxutils import escape

from report import amount

PANEL_WIDTH, PANEL_HEIGHT = 760, 260
LEFT, TOP, RIGHT, GAP = 70, 34, 190, 60

# Told apart on white and on black, and by people who see fewer colours (after Okabe and Ito).
COLOURS = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f", "#b2912f", "#a65628"]
STYLE = """
  text { fill: #1b1f24; font: 12px sans-serif; }
  .title { font-weight: bold; font-size: 14px; }
  .paper { fill: #ffffff; }
  .grid { stroke: #d7dbe0; stroke-width: 1; }
  .line { fill: none; stroke-width: 1.6; }
  .first { stroke-width: 3.2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6e8ea; }
    .paper { fill: #15181c; }
    .grid { stroke: #3a4048; }
  }
"""


class Axis:
    """A logarithmic one, from pixel `begin` for the least to `end` for the most."""

    def __init__(self, least, most, begin, end):
        self.least, self.begin, self.end = math.log(least), begin, end
        self.span = max(math.log(most) - self.least, 1e-9)

    def at(self, value):
        return self.begin + (math.log(value) - self.least) / self.span * (self.end - self.begin)


def decades(least, most):
    """1, 2, 5, 10, ... around the range; only powers of ten when it is wide."""
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
    steps = (1,) if high - low > 3 else (1, 2, 5)
    marks = [step * 10.0**power for power in range(low, high + 1) for step in steps]
    inside = [mark for mark in marks if least <= mark <= most]
    return inside or [least]


def values_of(results, kind):
    """{name: [(bytes, value)]}: GB/s, or how many times as long as the first one's time."""
    first = next(iter(results.values()))
    lines = {}
    for name, times in results.items():
        sizes = sorted(size for size in times if isinstance(size, int) and size > 0)
        if kind == "algbw":
            lines[name] = [(size, size / times[size].median_us / 1e3) for size in sizes]
        else:
            lines[name] = [(size, times[size].median_us / first[size].median_us) for size in sizes if size in first]
    return {name: points for name, points in lines.items() if points}


def panel(title, results, kind, top, colours):
    lines = values_of(results, kind)
    sizes = sorted({size for points in lines.values() for size, _ in points})
    heights = [value for points in lines.values() for _, value in points]
    across = Axis(sizes[0], max(sizes[-1], sizes[0] * 2), LEFT, LEFT + PANEL_WIDTH)
    least, most = min(heights) / 1.1, max(heights) * 1.1
    up = Axis(least, most, top + PANEL_HEIGHT, top)
    unit = "GB/s (bytes by time)" if kind == "algbw" else "times as long as Tutti"
    parts = [f'<text class="title" x="{LEFT}" y="{top - 12}">{escape(title)}: {unit}</text>']
    for size in sizes[:: max(1, math.ceil(len(sizes) / 9))]:
        x = across.at(size)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + PANEL_HEIGHT}"/>')
        parts.append(f'<text x="{x:.1f}" y="{top + PANEL_HEIGHT + 18}" text-anchor="middle">{amount(size)}</text>')
    for mark in decades(least, most):
        y = up.at(mark)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + PANEL_WIDTH}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{mark:.9f}'.rstrip("0").rstrip(".") + "</text>")
    for index, (name, points) in enumerate(lines.items()):
        colour = colours[name]
        way = " ".join(f"{across.at(size):.1f},{up.at(value):.1f}" for size, value in points)
        parts.append(f'<polyline class="line{" first" if index == 0 else ""}" stroke="{colour}" points="{way}"/>')
        y = top + 14 + 20 * index
        parts.append(f'<line class="line{" first" if index == 0 else ""}" stroke="{colour}" x1="{LEFT + PANEL_WIDTH + 14}" y1="{y}"'
                     f' x2="{LEFT + PANEL_WIDTH + 34}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT + PANEL_WIDTH + 40}" y="{y + 4}">{escape(name)}</text>')
    return parts


def svg(all_results, kind, note):
    """`all_results`: {title: {name: {what: Timing}}}, Tutti first; `kind`: algbw or ratio. A name has one colour in all panels."""
    all_results = {title: results for title, results in all_results.items() if results and values_of(results, kind)}
    names = dict.fromkeys(name for results in all_results.values() for name in results)
    colours = {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(names)}
    height = TOP + len(all_results) * (PANEL_HEIGHT + GAP) + 10
    width = LEFT + PANEL_WIDTH + RIGHT
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
             f"<style>{STYLE}</style>", f'<rect class="paper" width="{width}" height="{height}"/>']
    for index, (title, results) in enumerate(all_results.items()):
        parts += panel(title, results, kind, TOP + index * (PANEL_HEIGHT + GAP), colours)
    parts += [f'<text x="{LEFT}" y="{height - 8}">{escape(note)}</text>', "</svg>"]
    return "\n".join(parts) + "\n"
