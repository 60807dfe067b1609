"""The ranks beside each other: who computes, who is in MPI."""
import statistics

from ..recording import outside_s
from ..tables import Column, Table, name
from ..words import count_text, percent_text, seconds_text
from . import View

TITLE = "Time of each rank"
MOST_BARS = 512 # beyond that, ranks share a bar


def make(its):
    ranks = sorted(its.per_rank, key=lambda row: row["rank"])
    if not ranks:
        return View(lacks="no \"per_rank\": shares of the run time and differences between the ranks are not shown")
    computing = list(map(outside_s, ranks))
    rows = []
    for what, values in (("run time", [row["run_s"] for row in ranks]), ("in MPI", [row["mpi_s"] for row in ranks]), ("outside MPI", computing)):
        most = max(range(len(values)), key=values.__getitem__)
        least = min(range(len(values)), key=values.__getitem__)
        mean = statistics.fmean(values)
        rows.append({"what": what, "mean_s": mean, "least_s": values[least], "least_rank": ranks[least]["rank"], "most_s": values[most],
                     "most_rank": ranks[most]["rank"], "more": values[most] / mean - 1 if mean else None})

    def draw(style):
        made, (plot,) = style.figure(3.2)
        step = -(-len(ranks) // MOST_BARS)
        groups = [ranks[i:i + step] for i in range(0, len(ranks), step)]
        places = [statistics.fmean(row["rank"] for row in group) for group in groups]
        run = [statistics.fmean(row["run_s"] for row in group) for group in groups]
        mpi = [statistics.fmean(row["mpi_s"] for row in group) for group in groups]
        outside = [statistics.fmean(map(outside_s, group)) for group in groups]
        width = step * (0.85 if len(groups) <= 64 else 1)
        plot.bar(places, outside, width=width, color=style.GREEN, label="outside MPI")
        plot.bar(places, mpi, width=width, bottom=outside, color=style.VERMILLION, label="in MPI")
        plot.set_xlim(places[0] - 0.6 * step, places[-1] + 0.6 * step)
        plot.set_ylim(0, max(*run, *mpi) * 1.05 or 1)
        plot.xaxis.get_major_locator().set_params(integer=True)
        plot.grid(axis="x", visible=False)
        plot.set_xlabel("rank" + (f" ({step} ranks a bar: their mean)" if step > 1 else ""))
        plot.set_ylabel("seconds")
        style.finish(made, TITLE, its.subtitle, *plot.get_legend_handles_labels())
        return made
    return View({"ranks": Table([name("what", ""), Column("mean_s", "mean", seconds_text), Column("least_s", "least", seconds_text),
                                 Column("least_rank", "rank", count_text), Column("most_s", "most", seconds_text),
                                 Column("most_rank", "rank", count_text), Column("more", "above the mean", percent_text)], rows)}, draw)
