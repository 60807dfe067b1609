"""The share of the run time by call site."""
from ..tables import Table, name
from ..totals import by_site
from . import View
from .bars import bars, site_name
from .share import COLUMNS, numbers, parts

TITLE = "Share of the run time by call site"


def make(its):
    found = by_site(its)
    if not found:
        return View(lacks="no records: the program made no MPI call that is recorded")
    rows = [{"call": call, "site": place.label, **numbers(its, totals)} for (call, _), (place, _, totals) in found.items()]

    def draw(style):
        return bars(style, TITLE, its.subtitle,
                    [(site_name(call, place.short), parts(its, totals)) for (call, _), (place, _, totals) in found.items()],
                    [("waited for other ranks", style.ORANGE), ("transferred", style.BLUE), ("not told apart", style.GREY)],
                    "share of the run time (%)", factor=100)
    return View({"sites": Table([COLUMNS[0], name("site", "call site"), *COLUMNS[1:]], rows)}, draw)
