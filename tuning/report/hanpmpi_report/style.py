"""How all pictures look: one colour for one thing, sizes and times as people write them, the same bytes for
the same data."""
import io
import math
import os
import textwrap

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from .configurations import bytes_text

WIDTH, DPI = 9.0, 100 # inches, so 900 pixels
# Okabe and Ito's colours, which colour-blind people can tell apart, and two greys. Wine is Tol's.
GREEN, VERMILLION, BLUE, SKY, ORANGE, PURPLE, WINE = "#009e73", "#d55e00", "#0072b2", "#56b4e9", "#e69f00", "#cc79a7", "#882255"
DARK, GREY = "#333333", "#767676"
HOST, BOUND, LIBRARY, BEST = VERMILLION, DARK, GREEN, BLUE
SEARCH_COLORS = {"exhaustive": BEST, "heuristic": SKY, "task": LIBRARY, "task+heuristic": WINE}
SEARCH_MARKERS = {"exhaustive": "s", "heuristic": "^", "task": "o", "task+heuristic": "D"}
MODEL_COLORS = {"lockstep": ORANGE, "events": PURPLE}
MODEL_MARKERS = {"lockstep": "s", "events": "o"}
MEAN = MEDIAN = GREY

TITLE_POINTS, TEXT_POINTS, SMALL_POINTS = 12, 9, 8
MOST_TICKS = 8


def use():
    """Before the first picture: what matplotlib's own settings have to be, whatever the user's are."""
    matplotlib.rcdefaults()
    matplotlib.rcParams.update({
        "font.family": "DejaVu Sans", "font.size": TEXT_POINTS, "axes.spines.top": False, "axes.spines.right": False,
        "axes.edgecolor": GREY, "axes.grid": True, "axes.axisbelow": True, "grid.color": "#dddddd", "grid.linewidth": 0.6,
        "axes.titlesize": TEXT_POINTS + 1, "axes.titlelocation": "left", "xtick.labelsize": SMALL_POINTS,
        "ytick.labelsize": SMALL_POINTS, "legend.frameon": False, "lines.linewidth": 1.6, "lines.markersize": 5,
        "svg.fonttype": "none", "svg.hashsalt": "hanpmpi"})
    if "text.parse_math" in matplotlib.rcParams: # since 3.6; names may hold dollars
        matplotlib.rcParams["text.parse_math"] = False


def figure(height, columns=1, rows=1, **grid):
    """A figure as wide as all others, and its axes, row by row."""
    made = Figure(figsize=(WIDTH, height), dpi=DPI)
    FigureCanvasAgg(made)
    axes = made.subplots(rows, columns, squeeze=False, gridspec_kw=grid)
    return made, [plot for row in axes for plot in row]


def time_text(microseconds):
    for unit, name in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= unit:
            return f"{microseconds / unit:g} {name}"
    return f"{microseconds:g} us"


def size_axis(axes, sizes):
    """Message sizes, logarithmic."""
    axes.set_xscale("log", base=2)
    step = math.ceil(len(sizes) / MOST_TICKS)
    ticks = sorted(sizes)[::step]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([bytes_text(size) for size in ticks], rotation=30, ha="right", rotation_mode="anchor")
    axes.set_xlabel("message size")


def time_axis(axes, which, low, high):
    """Times along "x" or "y", logarithmic; low, high: the least and the most that is on it."""
    getattr(axes, f"set_{which}scale")("log")
    axis = getattr(axes, which + "axis")
    decades = math.log10(high / low)
    axis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5) if decades < 1.5 else (1, 3) if decades < 2.5 else (1,), numticks=12))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: time_text(value)))


def legend_in_rows(made, handles, labels, top):
    """A legend below `top` (inches from the upper edge), in as few rows as fit; returns its height in
    inches."""
    if not labels:
        return 0
    for columns in range(len(labels), 0, -1):
        legend = made.legend(handles, labels, loc="upper left", ncol=columns, bbox_to_anchor=(0.006, 1 - top / made.get_figheight()),
                             borderaxespad=0, columnspacing=1.6, handlelength=1.8, fontsize=TEXT_POINTS)
        box = legend.get_window_extent(made.canvas.get_renderer())
        if columns == 1 or box.width <= (WIDTH - 0.15) * DPI:
            return box.height / DPI
        legend.remove()
    raise AssertionError("one column always fits")


def finish(made, title, subtitle, handles=(), labels=(), note=""):
    """Title, what it is of, and the legend above the axes, a note below; then the axes get the room that is
    left."""
    height = made.get_figheight()
    made.text(0.01, 1 - 0.08 / height, title, fontsize=TITLE_POINTS, fontweight="bold", va="top", color=DARK)
    made.text(0.01, 1 - 0.33 / height, "\n".join(textwrap.wrap(subtitle, 140)), fontsize=SMALL_POINTS, va="top", color=GREY)
    top = 0.42 + 0.14 * len(textwrap.wrap(subtitle, 140))
    top += legend_in_rows(made, list(handles), list(labels), top)
    lines = textwrap.wrap(note, 140)
    if lines:
        made.text(0.01, 0.06 / height, "\n".join(lines), fontsize=SMALL_POINTS, va="bottom", color=GREY)
    made.tight_layout(rect=(0, (0.06 + 0.15 * len(lines)) / height, 1, 1 - (top + 0.08) / height))


def svg(made):
    """The picture as text, without the time at which it was made."""
    text = io.StringIO()
    made.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def save(made, directory, name):
    """Both files of a picture."""
    with open(os.path.join(directory, name + ".svg"), "w", encoding="utf-8") as file:
        file.write(svg(made))
    made.savefig(os.path.join(directory, name + ".png"), metadata={"Software": None})
