"""The plots of the report, as HTML with SVG inside.

Positions along an axis are percentages, so that a plot takes the width of the window and its text keeps its size. An
engine has one colour and one marker in every plot. Variants of an engine have its colour and a marker and a dash of their
own. The colours are CSS variables with a light and a dark value; tests/bench/report_page_test.py checks their contrast
and that they differ for the colour-blind.
"""

import html
import math

# The colour of an engine: on a light page, on a dark one.
COLOURS = {"mergedb": ("#0844ea", "#4a86ff"), "leveldb": ("#ce8100", "#ffb924"), "rocksdb": ("#00905a", "#24c68b"),
           "lmdb": ("#8e318a", "#c95fbb"), "fjall": ("#3e4b30", "#fff395"), "pebble": ("#a28a9e", "#a9c7dc"),
           "other": ("#6b7280", "#8d96a3")}
# The page's background: light, dark.
BACKGROUNDS = ("#ffffff", "#14181d")
# Engine: the one whose colour it has, its marker, the dashes of its lines.
STYLES = {
    "mergedb": ("mergedb", "disc", ""), "mergedb-cascade": ("mergedb", "ring", "6 3"), "mergedb-calls": ("mergedb", "target", "2 2"),
    "leveldb": ("leveldb", "square", ""),
    "rocksdb": ("rocksdb", "up", ""), "rocksdb-universal": ("rocksdb", "up-open", "6 3"), "rocksdb-7.8": ("rocksdb", "cross", "2 3"),
    "rocksdb-64m": ("rocksdb", "down-open", "9 3 2 3"), "rocksdb-update": ("rocksdb", "down", "4 2"), "lmdb": ("lmdb", "diamond", ""),
    "fjall": ("fjall", "plus", ""), "pebble": ("pebble", "hexagon", ""), "control": ("other", "dash", "1 3"),
}
OTHER = ("other", "dash", "3 3")
MARKERS = {
    "disc": '<circle r="5"/>', "ring": '<circle r="4" fill="none" stroke-width="2"/>',
    "target": '<circle r="5" fill="none" stroke-width="1.6"/><circle r="2"/>', "square": '<rect x="-4.5" y="-4.5" width="9" height="9"/>',
    "up": '<path d="M0-5.5 5.5 4.5H-5.5Z"/>', "up-open": '<path d="M0-4.5 4.5 3.5H-4.5Z" fill="none" stroke-width="1.8"/>',
    "down": '<path d="M0 5.5 5.5-4.5H-5.5Z"/>', "down-open": '<path d="M0 4.5 4.5-3.5H-4.5Z" fill="none" stroke-width="1.8"/>',
    "cross": '<path d="M-4-4 4 4M-4 4 4-4" fill="none" stroke-width="2.4"/>', "plus": '<path d="M-5.5 0H5.5M0-5.5V5.5" fill="none" stroke-width="3"/>',
    "diamond": '<path d="M0-6 6 0 0 6-6 0Z"/>', "hexagon": '<path d="M-5.5 0-3-5H3L5.5 0 3 5H-3Z"/>', "dash": '<path d="M-5 0H5" stroke-width="3"/>',
}
LABELS_MAX = 10  # with more ticks, a logarithmic axis has labels only at the powers of ten
CUT = 8  # bars longer than this many times the median bar are cut


def style_of(engine):
    return STYLES.get(engine, OTHER)


def colour_css():
    """Returns the variables of the colours, and a class for each engine's colour."""
    light, dark = ("".join(f"--{name}:{pair[i]};" for name, pair in COLOURS.items()) for i in (0, 1))
    classes = "".join(f".e-{name}{{color:var(--{name})}}" for name in COLOURS)
    return f":root{{{light}--back:{BACKGROUNDS[0]}}}@media(prefers-color-scheme:dark){{:root{{{dark}--back:{BACKGROUNDS[1]}}}}}{classes}"


def definitions():
    """Returns the markers, to which the plots of the page refer."""
    symbols = "".join(f'<g id="m-{name}" fill="currentColor" stroke="currentColor">{body}</g>' for name, body in MARKERS.items())
    return f'<svg class="defs" width="0" height="0" aria-hidden="true"><defs>{symbols}</defs></svg>'


def number(value):
    if value is None:
        return "–"
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    if value == int(value) and abs(value) < 1e6:
        return f"{value:,.0f}"
    if abs(value) >= 1e6:
        return f"{value:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 4)}f}"


def text(x, y, words, anchor="start", more=""):
    """x is a number of percent."""
    return f'<text x="{x:.2f}%" y="{y:.1f}" text-anchor="{anchor}" {more}>{html.escape(str(words))}</text>'


def nice_ticks(top, count=5):
    if top <= 0:
        return [0, 1]
    step = 10 ** math.floor(math.log10(top / count))
    step *= next(factor for factor in (1, 2, 5, 10) if top / (step * factor) <= count)
    return [step * i for i in range(math.ceil(top / step) + 1)]


