"""Datatypes and operations."""
from ..tables import Column, Table, name
from ..totals import total
from ..words import count_text, cut, percent_text, size_text
from . import View
from .bars import LABEL_MOST, bars

TITLE = "Types and operations"


def make(its):
    found = total(its, lambda record: (record["type"], record.get("op") or "") if record.get("type") else None)
    if not found:
        return View(lacks="no \"type\" in the records: no datatypes and operations")
    rows = [{"type": kind, "op": op, "calls_a_process": totals.count / its.present, "bytes_a_process": totals.bytes / its.present,
             "share": its.share(totals.time_s)} for (kind, op), totals in found.items()]

    def draw(style):
        most = sorted(rows, key=lambda row: -row["calls_a_process"])
        return bars(style, TITLE, its.subtitle, [(cut(" ".join(filter(None, [row["type"], row["op"]])), LABEL_MOST), (row["calls_a_process"],))
                                                 for row in most if row["calls_a_process"]],
                    [("calls", style.PURPLE)], "calls a process", log=True, text=count_text)
    return View({"types": Table([name("type", "type"), name("op", "operation"), Column("calls_a_process", "calls a process", count_text),
                                 Column("bytes_a_process", "bytes a process", size_text), Column("share", "of run", percent_text)], rows)}, draw)
