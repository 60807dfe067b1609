"""The pictures of RESULTS.md. Each function draws one from the JSON of hanpmpi_bench or of the simulated comparison and returns the
path of the SVG."""
import os
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import matplotlib.ticker  # noqa: E402

OURS, HOST, BOUND = "#0b6e4f", "#c1440e", "#444444"
TITLES = {name: name.capitalize() for name in ("bcast", "reduce", "allreduce", "barrier", "allgather", "alltoall", "reduce_scatter_block", "gather", "scatter", "scan",
                                              "exscan", "allgatherv", "alltoallv", "alltoallw", "reduce_scatter", "gatherv", "scatterv")}


def bytes_text(count):
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit:
            return f"{count / unit:g} {name}"
    return f"{count:g} B"


def bytes_axis(axes, sizes):
    axes.set_xscale("log", base=2)
    ticks = sizes if len(sizes) <= 7 else sizes[:: (len(sizes) + 6) // 7]
    axes.set_xticks(ticks)
    axes.set_xticklabels([bytes_text(size) for size in ticks], rotation=30, ha="right", fontsize=8)
    axes.minorticks_off()
    axes.set_xlabel("message size")


def finish(figure, axes, directory, name, title, caption):
    """Title above, one legend for all, what was measured where below."""
    figure.suptitle(title, fontsize=12, y=0.985)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.945), ncol=len(labels), frameon=False, fontsize=9)
    lines = textwrap.wrap(caption, int(13.5 * figure.get_size_inches()[0]))
    height = figure.get_size_inches()[1]
    figure.text(0.01, 0.01, "\n".join(lines), fontsize=7.5, va="bottom", color="#444444")
    figure.tight_layout(rect=(0, (0.1 + 0.13 * len(lines)) / height, 1, 1 - 0.55 / height))
    path = os.path.join(directory, name + ".svg")
    plt.rcParams["svg.hashsalt"] = "hanpmpi" # the same picture for the same figures
    figure.savefig(path, metadata={"Date": None})
    figure.savefig(path[:-3] + "png", dpi=100)
    plt.close(figure)
    return path


def columns(rows):
    """Rows of one collective each, by size."""
    names = [name for name in TITLES if any(row["collective"] == name for row in rows)]
    return [(name, sorted((row for row in rows if row["collective"] == name), key=lambda row: row["bytes"])) for name in names]


def against_size(document, directory, name, title, caption):
    """Time, and the share of the lower bound, against the message size."""
    groups = [group for group in columns(document["rows"]) if any(row["bytes"] for row in group[1])]
    figure, axes = plt.subplots(2, len(groups), figsize=(4.2 * len(groups), 6.6), squeeze=False)
    for column, (collective, rows) in enumerate(groups):
        sizes = [row["bytes"] for row in rows]
        time, share = axes[0][column], axes[1][column]
        for side, color, label, marker in (("host", HOST, "host MPI", "s"), ("library", OURS, "hanpmpi", "o")):
            if side not in rows[0]:
                continue
            medians = [row[side]["t_max_us"]["median"] for row in rows]
            low = [row[side]["t_max_us"]["q1"] for row in rows]
            high = [row[side]["t_max_us"]["q3"] for row in rows]
            time.plot(sizes, medians, marker=marker, markersize=4, color=color, label=label)
            time.fill_between(sizes, low, high, color=color, alpha=0.2, linewidth=0)
            share.plot(sizes, [row[side]["reached"] for row in rows], marker=marker, markersize=4, color=color)
        time.plot(sizes, [row["bound"]["us"] for row in rows], color=BOUND, linestyle=":", label="lower bound")
        passed = [row["bytes"] for row in rows if row.get("taken", 1) < 0.5]
        if passed:
            time.plot(passed, [row["library"]["t_max_us"]["median"] for row in rows if row.get("taken", 1) < 0.5], "o", markersize=4,
                      markerfacecolor="white", color=OURS, linestyle="none", label="hanpmpi, passed through")
        share.axhline(1, color=BOUND, linestyle=":")
        time.set_yscale("log")
        time.set_title(TITLES[collective], fontsize=10)
        time.set_ylabel("time of the slowest rank (us)")
        share.set_ylabel("lower bound / time")
        share.set_ylim(0, max(1.2, min(2.0, share.get_ylim()[1])))
        for plot in (time, share):
            bytes_axis(plot, sizes)
            plot.grid(alpha=0.25)
    with_most = max(axes[0], key=lambda plot: len(plot.get_legend_handles_labels()[1]))
    return finish(figure, with_most, directory, name, title, caption)


def speedup(document, directory):
    """How many times as fast as the host MPI, against the message size, all collectives in one."""
    figure, axes = plt.subplots(figsize=(8.5, 4.6))
    for (collective, rows), marker in zip(columns(document["rows"]), "osD^vP*X<>hpdH8|_"):
        if rows[-1]["bytes"]:
            axes.plot([row["bytes"] for row in rows], [row["ratio"] for row in rows], marker=marker, markersize=4, label=TITLES[collective])
    axes.axhline(1, color=BOUND, linestyle=":")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes.set_ylabel("times as fast as the host MPI")
    bytes_axis(axes, sorted({row["bytes"] for row in document["rows"] if row["bytes"]}))
    axes.grid(alpha=0.25)
    return finish(figure, axes, directory, "speedup", "4 virtual hosts x 4 ranks, 1 Gbit/s, Open MPI 4.1.4",
                  "Of collectives of blocks the size is that of a block. Above the dotted line the library is faster. Step cluster of tests/bench/reproduce.")


