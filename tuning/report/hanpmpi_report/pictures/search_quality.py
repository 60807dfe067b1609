"""What the searches' choices are worth: per size the median, mean and best of all configurations, and each
search's choice (figure 9 of the HAN paper); below, how much slower than the best a choice is, both measured
again in turns."""
import statistics

from .. import style
from ..configurations import bytes_text
from ..inputs import SEARCHES


def spread(its, collective):
    """{bytes: (median, mean, best, worst)} of everything that was measured, the host MPI included."""
    result = {}
    for size in sorted({key[1] for key in its.measured if key[0] == collective}):
        times = list(its.times(collective, size).values())
        result[size] = statistics.median(times), statistics.fmean(times), min(times), max(times)
    return result


def losses(its, collective, search):
    """{bytes: how much slower the choice is than the best, as a share of the best}"""
    return {key[2]: row["us"] / row["best_us"] - 1 for key, row in its.choices.items()
            if key[:2] == (search, collective) and "best_us" in row}


def dodged(place, which, count, width):
    """Where the which-th of so many things stands that share a place."""
    return place + width * (which - (count - 1) / 2)


def draw(its, collective, title, found):
    searches = [name for name in SEARCHES if any(key[:2] == (name, collective) for key in its.choices)]
    sizes = sorted(set(found) | {key[2] for key in its.choices if key[1] == collective})
    place = {size: i for i, size in enumerate(sizes)}
    made, (time, loss) = style.figure(6.4, rows=2, height_ratios=[1.7, 1])
    there = [place[size] for size in found]
    if found:
        median, mean, best, worst = zip(*found.values())
        time.fill_between(there, best, worst, color="#eeeeee", linewidth=0, label="all configurations")
        time.plot(there, median, color=style.MEDIAN, label="median")
        time.plot(there, mean, color=style.MEAN, linestyle="--", label="mean")
        time.plot(there, best, color=style.BEST, label="best")
    every = [us for four in found.values() for us in four]
    for which, name in enumerate(searches):
        rows = {key[2]: row for key, row in its.choices.items() if key[:2] == (name, collective)}
        every += [row["us"] for row in rows.values()]
        time.plot([dodged(place[size], which, len(searches), 0.14) for size in rows], [row["us"] for row in rows.values()],
                  linestyle="none", marker=style.SEARCH_MARKERS[name], markersize=6, color=style.SEARCH_COLORS[name],
                  label=f"choice: {SEARCHES[name]}", zorder=3)
        slower = losses(its, collective, name)
        loss.bar([dodged(place[size], which, len(searches), 0.2) for size in slower], [100 * share for share in slower.values()],
                 width=0.18, color=style.SEARCH_COLORS[name])
    style.time_axis(time, "y", min(every), max(every))
    loss.axhline(0, color=style.GREY, linewidth=0.8)
    for plot in (time, loss):
        plot.set_xlim(-0.6, len(sizes) - 0.4)
        plot.set_xticks(range(len(sizes)))
        plot.set_xticklabels([bytes_text(size) for size in sizes], rotation=30, ha="right", rotation_mode="anchor")
        plot.grid(axis="x", visible=False)
    time.set_title("time of the slowest rank")
    loss.set_title("choice slower than the best by (%), measured again in turns")
    loss.set_xlabel("message size")
    style.finish(made, title, f"{its.layout_text}, {its.mpi}", *time.get_legend_handles_labels())
    return made


def loss_text(share):
    return "" if share is None else f"{round(100 * share, 1) + 0.0:+.1f}%" # + 0.0: no -0.0


def table(report, its, collective, found):
    searches = [name for name in SEARCHES if any(key[:2] == (name, collective) for key in its.choices)]
    slower = {name: losses(its, collective, name) for name in searches}
    sizes = sorted(set(found) | {key[2] for key in its.choices if key[1] == collective})
    rows = []
    for size in sizes:
        median, mean, best, _ = found.get(size, (None,) * 4)
        row = [bytes_text(size), *("" if us is None else f"{us:,.1f}" for us in (best, median, mean))]
        for name in searches:
            choice = its.choices.get((name, collective, size))
            row.append(f"{choice['configuration']} {loss_text(slower[name].get(size))}".strip() if choice else "")
        rows.append(row)
    report.table(["size", "best (us)", "median (us)", "mean (us)", *(f"choice: {SEARCHES[name]}" for name in searches)], rows)
    report.text("Behind a choice: how much slower than the best it was when both were measured again, in turns.")
    report.table(["search", "sizes", "median loss", "largest loss"],
                 [[SEARCHES[name], len(shares), loss_text(statistics.median(shares)), loss_text(max(shares))]
                  for name, shares in ((name, list(slower[name].values())) for name in searches) if shares])


def add(report, its):
    if not its.choices:
        report.lacks(its, "no \"choices\": what the searches chose is not shown")
        return
    if not its.measured:
        report.lacks(its, "no \"measured\": choices are shown without median, mean and best")
    for collective in dict.fromkeys(key[1] for key in its.choices):
        found = spread(its, collective)
        title = f"{collective}: what the searches choose"
        report.section(title)
        report.picture(draw(its, collective, title, found), f"{its.name}_choices_{collective}", f"{title}, {its.layout_text}")
        table(report, its, collective, found)
