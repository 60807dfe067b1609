"""Communicators: how many were made, and what goes over them."""
from ..tables import Column, Table, name
from ..totals import total
from ..words import count_text, cut, percent_text, size_text
from . import View
from .bars import LABEL_MOST, bars

TITLE = "Communicators"


def make(its):
    found = total(its, lambda record: record["comm"] if its.is_comm(record.get("comm")) else None)
    if not any(map(its.is_comm, range(len(its.communicators)))):
        return View(lacks="no \"communicators\": they are not told apart")
    order = [*found, *(i for i in range(len(its.communicators)) if i not in found and its.is_comm(i))]
    rows = []
    for comm in order:
        row, totals = its.communicators[comm], found.get(comm)
        rows.append({"name": row["name"] or "unnamed", "size": row["size"], "made": row.get("made", 1),
                     "calls_a_process": totals.count / its.present if totals else 0, "bytes_a_process": totals.bytes / its.present if totals else 0,
                     "share": its.share(totals.time_s) if totals else its.share(0)})

    def draw(style):
        return bars(style, TITLE, its.subtitle, [(cut(its.comm_text(comm), LABEL_MOST), (its.share(totals.time_s) or 0,)) for comm, totals in found.items()],
                    [("time", style.GREEN)], "share of the run time (%)", factor=100)
    return View({"communicators": Table(
        [name("name", "communicator"), Column("size", "ranks", count_text), Column("made", "made", count_text),
         Column("calls_a_process", "calls a process", count_text), Column("bytes_a_process", "bytes a process", size_text),
         Column("share", "of run", percent_text)], rows)}, draw if found else None)
