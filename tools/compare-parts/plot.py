"""The picture of a comparison, as SVG: side by side a panel for each of at most three transports and numbers of ranks, over the vector's size, on
logarithmic axes that all panels share. Of a kind of library the fastest counts at each size."""

import math
from xml.sax.saxutils import escape

from report import amount

PANELS = 3
MANY_SIZES = 4  # fewer make no line, so a panel with fewer gives way to others
WIDTH, HEIGHT = 216, 300
LEFT, TOP, LABELS, BOTTOM = 64, 76, 106, 88
LINE = 15  # between two labels

# A name that begins so is of that kind; those of no kind are alternatives of Tutti and limits, which are in the tables.
KINDS = {"Open MPI": "MPI", "MPICH": "MPI", "Gloo": "Gloo", "raw sockets": "raw sockets", "streams": None, "Tutti, ": None}
# Told apart on white and on black, and by people who see fewer colours (after Okabe and Ito); and by their marks.
COLOURS = {"MPI": "#d55e00", "Gloo": "#009e73", "raw sockets": "#7b8187"}
TUTTI, OTHERS = "#0072b2", ["#cc79a7", "#b8860b", "#56b4e9", "#a65628"]
STYLE = """
  text { fill: #1b1f24; font: 12px sans-serif; }
  .title { font-weight: bold; font-size: 15px; }
  .panel { font-weight: bold; font-size: 13px; }
  .label { font-weight: bold; }
  .paper { fill: #ffffff; }
  .grid { stroke: #e3e6ea; stroke-width: 1; }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
  .first { stroke-width: 4; }
  .thin { stroke-width: 1; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6e8ea; }
    .paper { fill: #15181c; }
    .grid { stroke: #30363d; }
  }
"""
ABOUT = {"ratio": ("Time of an all-reduce, as a multiple of Tutti's. Above 1, Tutti is faster.", "times as long as Tutti, logarithmic", "{}x"),
         "algbw": ("Bytes of a vector by the time of its all-reduce. Higher is faster.", "GB/s, logarithmic", "{}")}


class Axis:
    """A logarithmic one, from pixel `begin` for the least to `end` for the most."""

    def __init__(self, least, most, begin, end):
        self.least, self.begin, self.end = math.log(least), begin, end
        self.span = max(math.log(most) - self.least, 1e-9)

    def at(self, value):
        return self.begin + (math.log(value) - self.least) / self.span * (self.end - self.begin)


def kind_of(name):
    return next((kind for begin, kind in KINDS.items() if name.startswith(begin)), name)


def lines_of(results, plotted):
    """{kind: [(bytes, value)]} of the first name's, which is Tutti's, and of the others: GB/s, or how many times as long as the first one's time."""
    first = next(iter(results))
    fastest = {}
    for name, times in results.items():
        kind = name if name == first else kind_of(name)
        for size, timing in times.items():
            if kind and isinstance(size, int) and size > 0:
                known = fastest.setdefault(kind, {})
                known[size] = min(known.get(size, math.inf), timing.median_us)
    own = fastest.get(first, {})
    value = {"algbw": lambda size, time: size / time / 1e3, "ratio": lambda size, time: time / own[size]}[plotted]
    lines = {kind: [(size, value(size, time)) for size, time in sorted(times.items()) if plotted == "algbw" or size in own]
             for kind, times in fastest.items()}
    return {kind: points for kind, points in lines.items() if points}


def marks_between(least, most, steps):
    """1, 2, 5, 10, ... or 1, 2, 4, 8, ...: about as many as fit."""
    if steps == 2:
        return [2.0**power for power in range(math.ceil(math.log2(least)), math.floor(math.log2(most)) + 1)]
    return [10.0**power for power in range(math.ceil(math.log10(least)), math.floor(math.log10(most)) + 1)]


def short(value):
    """Two digits that say something."""
    return f"{value:.{max(0, 1 - math.floor(math.log10(value)))}f}"


def plain(value):
    return f"{value:.9f}".rstrip("0").rstrip(".")


def apart(heights, least, most):
    """{name: y} of labels, near `heights` but not on each other, between `least` and `most`."""
    names = sorted(heights, key=heights.get)
    placed = []
    for name in names:
        placed.append(max(heights[name], placed[-1] + LINE) if placed else max(heights[name], least))
    for index in reversed(range(len(placed))):
        placed[index] = min(placed[index], most - LINE * (len(placed) - 1 - index))
    return dict(zip(names, placed))


