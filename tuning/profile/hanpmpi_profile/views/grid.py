"""Calls against bins of sizes, as a map of squares: the picture of two views."""
MOST_CALLS = 14


def collect(its, value, bin_of=lambda record: record.get("bin", -1)):
    """({call: {bin: sum of value(record)}}, the largest sum first; all bins from the first to the last)."""
    found = {}
    for record in its.records:
        row = found.setdefault(its.call_name(record["call"]), {})
        row[bin_of(record)] = row.get(bin_of(record), 0) + value(record)
    found = dict(sorted(found.items(), key=lambda row: (-sum(row[1].values()), row[0])))
    there = sorted({which for row in found.values() for which in row})
    sized = [which for which in there if which >= 0]
    return found, [which for which in there if which < 0] + (list(range(sized[0], sized[-1] + 1)) if sized else [])


def draw_map(style, title, subtitle, found, bins, bin_text, label, cell_text):
    """Squares in one hue; what is in none stays white."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm
    from matplotlib.patches import Rectangle
    calls = list(found)[:MOST_CALLS]
    made, (plot,) = style.figure(1.75 + 0.3 * len(calls))
    values = [found[call].get(which, 0) for call in calls for which in bins]
    least, most = min((value for value in values if value > 0), default=1), max(values, default=1) or 1
    norm = LogNorm(min(least, most / 10), most)
    shades = LinearSegmentedColormap.from_list("hanpmpi", ["#e8f1f8", style.BLUE, "#00263d"])
    for y, call in enumerate(calls):
        for x, which in enumerate(bins):
            value = found[call].get(which, 0)
            if value > 0:
                color = shades(norm(value))
                plot.add_patch(Rectangle((x - 0.46, y - 0.44), 0.92, 0.88, color=color, linewidth=0))
                if len(bins) <= 22:
                    dark = sum(color[:3]) < 1.6
                    plot.text(x, y, cell_text(value), ha="center", va="center", fontsize=style.SMALL_POINTS - 1.5, color="white" if dark else style.DARK)
    plot.set_xlim(-0.5, len(bins) - 0.5)
    plot.set_ylim(len(calls) - 0.5, -0.5)
    plot.set_yticks(range(len(calls)))
    plot.set_yticklabels(calls, fontsize=style.SMALL_POINTS)
    plot.set_xticks(range(len(bins)))
    plot.set_xticklabels([bin_text(which) for which in bins], rotation=30, ha="right", rotation_mode="anchor")
    plot.grid(visible=False)
    plot.set_xlabel(label)
    left_out = len(found) - len(calls)
    style.finish(made, title, subtitle, note=f"and {left_out} more calls" if left_out > 0 else "")
    return made
