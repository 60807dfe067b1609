"""Where the time goes by call and size."""
from ..tables import Column, Table, name
from ..totals import total
from ..words import bin_text, count_text, percent_text, seconds_text
from . import View
from .grid import collect, draw_map

TITLE = "Time by call and size"


def short(seconds):
    """Five characters at most, which a square has room for."""
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= 0.995 * unit:
            value = seconds / unit
            return f"{value:.1f}{name}" if value < 9.95 else f"{value:.0f}{name}" if value < 9999 else f"{value:.0e}".replace("e+0", "e")
    return "<1us"


def make(its):
    found = total(its, lambda record: (its.call_name(record["call"]), record.get("bin", -1)))
    if not found:
        return View(lacks="no records: no sizes")
    rows = [{"call": call, "bin": which, "share": its.share(totals.time_s), "calls_a_process": totals.count / its.present, "min_s": totals.min_s,
             "mean_s": totals.mean_s, "max_s": totals.max_s, "waited": totals.waited_share} for (call, which), totals in found.items()]

    def draw(style):
        times, bins = collect(its, lambda record: record["time_s"] / its.present)
        return draw_map(style, TITLE, f"a process; {its.subtitle}", times, bins, bin_text, "size of a call, up to; none: the call has no bytes",
                        short)
    return View({"sizes": Table([name("call", "call"), Column("bin", "size up to", bin_text), Column("share", "of run", percent_text),
                                 Column("calls_a_process", "calls a process", count_text), Column("min_s", "shortest", seconds_text),
                                 Column("mean_s", "mean", seconds_text), Column("max_s", "longest", seconds_text),
                                 Column("waited", "waited", percent_text)], rows)}, draw)