def drawn(points, colour, style, across, up):
    """A line, and the marks by which it is known without its colour: circles, squares for Gloo, none on a thick or a thin one."""
    way = " ".join(f"{across.at(size):.1f},{up.at(value):.1f}" for size, value in points)
    parts = [f'<polyline class="line {style}" stroke="{colour}" points="{way}"/>']
    for size, value in points if style in ("round", "square") else []:
        x, y = across.at(size), up.at(value)
        parts.append(f'<circle fill="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' if style == "round" else
                     f'<rect fill="{colour}" x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7"/>')
    return parts


def panel(title, lines, plotted, left, sizes, up, colours, wide):
    """`wide`: whether this one has the numbers of the axis that all panels share."""
    across = Axis(sizes[0], max(sizes[-1], sizes[0] * 2), left, left + WIDTH)
    bottom = TOP + HEIGHT
    parts = [f'<text class="panel" x="{left}" y="{TOP - 14}">{escape(title[:1].upper() + title[1:])}</text>']
    for mark in marks_between(math.exp(up.least), math.exp(up.least + up.span), 2 if plotted == "ratio" else 10):
        y = up.at(mark)
        parts.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{left + WIDTH}" y2="{y:.1f}"/>')
        if wide:
            parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{plain(mark)}</text>')
    for size in sizes[:: max(1, math.ceil(len(sizes) / 4))]:
        x = across.at(size)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{amount(size)}</text>')
    parts.append(f'<text x="{left + WIDTH / 2:.0f}" y="{bottom + 36}" text-anchor="middle">size of the vector</text>')
    for index, (kind, points) in reversed(list(enumerate(lines.items()))):  # Tutti's on top
        style = "first" if index == 0 else {"raw sockets": "thin", "Gloo": "square"}.get(kind, "round")
        parts += drawn(points, colours[kind], style, across, up)
    places = apart({kind: up.at(points[-1][1]) + 4 for kind, points in lines.items()}, TOP + 4, bottom + 4)
    for index, (kind, points) in enumerate(lines.items()):
        last = "" if kind == "raw sockets" or (index == 0 and plotted == "ratio") else " " + ABOUT[plotted][2].format(short(points[-1][1]))
        parts.append(f'<text class="label" style="fill: {colours[kind]}" x="{left + WIDTH + 8}" y="{places[kind]:.1f}">{escape(kind + last)}</text>')
    return parts


def chosen(all_lines):
    """The panels that are drawn: of those that are lines the first, if any are."""
    many = {title: lines for title, lines in all_lines.items() if max(map(len, lines.values())) >= MANY_SIZES}
    return dict(list((many or all_lines).items())[:PANELS])


def svg(all_results, plotted, note):
    """`all_results`: {title: {name: {what: Timing}}}, Tutti first; `plotted`: algbw or ratio. A kind has one colour in all panels."""
    all_lines = {title: lines_of(results, plotted) for title, results in all_results.items() if results}
    panels = chosen({title: lines for title, lines in all_lines.items() if lines})
    others = iter(OTHERS * 9)
    colours = {}
    for lines in panels.values():
        for index, kind in enumerate(lines):
            if kind not in colours:
                colours[kind] = TUTTI if index == 0 else COLOURS.get(kind) or next(others)
    points = [point for lines in panels.values() for line in lines.values() for point in line]
    values = [value for _, value in points] or [1]
    up = Axis(min(values) / 1.15, max(values) * 1.15, TOP + HEIGHT, TOP)
    width, height = LEFT + max(1, len(panels)) * (WIDTH + LABELS), TOP + HEIGHT + BOTTOM
    title, unit, _ = ABOUT[plotted]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
             f"<style>{STYLE}</style>", f'<rect class="paper" width="{width}" height="{height}"/>',
             f'<text class="title" x="{LEFT}" y="26">{title}</text>', f'<text transform="translate(16 {TOP + HEIGHT / 2:.0f}) rotate(-90)"'
             f' text-anchor="middle">{unit}</text>']
    for index, (name, lines) in enumerate(panels.items()):
        sizes = sorted({size for line in lines.values() for size, _ in line})
        parts += panel(name, lines, plotted, LEFT + index * (WIDTH + LABELS), sizes, up, colours, index == 0)
    parts += [f'<text x="{LEFT}" y="{height - 30}">Of several libraries or algorithms of a kind, the fastest at each size is shown.</text>',
              f'<text x="{LEFT}" y="{height - 12}">{escape(note)}</text>', "</svg>"]
    return "\n".join(parts) + "\n"
