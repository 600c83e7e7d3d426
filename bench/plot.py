"""Three kinds of plot as SVG text, in the colours of the page (currentColor, and classes c0..c7 for the series)."""

import html
import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 960, 320, 70, 250, 24, 40


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
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{html.escape(str(words))}</text>'


def svg(body, height=HEIGHT):
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" font-size="11" fill="currentColor">{"".join(body)}</svg>'


def nice_ticks(top, count=5):
    if top <= 0:
        return [0, 1]
    step = 10 ** math.floor(math.log10(top / count))
    step *= next(factor for factor in (1, 2, 5, 10) if top / (step * factor) <= count)
    return [step * i for i in range(math.ceil(top / step) + 1)]


def log_ticks(low, high):
    return [10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


class Axis:
    def __init__(self, ticks, start, end, is_log):
        self.ticks, self.start, self.end, self.is_log = ticks, start, end, is_log

    def at(self, value):
        if self.is_log:
            low, high = math.log10(self.ticks[0]), math.log10(self.ticks[-1])
            share = (math.log10(max(value, self.ticks[0])) - low) / ((high - low) or 1)
        else:
            share = (value - self.ticks[0]) / ((self.ticks[-1] - self.ticks[0]) or 1)
        return self.start + share * (self.end - self.start)


def legend(names):
    return [f'<rect class="c{i % 8}" x="{WIDTH - RIGHT + 14}" y="{TOP + 18 * i}" width="10" height="10"/>' +
            text(WIDTH - RIGHT + 30, TOP + 9 + 18 * i, name) for i, name in enumerate(names)]


def lines(series, x_label, y_label, x_names=None, is_log=False):
    """series: {name: [(x, y), ...]}; x_names replaces the numbers under the axis."""
    points = [point for values in series.values() for point in values]
    if not points:
        return "<p>No data.</p>"
    highest = max(y for _, y in points)
    positive = [y for _, y in points if y > 0] or [1]
    y_axis = Axis(log_ticks(min(positive), max(positive) * 1.0001) if is_log else nice_ticks(highest), HEIGHT - BOTTOM, TOP, is_log)
    x_ticks = list(range(len(x_names))) if x_names else nice_ticks(max(x for x, _ in points), 8)
    x_axis = Axis(x_ticks, LEFT, WIDTH - RIGHT, False)
    body = [text(LEFT, TOP - 10, y_label), text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, x_label, "middle")]
    for tick in y_axis.ticks:
        y = y_axis.at(tick)
        body.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        body.append(text(LEFT - 6, y + 4, number(tick), "end"))
    for i, tick in enumerate(x_ticks):
        body.append(text(x_axis.at(tick), HEIGHT - BOTTOM + 16, x_names[i] if x_names else number(tick), "middle"))
    for i, values in enumerate(series.values()):
        path = " ".join(f"{x_axis.at(x):.1f},{y_axis.at(y):.1f}" for x, y in values)
        body.append(f'<polyline class="s{i % 8}" points="{path}"/>')
    return svg(body + legend(series))


def bars(rows, names, x_label, marks=()):
    """rows: [(label, {name: (value, low, high)})], horizontal, with a whisker from low to high; marks: x values
    with a line."""
    bar, step, gap, label_width = 13, 16, 14, 250
    height = TOP + sum(step * len(values) + gap for _, values in rows) + BOTTOM
    top = max([high for _, values in rows for _, _, high in values.values()] + [1])
    axis = Axis(nice_ticks(top, 8), label_width, WIDTH - RIGHT - 40, False)  # space for a number after the longest bar
    body = [text((label_width + WIDTH - RIGHT) / 2, height - 6, x_label, "middle")]
    for tick in axis.ticks:
        x = axis.at(tick)
        body.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{height - BOTTOM}"/>')
        body.append(text(x, height - BOTTOM + 16, number(tick), "middle"))
    y = TOP + gap / 2
    for label, values in rows:
        body.append(text(label_width - 8, y + step * len(values) / 2 + 3, label, "end"))
        for i, name in enumerate(names):
            if name not in values:
                continue
            value, low, high = values[name]
            body.append(f'<rect class="c{i % 8}" x="{label_width}" y="{y}" width="{max(1, axis.at(value) - label_width):.1f}" height="{bar}"/>')
            body.append(f'<line class="whisker" x1="{axis.at(low):.1f}" x2="{axis.at(high):.1f}" y1="{y + bar / 2}" y2="{y + bar / 2}"/>')
            body.append(text(axis.at(high) + 4, y + 10, number(value)))
            y += step
        y += gap
    for mark in marks:
        body.append(f'<line class="mark" x1="{axis.at(mark):.1f}" x2="{axis.at(mark):.1f}" y1="{TOP}" y2="{height - BOTTOM}"/>')
    return svg(body + legend(names), height)
