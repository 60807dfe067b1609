"""Host or device memory."""
from ..tables import Column, Table, name
from ..totals import total
from ..words import count_text, percent_text, size_text
from . import View
from .bars import bars

TITLE = "Kind of memory"


def make(its):
    found = total(its, lambda record: (record["memory"], its.call_name(record["call"])) if record.get("memory") else None)
    if not found:
        return View(lacks="no \"memory\" in the records: host and device memory are not told apart")
    rows = [{"memory": kind, "call": call, "calls_a_process": totals.count / its.present, "bytes_a_process": totals.bytes / its.present,
             "share": its.share(totals.time_s)} for (kind, call), totals in found.items()]
    kinds = sorted({kind for kind, _ in found}, key=lambda kind: (kind != "host", kind))

    def draw(style):
        calls = {}
        for (kind, call), totals in found.items():
            calls.setdefault(call, {})[kind] = totals.bytes / its.present
        moved = sorted(((call, tuple(of.get(kind, 0) / 2**20 for kind in kinds)) for call, of in calls.items()), key=lambda row: -sum(row[1]))
        moved = [row for row in moved if sum(row[1]) > 0]
        if not moved:
            return None
        colors = [style.SKY, style.VERMILLION, style.GREEN, style.PURPLE]
        return bars(style, TITLE, its.subtitle, moved, [(kind, colors[i % len(colors)]) for i, kind in enumerate(kinds)], "MiB a process",
                    text=lambda value: f"{value:.3g}")
    return View({"memory": Table([name("memory", "memory"), name("call", "call"), Column("calls_a_process", "calls a process", count_text),
                                  Column("bytes_a_process", "bytes a process", size_text), Column("share", "of run", percent_text)], rows)}, draw)
