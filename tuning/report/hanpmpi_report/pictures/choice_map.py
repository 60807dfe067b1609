"""Which configuration is chosen, over message size and nodes: a map a collective. From tune.json files, a row
each, and from files of rules, one map each."""
import dataclasses
import os
from typing import Dict, List, Tuple

from matplotlib.patches import Patch, Rectangle

from .. import style
from ..configurations import Configuration, bytes_text
from ..configurations import colors as configuration_colors
from ..inputs import FOREVER, SEARCHES, Rules, TuneRun

POINTS = (8, 7, 6) # of a cell's text: the largest that fits


@dataclasses.dataclass
class Map:
    """Cells by row and column; one that is missing was not measured."""
    name: str
    title: str
    subtitle: str
    note: str
    rows: List[str]
    columns: List[str]
    cells: Dict[Tuple[int, int], Tuple[Configuration, bool]] # (row, column) -> configuration, only under further conditions?


def tune_choices(its, search):
    """{(collective, bytes): configuration} that the library's search chose; where there are no choices at
    all, what was measured as best."""
    ours = its.ours(search)
    if search and not ours:
        return {}
    if ours:
        return {key[1:]: its.configuration(key[1], row["configuration"]) for key, row in its.choices.items() if key[0] == ours}
    best = {}
    for (collective, size, identity), row in its.measured.items():
        if (collective, size) not in best or row["us"] < best[collective, size][0]:
            best[collective, size] = row["us"], identity
    return {key: its.configuration(key[0], identity) for key, (_, identity) in best.items()}


def tune_maps(runs, search):
    runs = sorted(runs, key=lambda its: (its.layout["nodes"], its.layout["ranks_per_node"], its.layout["ranks"]))
    chosen = [tune_choices(its, search) for its in runs]
    who = {SEARCHES[its.ours(search)] if its.ours(search) else "best of what was measured" for its, choices in zip(runs, chosen) if choices}
    names = [its.layout_text for its in runs]
    names = [name if names.count(name) == 1 else f"{name}\n{its.name}" for name, its in zip(names, runs)]
    for collective in dict.fromkeys(key[0] for choices in chosen for key in choices):
        sizes = sorted({size for choices in chosen for name, size in choices if name == collective})
        cells = {(row, sizes.index(size)): (configuration, False) for row, choices in enumerate(chosen)
                 for (name, size), configuration in choices.items() if name == collective}
        rows = [row for row in range(len(runs)) if any(row == at for at, _ in cells)]
        yield Map(f"choice_map_{collective}", f"{collective}: the choice over message size and nodes",
                  f"search: {', '.join(sorted(who))}", "In a cell: how it works, and the segment.", [names[row] for row in rows],
                  [bytes_text(size) for size in sizes],
                  {(rows.index(row), column): cell for (row, column), cell in cells.items()})


def edges(ranges, first):
    """Where the value of any range's membership changes, ascending, from `first` on."""
    found = {first}
    for low, high in ranges:
        found |= {max(low, first), *([high + 1] if high < FOREVER else [])}
    return sorted(found)


def interval_text(edge, after, text):
    if after is None:
        return f"{text(edge)} and more"
    return text(edge) if after == edge + 1 else f"{text(edge)} to {text(after - 1)}"


def from_text(size):
    """16385 is what follows 16 KiB."""
    return f"above {bytes_text(size - 1)}" if size > 1024 and size % 1024 == 1 else f"from {bytes_text(size)}"


def rules_maps(its):
    for collective in its.collectives():
        ranges = [both for row, both in zip(its.rows, its.ranges) if row["collective"] == collective]
        nodes = edges([(1, 1), *(both["nodes"] for both in ranges)], 1) # one node is always a matter of its own
        sizes = [0] if collective == "barrier" else edges([both["bytes"] for both in ranges], 1)
        cells = {(i, j): its.holding(collective, count, size) for i, count in enumerate(nodes) for j, size in enumerate(sizes)}
        columns = [from_text(size) if size else "no data" for size in sizes]
        rows = [interval_text(edge, after, str) + (" node" if after == 2 and edge == 1 else " nodes")
                for edge, after in zip(nodes, [*nodes[1:], None])]
        note = "In a cell: how it works, and the segment."
        if any(conditional for _, conditional in cells.values()):
            note += " *: only for some machines or numbers of ranks a node."
        yield Map(f"{its.name}_choice_map_{collective}", f"{collective}: what the rules choose", os.path.basename(its.path), note, rows,
                  columns, cells)


