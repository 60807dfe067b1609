"""Horizontal bars with a name each: the picture of most views."""
import math
import re

from ..words import cut, seconds_text

MOST_BARS = 18
LABEL_MOST = 44 # characters of a bar's name


def site_name(call, short):
    """Of a call site as short as a bar needs it: what says least of a long one is its file and where its name begins."""
    text = f"{call[4:] if call.startswith('MPI_') else call}  "
    name, room = re.sub(r"(\+0x[0-9a-f]+) \([^()]*\)$", r"\1", short), max(12, LABEL_MOST - len(text))
    return cut(text + (name if len(name) <= room else "…" + name[1 - room:]), LABEL_MOST)


def log_ticks(axis, low, high, text, base=10):
    """Of a logarithmic axis, as people write numbers. low, high: the least and the most that is on it."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
    powers = math.log(high / low, base)
    axis.set_major_locator(LogLocator(base=base, subs=(1, 2, 5) if base == 10 and powers < 2 else (1,), numticks=9))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))


def bars(style, title, subtitle, rows, parts, label, factor=1.0, log=False, text=None):
    """rows: [(name, a value for each part)], the longest first; parts: [(name, colour)]. text(value): written behind
    a bar."""
    left_out = len(rows) - MOST_BARS
    rows = rows[:MOST_BARS]
    made, (plot,) = style.figure(1.35 + 0.27 * len(rows))
    longest = max((sum(values) for _, values in rows), default=0) * factor or 1
    shown = [i for i in range(len(parts)) if any(values[i] > 0 for _, values in rows)]
    starts = [0.0] * len(rows)
    for i in shown:
        widths = [factor * values[i] for _, values in rows]
        plot.barh(range(len(rows)), widths, left=None if log else starts, height=0.7, color=parts[i][1], label=parts[i][0])
        starts = [start + width for start, width in zip(starts, widths)]
    for place, end in enumerate(starts):
        words = text(end) if text else f"{end:.1f}" if end >= 0.05 or end == 0 else "<0.1"
        plot.text(end * 1.06 if log and end else end + 0.008 * longest, place, words, va="center", fontsize=style.SMALL_POINTS, color=style.DARK)
    plot.set_yticks(range(len(rows)))
    plot.set_yticklabels([name for name, _ in rows], fontsize=style.SMALL_POINTS)
    plot.invert_yaxis()
    plot.grid(axis="y", visible=False)
    if log:
        plot.set_xscale("log")
        least = min((end for end in starts if end > 0), default=1)
        low, high = 10.0 ** math.floor(math.log10(least) - 0.3), longest * 4
        plot.set_xlim(low, high)
        log_ticks(plot.xaxis, low, high, text or str)
    else:
        plot.set_xlim(0, 1.1 * longest)
    plot.set_xlabel(label)
    names = plot.get_legend_handles_labels() if len(parts) > 1 else ((), ())
    style.finish(made, title, subtitle, *names, note=f"and {left_out} more, which are shorter" if left_out > 0 else "")
    return made


def time_bars(style, title, subtitle, rows, parts, label="milliseconds"):
    """The same of seconds, which are drawn as milliseconds."""
    return bars(style, title, subtitle, rows, parts, label, factor=1e3, text=lambda value: seconds_text(value / 1e3))
