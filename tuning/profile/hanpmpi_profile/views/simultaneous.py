"""How many calls and operations of a rank are under way when another begins."""
from ..tables import Column, Table
from ..words import count_text, percent_text
from . import View
from .bars import bars

TITLE = "Calls and operations at a time"


def make(its):
    found = {}
    for k, times in its.simultaneous:
        found[int(k)] = found.get(int(k), 0) + times
    all_calls = sum(found.values())
    if not all_calls:
        return View(lacks="no \"simultaneous\": how many calls and operations are under way at a time is not known")
    rows = [{"under_way": k, "calls": found[k], "share": found[k] / all_calls} for k in sorted(found)]

    def draw(style):
        return bars(style, TITLE, its.subtitle, [(f"{row['under_way']} under way", (row["share"],)) for row in rows if row["calls"]],
                    [("calls", style.WINE)], "share of the calls that begin then (%)", factor=100)
    return View({"simultaneous": Table([Column("under_way", "under way already", count_text), Column("calls", "calls begin", count_text),
                                        Column("share", "of all", percent_text)], rows)}, draw)
