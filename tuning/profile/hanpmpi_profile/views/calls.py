"""How often a process calls what."""
from ..tables import Column, Table, name
from ..totals import by_call
from ..words import count_text, size_text
from . import View
from .bars import bars

TITLE = "Calls a process"


def make(its):
    found = by_call(its)
    if not found:
        return View(lacks="no records: the program made no MPI call that is recorded")
    found = dict(sorted(found.items(), key=lambda row: -row[1].count))
    rows = [{"call": call, "calls_a_process": totals.count / its.present, "bytes_a_process": totals.bytes / its.present if totals.sized else None}
            for call, totals in found.items()]

    def draw(style):
        return bars(style, TITLE, its.subtitle, [(row["call"], (row["calls_a_process"],)) for row in rows], [("calls", style.GREEN)],
                    "calls a process", log=True, text=count_text)
    return View({"calls_a_process": Table([name("call", "call"), Column("calls_a_process", "calls a process", count_text),
                                           Column("bytes_a_process", "bytes a process", size_text)], rows)}, draw)
