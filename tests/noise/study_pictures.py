"""The pictures of study.py: slow-down against noise, and every rank's finishing time with one delayed rank."""
import os
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

import study_figures as figures  # noqa: E402

COLORS = {"ours": "#0b6e4f", "host": "#c1440e", "control": "#3b5b92"}
MORE_COLORS = ["#8a6d3b", "#7b3f8c", "#5f6b6d", "#b59f00", "#c2728f"]
MARKERS = {"ours": "o", "host": "s", "control": "^"}


def color(side, index):
    return COLORS.get(side, MORE_COLORS[index % len(MORE_COLORS)])


def caption(figure, study, text):
    """Under the picture: what it is, where, how."""
    words = (f"{text} {study['kind'].capitalize()}: {study['machine']}. {study['mpi']}. {study['date']}. "
             f"Command: {study['command']}")
    figure.text(0.01, 0.005, "\n".join(textwrap.wrap(words, int(16.5 * figure.get_size_inches()[0]))), fontsize=7.5,
                va="bottom", color="#444444")


def finish(figure, axes, study, text, name, directory):
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.955), ncol=4, frameon=False, fontsize=9)
    caption(figure, study, text)
    written = []
    for kind in ("svg", "png"):
        path = os.path.join(directory, f"{name}.{kind}")
        figure.savefig(path, dpi=110)
        written.append(path)
    plt.close(figure)
    return written


def draw_slow_down(study, directory, name):
    collectives = list(study["calls"])
    figure, axes = plt.subplots(2, len(collectives), figsize=(4.8 * len(collectives), 7.4), squeeze=False)
    figure.suptitle(f"{study['title']}: slow-down under noise", fontsize=12, y=0.985)
    for column, collective in enumerate(collectives):
        levels = figures.levels_of(study, collective)
        xs = [0.0] + [figures.share(noise) for noise in levels]
        sides = figures.sides_of(study["calls"][collective])
        for index, side in enumerate(sides):
            rows = [figures.slow_down(study["calls"][collective][side], noise) for noise in levels]
            shift = 0.12 * (index - (len(sides) - 1) / 2) # error bars beside each other
            at = [x + (shift if x else 0) for x in xs]
            style = {"color": color(side, index), "marker": MARKERS.get(side, "d"), "markersize": 5, "linewidth": 1.5,
                     "capsize": 3, "label": f"{figures.side_title(side)}"}
            percents = [0.0] + [row[0] for row in rows]
            spread = [[0.0] + [max(0.0, row[0] - row[1]) for row in rows], [0.0] + [max(0.0, row[2] - row[0]) for row in rows]]
            axes[0][column].errorbar(at, percents, yerr=spread, **style)
            axes[1][column].plot(at, [1e3 * rows[0][3]] + [1e3 * row[4] for row in rows],
                                 **{key: value for key, value in style.items() if key != "capsize"})
        axes[0][column].set_title(f"{collective.capitalize()}, {study['bytes'] / 2**20:g} MiB, {study['ranks']} ranks", fontsize=10)
        axes[0][column].axhline(0, color="#999999", linewidth=0.8)
        axes[0][column].set_ylabel("slow-down of the mean time (%)")
        axes[1][column].set_ylabel("mean time of a call (ms)")
        axes[1][column].set_ylim(bottom=0)
        for row in (0, 1):
            axes[row][column].set_xlabel("noise: share of every rank's time (%)")
            axes[row][column].set_xticks(xs)
            axes[row][column].set_xlim(-0.5, xs[-1] + 0.8)
            axes[row][column].grid(alpha=0.25)
    figure.tight_layout(rect=(0, 0.085, 1, 0.91))
    text = "Mean over calls of the slowest rank's time; bars: 90% interval, bootstrap over blocks."
    return finish(figure, axes[0][0], study, text, name, directory)


def draw_finishing_times(study, collective, directory, name):
    sides = study["finish"][collective]
    delayed_ranks = [delayed for delayed in sides["ours"] if delayed != "-1"]
    figure, axes = plt.subplots(len(delayed_ranks), 1, figsize=(9, 2.0 + 2.7 * len(delayed_ranks)), squeeze=False)
    figure.suptitle(f"{study['title']}: {collective} with one rank {1e3 * study['delay_seconds']:.3g} ms late", fontsize=12, y=0.985)
    relation = "descendants" if collective == "bcast" else "ancestors"
    for row, delayed in enumerate(delayed_ranks):
        plot = axes[row][0]
        below = figures.affected(collective, study["trees"][collective]["parents"], int(delayed))
        names = figures.sides_of(sides)
        many = study["ranks"] > 64
        width = 0.8 / len(names)
        for rank in sorted(below):
            plot.axvspan(rank - 0.5, rank + 0.5, color="#eeeeee", zorder=0, linewidth=0)
        for index, side in enumerate(names):
            delay = [1e3 * seconds for seconds in figures.later(study, collective, side, delayed)]
            style = {"color": color(side, index), "label": figures.side_title(side) if row == 0 else None}
            if many:
                plot.plot(range(len(delay)), delay, ".", markersize=3, **style)
            else:
                plot.bar([rank + (index - (len(names) - 1) / 2) * width for rank in range(len(delay))], delay, width, **style)
        plot.set_title(f"rank {delayed} is late; shaded: its {relation} in the library's tree" if below else
                       f"rank {delayed} is late; it has no {relation} in the library's tree", fontsize=10)
        plot.set_ylabel("finishes later by (ms)")
        plot.set_xlabel("rank")
        plot.axhline(0, color="#999999", linewidth=0.8)
        plot.axhline(1e3 * study["delay_seconds"], color="#999999", linewidth=0.8, linestyle=":")
        plot.grid(alpha=0.25, axis="y")
        plot.set_xlim(-0.7, study["ranks"] - 0.3)
        if not many:
            plot.set_xticks(range(study["ranks"]))
    bottom = 0.8 / figure.get_size_inches()[1]
    figure.tight_layout(rect=(0, bottom, 1, 0.9))
    text = "Median finishing time of a rank less its median without a delay; dotted: the delay itself."
    return finish(figure, axes[0][0], study, text, name, directory)
