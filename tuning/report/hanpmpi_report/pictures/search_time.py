"""What each way to search costs: seconds, and percent of the exhaustive search (figure 8 of the HAN
paper)."""
from .. import style
from ..inputs import SEARCHES

TITLE = "Time of the searches"


def shares(searches):
    """{search: share of the exhaustive search's time, or None: there was none, or it had no time to begin}"""
    whole = searches.get("exhaustive", {}).get("seconds")
    return {name: row["seconds"] / whole if whole else None for name, row in searches.items()}


def seconds_text(seconds):
    return f"{seconds:,.0f} s" if seconds >= 100 else f"{seconds:.3g} s"


def percent_text(share):
    return "" if share is None else f"{100 * share:.1f}%"


def draw(subtitle, searches):
    names = [name for name in SEARCHES if name in searches]
    made, axes = style.figure(1.3 + 0.42 * len(names))
    plot = axes[0]
    longest = max(searches[name]["seconds"] for name in names) or 1.0
    for place, name in enumerate(names):
        row, share = searches[name], shares(searches)[name]
        plot.barh(place, row["seconds"], height=0.62, color=style.SEARCH_COLORS[name])
        words = [seconds_text(row["seconds"]) + (f" ({percent_text(share)})" if share is not None else ""),
                 f"{row['measurements']:,} measurements" if "measurements" in row else ""]
        plot.text(row["seconds"] + 0.01 * longest, place, ", ".join(filter(None, words)), va="center", color=style.DARK)
    plot.set_yticks(range(len(names)))
    plot.set_yticklabels([SEARCHES[name] for name in names], fontsize=style.TEXT_POINTS)
    plot.invert_yaxis()
    plot.grid(axis="y", visible=False)
    plot.set_xlim(0, 1.65 * longest) # room for the words
    plot.set_xlabel("seconds")
    style.finish(made, TITLE, subtitle)
    return made


def add(report, its):
    if not its.searches:
        report.lacks(its, "no \"searches\": their times are not shown")
        return
    if "exhaustive" not in its.searches:
        report.lacks(its, "no exhaustive search in \"searches\": no percentages of it")
    report.section(TITLE)
    report.picture(draw(f"{its.layout_text}, {its.mpi}; percent of the exhaustive search", its.searches), f"{its.name}_searches",
                   f"{TITLE}, {its.layout_text}")
    share = shares(its.searches)
    report.table(["search", "seconds", "of exhaustive", "measurements"],
                 [[SEARCHES[name], f"{its.searches[name]['seconds']:,.1f}", percent_text(share[name]),
                   its.searches[name].get("measurements", "")] for name in SEARCHES if name in its.searches])
