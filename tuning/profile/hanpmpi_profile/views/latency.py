"""How long a call takes: quantiles from the histogram, whose bins are powers of two."""
from ..tables import Column, Table, name
from ..totals import by_call
from ..words import count_text, seconds_text
from . import View

TITLE = "How long a call takes"
QUANTILES = (("half", 0.5), ("nine_tenths", 0.9), ("all_but_1_percent", 0.99))
MOST_CURVES = 7


def make(its):
    found = {call: totals for call, totals in by_call(its).items() if totals.histogram}
    if not found:
        return View(lacks="no \"histogram\" in the records: no distribution of times")
    rows = [{"call": call, "calls_a_process": totals.count / its.present, "min_s": totals.min_s, "max_s": totals.max_s,
             **{key: totals.quantile_s(share) for key, share in QUANTILES}} for call, totals in found.items()]

    def draw(style):
        made, (plot,) = style.figure(3.6)
        colors = [style.BLUE, style.VERMILLION, style.GREEN, style.ORANGE, style.PURPLE, style.SKY, style.WINE]
        ends = []
        for (call, totals), color in zip(found.items(), colors[:MOST_CURVES]):
            all_calls, seen, x, y = sum(totals.histogram.values()), 0, [], []
            for k in sorted(totals.histogram):
                seen += totals.histogram[k]
                x += [2.0**(k - 1) / 1e3, 2.0**k / 1e3]
                y += [y[-1] if y else 0, 100 * seen / all_calls]
            plot.plot(x, y, color=color, label=call)
            ends += [x[0], x[-1]]
        style.time_axis(plot, "x", min(ends), max(max(ends), 1.01 * min(ends)))
        plot.set_ylim(0, 102)
        plot.set_xlabel("time of a call")
        plot.set_ylabel("calls that take at most so long (%)")
        style.finish(made, TITLE, its.subtitle, *plot.get_legend_handles_labels(),
                     note="Between the ends of a bin, which are powers of two, the curve is a guess."
                          + (" The table has all calls." if len(found) > MOST_CURVES else ""))
        return made
    return View({"latency": Table([name("call", "call"), Column("calls_a_process", "calls a process", count_text),
                                   Column("min_s", "shortest", seconds_text),
                                   *(Column(key, f"{100 * share:g}% take at most", seconds_text) for key, share in QUANTILES),
                                   Column("max_s", "longest", seconds_text)], rows)}, draw)