def overlap(documents, directory, name, title, caption):
    """documents: {title: JSON of hanpmpi_bench --overlap}, a panel each; overlap by the formula of IMB."""
    figure, axes = plt.subplots((len(documents) + 1) // 2, 2, figsize=(12, 3.4 * ((len(documents) + 1) // 2) + 1), squeeze=False)
    panels = axes.flatten()
    for plot, (where, document) in zip(panels, documents.items()):
        cases = [(row, number) for _, rows in columns(document["rows"]) for row in rows for number in range(len(row["overlap"]["host"]["with_tests"]))]
        names = [f"I{row['collective']}\n{bytes_text(row['bytes'])}\n{row['overlap']['host']['with_tests'][number]['tests']} tests" for row, number in cases]
        for shift, side, color, label in ((-0.2, "library", OURS, "hanpmpi"), (0.2, "host", HOST, "host MPI")):
            if side not in cases[0][0]["overlap"]:
                continue
            found = [row["overlap"][side]["with_tests"][number] for row, number in cases]
            # The median of the repetitions' overlaps need not be the overlap of the medians, which the bar shows.
            low = [min(one["repetitions_imb"]["q1"], one["overlap_imb"]) for one in found]
            high = [max(one["repetitions_imb"]["q3"], one["overlap_imb"]) for one in found]
            places = [place + shift for place in range(len(cases))]
            plot.bar(places, [one["overlap_imb"] for one in found], 0.38, color=color, label=label)
            plot.vlines(places, low, high, color=BOUND, linewidth=1)
        plot.set_title(where, fontsize=10)
        plot.set_xticks(range(len(cases)))
        plot.set_xticklabels(names, fontsize=7)
        plot.set_ylim(0, 105)
        plot.set_ylabel("overlap (%)")
        plot.grid(alpha=0.25, axis="y")
    for plot in panels[len(documents):]:
        plot.set_visible(False)
    with_most = max(panels, key=lambda plot: len(plot.get_legend_handles_labels()[1]))
    return finish(figure, with_most, directory, name, title, caption)


def simulated_against_size(cells, directory, name, title, caption):
    """cells: {collective: {bytes: {"ours": us, "taken": bool, "selectors": {name: us}, "best": us or None}}}"""
    names = [collective for collective in TITLES if collective in cells]
    figure, axes = plt.subplots(1, len(names), figsize=(4.6 * len(names), 4.4), squeeze=False)
    palette = ["#c1440e", "#b59f00", "#7b3f8c", "#3b5b92"]
    for column, collective in enumerate(names):
        plot = axes[0][column]
        sizes = sorted(cells[collective])
        rows = [cells[collective][size] for size in sizes]
        for selector, color in zip(rows[0]["selectors"], palette):
            plot.plot(sizes, [row["selectors"].get(selector) or float("nan") for row in rows], marker=".", color=color, linewidth=1,
                      label=f"{selector} selector")
        if any(row["best"] for row in rows):
            plot.plot(sizes, [row["best"] or float("nan") for row in rows], color="#888888", linestyle="--", marker="s", markersize=3,
                      label="best forced algorithm measured")
        plot.plot(sizes, [row["ours"] if row["taken"] else float("nan") for row in rows], marker="o", markersize=4, color=OURS, linewidth=2,
                  label="hanpmpi")
        plot.plot(sizes, [float("nan") if row["taken"] else row["ours"] for row in rows], "o", markersize=4, markerfacecolor="white", color=OURS,
                  linestyle="none", label="hanpmpi, passed through to SMPI")
        plot.set_yscale("log")
        plot.set_title(TITLES[collective], fontsize=10)
        plot.set_ylabel("simulated time of the slowest rank (us)")
        bytes_axis(plot, sizes)
        plot.grid(alpha=0.25)
    return finish(figure, axes[0][0], directory, name, title, caption)


def against_ranks(cells, directory, name, title, caption):
    """cells: {collective: {ranks: {series: us}}}"""
    names = [collective for collective in TITLES if collective in cells]
    figure, axes = plt.subplots(1, len(names), figsize=(4.6 * len(names), 4.4), squeeze=False)
    for column, collective in enumerate(names):
        plot = axes[0][column]
        ranks = sorted(cells[collective])
        series = list(cells[collective][ranks[0]])
        for label, color in zip(series, [OURS, HOST, "#3b5b92", "#b59f00", "#888888"]):
            plot.plot(ranks, [cells[collective][count].get(label) or float("nan") for count in ranks], marker="o", markersize=4,
                      color=color, label=label)
        plot.set_xscale("log", base=2)
        plot.set_ylim(bottom=0)
        plot.set_xticks(ranks)
        if len(ranks) == 1:
            plot.set_xlim(ranks[0] / 2, ranks[0] * 2)
        plot.set_xticklabels([f"{count:,}" for count in ranks], fontsize=8)
        plot.minorticks_off()
        plot.set_xlabel("ranks")
        plot.set_ylabel("simulated time of the slowest rank (us)")
        plot.set_title(TITLES[collective], fontsize=10)
        plot.grid(alpha=0.25)
    return finish(figure, axes[0][0], directory, name, title, caption)
