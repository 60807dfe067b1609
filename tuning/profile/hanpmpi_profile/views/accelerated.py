"""What part of the collectives' time is in calls that the library ran itself."""
from ..tables import Column, Table, name
from ..totals import total
from ..words import count_text, percent_text
from . import View

TITLE = "Calls that hanpmpi ran itself"


def make(its):
    found = total(its, lambda record: its.call_name(record["call"]) if "accelerated" in record else None)
    if not found:
        return View(lacks="no call that hanpmpi handles was made")
    rows = [{"call": call, "calls_a_process": totals.count / its.present, "share": its.share(totals.time_s), "accelerated": totals.accelerated_share,
             "accelerated_s": its.share(totals.accelerated_s)} for call, totals in found.items()]
    if len(rows) > 1:
        rows.append({"call": "together", **{key: sum(row[key] or 0 for row in rows) for key in ("calls_a_process", "share", "accelerated_s")},
                     "accelerated": sum(totals.accelerated for totals in found.values()) / max(1, sum(totals.handled for totals in found.values()))})
    return View({"accelerated": Table([name("call", "call"), Column("calls_a_process", "calls a process", count_text),
                                       Column("share", "of run", percent_text), Column("accelerated", "calls it ran", percent_text),
                                       Column("accelerated_s", "of run in these", percent_text)], rows)})