def log_ticks(low, high):
    """Returns 1, 2 and 5 times the powers of ten, from the last one that is not above low to the first not below high."""
    every = [factor * 10.0 ** e for e in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1) for factor in (1, 2, 5)]
    first = max(i for i, tick in enumerate(every) if tick <= low * 1.0001)
    last = min((i for i, tick in enumerate(every) if tick >= high * 0.9999), default=len(every) - 1)
    return every[first:max(last, first + 1) + 1]


def is_power_of_ten(tick):
    exponent = math.log10(tick)
    return abs(exponent - round(exponent)) < 1e-6


class Axis:
    """Places values between `start` and `end` percent of the width."""

    def __init__(self, ticks, start=2, end=98, is_log=False):
        self.ticks, self.start, self.end, self.is_log = ticks, start, end, is_log

    def at(self, value):
        if self.is_log:
            low, high = math.log10(self.ticks[0]), math.log10(self.ticks[-1])
            share = (math.log10(max(value, self.ticks[0])) - low) / ((high - low) or 1)
        else:
            share = (value - self.ticks[0]) / ((self.ticks[-1] - self.ticks[0]) or 1)
        return self.start + min(1.0, share) * (self.end - self.start)

    def tick_class(self, tick):
        return "minor" if self.is_log and not is_power_of_ten(tick) else ""

    def grid(self, height):
        return "".join(f'<line class="grid {self.tick_class(t)}" x1="{self.at(t):.2f}%" x2="{self.at(t):.2f}%" y1="0" y2="{height}"/>'
                       for t in self.ticks)

    def labels(self, y, suffix=""):
        chosen = [t for t in self.ticks if len(self.ticks) <= LABELS_MAX or not self.tick_class(t)]
        return "".join(text(self.at(t), y, f"{t:,.10g}{suffix}", "middle", f'class="{self.tick_class(t)}"') for t in chosen)


def svg(body, height, more=""):
    return f'<svg width="100%" height="{height:.0f}" role="img" {more}>{"".join(body)}</svg>'


def marker(engine, x, y, title=""):
    family, shape, _ = style_of(engine)
    tip = f"<title>{html.escape(title)}</title>" if title else ""
    return f'<g class="e-{family}" data-engine="{html.escape(engine)}"><use href="#m-{shape}" x="{x}" y="{y}"/>{tip}</g>'


def legend(engines, titles):
    """Returns the markers and names of these engines."""
    items = "".join(f'<span><svg width="16" height="14">{marker(id_, 8, 7)}</svg>{html.escape(titles.get(id_, id_))}</span>' for id_ in engines)
    return f'<div class="legend">{items}</div>'


# ---- ratios ---------------------------------------------------------------------------------------------------------

DOT_STEP = 11


def ratio_axis(values):
    """Returns a logarithmic axis that has 1 and all values."""
    values = [value for value in values if value > 0] + [0.8, 2]
    return Axis(log_ticks(min(values), max(values)), is_log=True)


def ratio_head(axis):
    """Returns the axis above the rows of dots: what left and right mean, and the ticks."""
    one = axis.at(1)
    words = text(one - 1.5, 12, "← mergedb slower", "end", 'class="side"') + text(one + 1.5, 12, "mergedb faster →", "start", 'class="side"')
    return svg([words, axis.labels(30, "×")], 36)


def dots(points, axis, titles):
    """points: [(engine, value, low, high)]: times of the engines as multiples of mergedb's. low is None if it ran once."""
    height = DOT_STEP * max(1, len(points)) + 6
    one = axis.at(1)
    body = [f'<rect class="slower" x="0" y="0" width="{one:.2f}%" height="{height}"/>', axis.grid(height),
            f'<line class="one" x1="{one:.2f}%" x2="{one:.2f}%" y1="0" y2="{height}"/>']
    for i, (id_, value, low, high) in enumerate(points):
        y = 3 + DOT_STEP * (i + 0.5)
        tip = f"{titles.get(id_, id_)}: {number(value)} times mergedb's time"
        if low is not None:
            family = style_of(id_)[0]
            a, b = axis.at(low), axis.at(high)
            body.append(f'<g class="whisker e-{family}"><line x1="{a:.2f}%" x2="{b:.2f}%" y1="{y}" y2="{y}"/>' +
                        "".join(f'<line x1="{x:.2f}%" x2="{x:.2f}%" y1="{y - 4}" y2="{y + 4}"/>' for x in (a, b)) + "</g>")
            tip += f", {number(low)} to {number(high)}"
        body.append(marker(id_, f"{axis.at(value):.2f}%", y, tip))
    return svg(body, height)


# ---- bars -----------------------------------------------------------------------------------------------------------


