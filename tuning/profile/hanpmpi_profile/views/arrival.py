"""Who came last, by how much, and how much of the time was waiting for that."""
from ..tables import Column, Table, name
from ..words import count_text, percent_text, seconds_text
from . import View
from .bars import site_name, time_bars

TITLE = "Arrival: waited or transferred"
MOST_LATE = 3


def collect(its):
    """A row a call and place, the most waiting first: sums over what was sampled."""
    found = {}
    for row in its.arrival:
        place = its.places[row["site"]]
        key = its.call_name(row["call"]), place.key
        into = found.setdefault(key, {"call": key[0], "site": place.label, "short": place.short, "key": key, "samples": 0, "waited_s": 0.0,
                                      "transfer_s": 0.0, "skew_s": 0.0, "late": {}})
        for member in ("samples", "waited_s", "transfer_s", "skew_s"):
            into[member] += row.get(member, 0)
        for rank, times, seconds in row.get("late") or []:
            before = into["late"].get(rank, (0, 0.0))
            into["late"][rank] = before[0] + times, before[1] + seconds
    rows = sorted(found.values(), key=lambda row: -row["waited_s"])
    for row in rows:
        both = row["waited_s"] + row["transfer_s"]
        row["waited"] = row["waited_s"] / both if both else None
        row["skew_mean_s"] = row["skew_s"] / row["samples"] if row["samples"] else None
        row["late"] = sorted(((rank, times, seconds) for rank, (times, seconds) in row["late"].items()), key=lambda one: (-one[2], -one[1], one[0]))
    return rows


def late_text(row):
    return ", ".join(f"rank {rank}: {'once' if times == 1 else f'{times} times'}, by {seconds_text(seconds / times)}"
                     for rank, times, seconds in row["late"][:MOST_LATE] if times)


def make(its):
    rows = collect(its)
    if not rows:
        return View(lacks="no \"arrival\": what was waited for others is not told from what was transferred")
    table = [{**{key: row[key] for key in ("call", "site", "samples", "waited", "skew_mean_s")}, "last": late_text(row), "late": row["late"]}
             for row in rows]

    def draw(style):
        return time_bars(style, TITLE, f"of the sampled calls; {its.subtitle}",
                         [(site_name(row["call"], row["short"]), (row["waited_s"], row["transfer_s"])) for row in
                          sorted(rows, key=lambda row: -row["waited_s"] - row["transfer_s"])],
                         [("waited for other ranks", style.ORANGE), ("transferred", style.BLUE)], "milliseconds, all ranks together")
    return View({"arrival": Table([name("call", "call"), name("site", "call site"), Column("samples", "calls sampled", count_text),
                                   Column("waited", "waited", percent_text), Column("skew_mean_s", "first to last", seconds_text),
                                   name("last", "came last")], table)}, draw)
