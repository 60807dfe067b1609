"""The share of the run time in each call, split into what was waited and what was transferred where that is known."""
from ..tables import Column, Table, name
from ..totals import by_call
from ..words import count_text, factor_text, percent_text, seconds_text, size_text
from . import View
from .bars import bars

TITLE = "Share of the run time by call"
COLUMNS = [name("call", "call"), Column("share", "of run", percent_text), Column("process_s", "a process", seconds_text),
           Column("calls_a_process", "calls a process", count_text), Column("mean_s", "mean", seconds_text), Column("max_s", "longest", seconds_text),
           Column("mean_bytes", "mean size", size_text), Column("imbalance", "max/mean", factor_text),
           Column("waited", "waited", percent_text), Column("accelerated", "by hanpmpi", percent_text)]
NOTE = ("max/mean: the slowest rank's time by the mean over the ranks, at most where there are several sizes; waited: share of the time in which "
        "other ranks had not come yet, the rest is transfer; by hanpmpi: calls that the library ran itself")


def numbers(its, totals):
    return {"share": its.share(totals.time_s), "process_s": totals.time_s / its.present, "calls_a_process": totals.count / its.present,
            "mean_s": totals.mean_s, "max_s": totals.max_s, "mean_bytes": totals.mean_bytes, "imbalance": totals.imbalance,
            "waited": totals.waited_share, "accelerated": totals.accelerated_share}


def parts(its, totals):
    """Shares of the run time: (waited, transferred, not told)."""
    return tuple(its.share(seconds) or 0 for seconds in (totals.waited_s, totals.told_s - totals.waited_s, totals.time_s - totals.told_s))


def make(its):
    found = by_call(its)
    if not found:
        return View(lacks="no records: the program made no MPI call that is recorded")
    rows = [{"call": call, **numbers(its, totals)} for call, totals in found.items()]

    def draw(style):
        return bars(style, TITLE, its.subtitle, [(call, parts(its, totals)) for call, totals in found.items()],
                    [("waited for other ranks", style.ORANGE), ("transferred", style.BLUE), ("not told apart", style.GREY)],
                    "share of the run time (%)", factor=100)
    return View({"calls": Table(COLUMNS, rows, NOTE)}, draw)
