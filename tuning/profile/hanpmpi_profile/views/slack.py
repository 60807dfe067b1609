"""Slack: how long the program does not touch what a call has given it, and what it hands over."""
from ..recording import TOUCH, UNTOUCHED
from ..slack import touched_slack
from ..tables import Column, Table, name
from ..totals import by_site
from ..words import count_text, seconds_text
from . import View
from .bars import site_name, time_bars

TITLE = "Slack: computing that does not need the call"
HOW_TEXTS = {TOUCH: "measured: first touch", UNTOUCHED: "measured: no touch until the next MPI call"}
BOUND_TEXT = "upper bound: the next MPI call"


def collect(its):
    """A row a call and place that was sampled, the most slack in the run first; seconds are those of a mean call."""
    sites, rows = by_site(its), []
    for key, slack in touched_slack(its).items():
        found = slack.value()
        if found and key in sites:
            place, _, totals = sites[key]
            after, before, how = found
            rows.append({"call": key[0], "site": place.label, "short": place.short, "samples": sum(row[0] + row[2] for row in slack.sums.values()),
                         "after_s": after, "before_s": before, "how": how, "call_s": totals.mean_s, "count": totals.count})
    return sorted(rows, key=lambda row: -row["count"] * (row["after_s"] + (row["before_s"] or 0.0)))


def make(its):
    rows = collect(its)
    if not rows:
        return View(lacks="no \"slack\": HANPMPI_PROFILE_WATCH was off, or nothing was sampled")

    def draw(style):
        return time_bars(style, TITLE, f"a mean sampled call; {its.subtitle}",
                         [(site_name(row["call"], row["short"]), (row["before_s"] or 0.0, row["after_s"])) for row in rows],
                         [("before the call", style.BLUE), ("after it", style.GREEN)])
    return View({"slack": Table([name("call", "call"), name("site", "call site"), Column("samples", "samples", count_text),
                                 Column("call_s", "mean call", seconds_text), Column("before_s", "slack before", seconds_text),
                                 Column("after_s", "after", seconds_text),
                                 Column("how", "how that is known", lambda how: HOW_TEXTS.get(how, BOUND_TEXT), True)], rows,
                                note="before: since the last touch of the buffers; after: until the first one. Of calls that were watched")}, draw)
