"""Non-blocking operations: how long they had to proceed, and how long their wait took in the end."""
from ..tables import Column, Table, name
from ..words import count_text, percent_text, seconds_text, size_text
from . import View
from .bars import site_name, time_bars

TITLE = "Non-blocking operations and their waits"


def collect(its):
    """A row a post and wait by place, the longest waits first."""
    found = {}
    for row in its.waits:
        post, wait = its.places[row["post_site"]], its.places[row["wait_site"]]
        key = its.call_name(row["post_call"]), post.key, its.call_name(row["wait_call"]), wait.key
        into = found.setdefault(key, {"post_call": key[0], "post_site": post.label, "wait_call": key[2], "wait_site": wait.label, "short": post.short,
                                      "count": 0, "bytes": 0, "between_s": 0.0, "wait_s": 0.0})
        for member in ("count", "bytes", "between_s", "wait_s"):
            into[member] += row.get(member, 0)
    rows = sorted(found.values(), key=lambda row: -row["wait_s"])
    for row in rows:
        both = row["between_s"] + row["wait_s"]
        row.update(share=its.share(row["wait_s"]), between_mean_s=row["between_s"] / row["count"] if row["count"] else None,
                   wait_mean_s=row["wait_s"] / row["count"] if row["count"] else None, under_way=row["between_s"] / both if both else None,
                   mean_bytes=row["bytes"] / row["count"] if row["count"] else None)
    return rows


def make(its):
    rows = collect(its)
    if not rows:
        return View(lacks="no \"waits\": the program waits for no non-blocking operation, or they were not matched")

    def draw(style):
        return time_bars(style, TITLE, f"a mean operation; {its.subtitle}",
                         [(site_name(row["post_call"], row["short"]), (row["between_mean_s"] or 0, row["wait_mean_s"] or 0)) for row in rows],
                         [("from the post to the wait", style.GREEN), ("in the wait", style.VERMILLION)])
    return View({"waits": Table([name("post_call", "posted by"), name("post_site", "call site"), name("wait_call", "waited for by"),
                                 name("wait_site", "call site"), Column("count", "operations", count_text), Column("mean_bytes", "mean size", size_text),
                                 Column("between_mean_s", "between", seconds_text), Column("wait_mean_s", "wait", seconds_text),
                                 Column("under_way", "between, of both", percent_text), Column("share", "wait, of run", percent_text)], rows)}, draw)
