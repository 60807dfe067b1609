"""How often each size occurs: bins of (2^(n-1), 2^n] bytes."""
from ..tables import Column, Table, name
from ..words import bin_text, count_text
from . import View
from .grid import collect, draw_map

TITLE = "Frequency by size"


def short(count):
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= unit:
            return f"{count / unit:.3g}{letter}"
    return f"{count:.3g}"


def make(its):
    found, bins = collect(its, lambda record: record["count"] / its.present)
    if not found:
        return View(lacks="no records: no sizes")
    rows = [{"bin": which, "calls_a_process": sum(row.get(which, 0) for row in found.values()),
             "calls": ", ".join(f"{call} {count_text(row[which])}" for call, row in sorted(found.items(), key=lambda its: -its[1].get(which, 0))
                                if which in row)} for which in bins]

    def draw(style):
        return draw_map(style, TITLE, f"calls a process; {its.subtitle}", found, bins, bin_text, "size of a call, up to; none: the call has no bytes",
                        short)
    return View({"frequency": Table([Column("bin", "size up to", bin_text), Column("calls_a_process", "calls a process", count_text),
                                     name("calls", "of")], [row for row in rows if row["calls_a_process"]])}, draw)