def bar_end(values):
    """Returns the end of the axis of bars, and if longer bars are cut there."""
    ordered = sorted(values) or [1]
    top, middle = ordered[-1], ordered[len(ordered) // 2]
    is_cut = middle > 0 and top > CUT * middle
    return (CUT * middle if is_cut else top), is_cut


def bar(engine, three, axis, end):
    value, low, high = three
    family = style_of(engine)[0]
    length = axis.at(min(value, end))
    is_variant = engine != family
    body = [axis.grid(18), f'<rect class="bar{" variant" if is_variant else ""}" x="0" y="3" width="{length:.2f}%" height="12"/>']
    if value > end:
        body.append(f'<g class="tear"><line x1="{length - 2:.2f}%" x2="{length - 1:.2f}%" y1="17" y2="1"/>'
                    f'<line x1="{length - 1:.2f}%" x2="{length:.2f}%" y1="17" y2="1"/></g>')
    elif low != high:
        a, b = axis.at(low), axis.at(min(high, end))
        body.append('<g class="error">' + f'<line x1="{a:.2f}%" x2="{b:.2f}%" y1="9" y2="9"/>' +
                    "".join(f'<line x1="{x:.2f}%" x2="{x:.2f}%" y1="5" y2="13"/>' for x in (a, b)) + "</g>")
    body.append(text(max(length, axis.at(min(high, end))), 13, number(value), "start", 'dx="6"'))
    return svg(body, 18, f'class="e-{family}" data-engine="{html.escape(engine)}"')


def bars(rows, titles, x_label, marks=()):
    """rows: [(label, {engine: (value, least, most)})]; marks: values with a line through all bars."""
    end, is_cut = bar_end([value for _, values in rows for value, _, _ in values.values()])
    top = max([end, *marks, *([] if is_cut else [high for _, values in rows for _, _, high in values.values()])])
    axis = Axis(nice_ticks(top, 6), 0, 86)
    end = axis.ticks[-1]
    is_cut = any(value > end for _, values in rows for value, _, _ in values.values())
    lines_at = "".join(f'<line class="mark" x1="{axis.at(m):.2f}%" x2="{axis.at(m):.2f}%" y1="0" y2="18"/>' for m in marks)
    body = []
    for label, values in rows:
        body.append(f'<div class="bar-label">{html.escape(label)}</div>')
        for id_ in values:
            body.append(f'<div class="bar-row"><span>{html.escape(titles.get(id_, id_))}</span>' +
                        bar(id_, values[id_], axis, end).replace("</svg>", lines_at + "</svg>") + "</div>")
    cut = f" The axis ends at {number(end)}: longer bars are cut, and have two strokes and their figure." if is_cut else ""
    return (f'<p class="soft">{html.escape(x_label)}.{cut}</p><div class="bars">{"".join(body)}'
            f'<div class="bar-row"><span></span>{svg([axis.labels(14)], 20)}</div></div>')


# ---- lines ----------------------------------------------------------------------------------------------------------


def lines(series, titles, x_label, y_label, x_names=None, is_log=None):
    """series: {engine: [(x, y), ...]}; x_names replaces the numbers under the axis. is_log None: if the values differ so much
    that a linear axis would flatten some of the lines."""
    points = [point for values in series.values() for point in values]
    if not points:
        return "<p>No data.</p>"
    height, bottom, top = 220, 200, 10
    positive = [y for _, y in points if y > 0] or [1]
    tops = [max(y for _, y in values) for values in series.values() if values]
    if is_log is None:
        is_log = min(tops) > 0 and max(tops) > 10 * min(tops)
    low = min(positive) if x_names else max(min(positive), max(positive) / 1000)  # a moment without progress needs no axis of its own
    y_axis = Axis(log_ticks(low, max(positive)) if is_log else nice_ticks(max(tops)), bottom, top, is_log)
    x_axis = Axis(list(range(len(x_names))) if x_names else nice_ticks(max(x for x, _ in points), 6), 1, 97)
    shown = [tick for tick in y_axis.ticks if not is_log or len(y_axis.ticks) <= 8 or is_power_of_ten(tick)]
    labels = [f'<text x="100%" y="{y_axis.at(t) + 4:.1f}" text-anchor="end">{number(t)}</text>' for t in shown]
    body = [f'<line class="grid" x1="0" x2="100%" y1="{y_axis.at(t):.1f}" y2="{y_axis.at(t):.1f}"/>' for t in shown]
    body += [text(x_axis.at(t), height - 4, x_names[i] if x_names else f"{t:,.6g}", "middle") for i, t in enumerate(x_axis.ticks)]
    for id_, values in series.items():
        family, _, dashes = style_of(id_)
        places = [(x_axis.at(x), y_axis.at(y)) for x, y in values]
        body.append(f'<g class="line e-{family}" data-engine="{html.escape(id_)}" stroke-dasharray="{dashes or "none"}">' + "".join(
            f'<line x1="{a[0]:.2f}%" y1="{a[1]:.1f}" x2="{b[0]:.2f}%" y2="{b[1]:.1f}"/>' for a, b in zip(places, places[1:])) + "</g>")
        chosen = range(len(values)) if len(values) <= 12 else sorted({0, len(values) // 2, len(values) - 1})
        body += [marker(id_, f"{places[i][0]:.2f}%", f"{places[i][1]:.1f}", f"{titles.get(id_, id_)}: {number(values[i][1])}") for i in chosen]
    scale = ", logarithmic axis" if is_log else ""
    return (f'<p class="soft">{html.escape(y_label)}{scale}; across: {html.escape(x_label)}</p>{legend(series, titles)}<div class="lines">'
            f'<svg width="100%" height="{height}" aria-hidden="true">{"".join(labels)}</svg>{svg(body, height)}</div>')