def maps(inputs, search):
    runs = [its for its in inputs if isinstance(its, TuneRun)]
    found = list(tune_maps(runs, search)) if runs else []
    for its in inputs:
        found += rules_maps(its) if isinstance(its, Rules) else []
    return found


def blocks(its):
    """Cells of a row that stand side by side and are the same, as one: (row, first column, columns, cell)."""
    for row in range(len(its.rows)):
        start = 0
        for column in range(1, len(its.columns) + 1):
            if its.cells.get((row, column)) != its.cells.get((row, start)) or column == len(its.columns):
                if (row, start) in its.cells:
                    yield row, start, column - start, its.cells[row, start]
                start = column


def text_color(background):
    red, green, blue = (int(background[at:at + 2], 16) for at in (1, 3, 5))
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 128 else "black"


def write_cell(plot, row, column, count, cell, background):
    """The largest text that fits, in as few lines as it fits; at least the segment, nothing where not even
    that does."""
    configuration, conditional = cell
    family, segment, star = configuration.family, configuration.segment, "*" if conditional else ""
    broken = family.replace("_", "_\n")
    (left, lower), (right, upper) = plot.transData.transform([(column, row), (column + count, row + 1)])
    texts = [f"{family} {segment}", f"{family}\n{segment}", f"{broken}\n{segment}"]
    for text, points in [*((text, points) for points in POINTS for text in texts), (segment, POINTS[-1])]:
        written = plot.text(column + count / 2, row + 0.5, text.strip() + star, ha="center", va="center", fontsize=points,
                            color=text_color(background))
        box = written.get_window_extent()
        if box.width <= right - left - 10 and box.height <= abs(upper - lower) - 4:
            return
        written.remove()


def legend(its, colors):
    """Handles and labels of what is on the map; where a label would stand twice, the settings that it leaves
    out are said, too."""
    shown = sorted({configuration for configuration, _ in its.cells.values()},
                   key=lambda one: (one.family, one.segment_bytes or 0, repr(one)))
    labels = [one.label for one in shown]
    labels = [label if labels.count(label) == 1 else f"{label} ({one.shapes}; {one.modules})" for label, one in zip(labels, shown)]
    return [Patch(facecolor=colors[one], edgecolor="white") for one in shown], labels


def draw(its, colors):
    handles, labels = legend(its, colors)
    made, axes = style.figure(1.9 + 0.5 * len(its.rows) + 0.09 * len(labels))
    plot = axes[0]
    plot.set_xlim(0, len(its.columns))
    plot.set_ylim(0, len(its.rows)) # few nodes below, as on any axis
    plot.set_xticks([column + 0.5 for column in range(len(its.columns))])
    plot.set_xticklabels(its.columns, rotation=30, ha="right", rotation_mode="anchor")
    plot.set_yticks([row + 0.5 for row in range(len(its.rows))])
    plot.set_yticklabels(its.rows)
    plot.tick_params(length=0)
    plot.grid(visible=False)
    plot.set_xlabel("message size")
    style.finish(made, its.title, its.subtitle, handles, labels, its.note)
    for row, column, count, cell in blocks(its):
        plot.add_patch(Rectangle((column, row), count, 1, facecolor=colors[cell[0]], edgecolor="white", linewidth=1.5))
        write_cell(plot, row, column, count, cell, colors[cell[0]])
    return made


def table(report, its):
    rows = []
    for row, name in enumerate(its.rows):
        cells = [its.cells.get((row, column)) for column in range(len(its.columns))]
        rows.append([name, *("" if cell is None else cell[0].label + ("*" if cell[1] else "") for cell in cells)])
    report.table(["", *its.columns], rows)


def add(report, inputs):
    found = maps(inputs, report.search)
    if not found:
        return
    colors = configuration_colors(configuration for its in found for configuration, _ in its.cells.values())
    report.heading(2, "Choices over message size and nodes")
    for its in found:
        report.section(its.title)
        report.picture(draw(its, colors), its.name, f"{its.title}, {its.subtitle}")
        table(report, its)
