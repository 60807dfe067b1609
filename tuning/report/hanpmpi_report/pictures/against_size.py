"""Time against message size, and beside it the share of the lower bound that is reached: a picture a
collective."""
import dataclasses
from typing import Dict, FrozenSet, Optional, Tuple

from .. import style
from ..bounds import lower_bound
from ..configurations import NATIVE, bytes_text
from ..inputs import BENCH_VARIANT, LIMITS, SEARCHES, BenchRun

SHARE_AT_MOST = 2.0 # links with buffers can be seen beyond 1; much more tells only that the bound does not hold there


@dataclasses.dataclass
class Series:
    label: str
    color: str
    marker: str
    times: Dict[int, float] # {bytes: us}
    quartiles: Optional[Dict[int, Tuple[float, float]]] = None
    passed: FrozenSet[int] = frozenset() # bytes: where the library left the call to the MPI


def draw(title, subtitle, sizes, series, bound, note=""):
    """series: those that have something; bound: {bytes: us}, perhaps empty."""
    made, axes = style.figure(4.3, columns=2 if bound else 1)
    time = axes[0]
    for its in series:
        there = [size for size in sizes if its.times.get(size)]
        time.plot(there, [its.times[size] for size in there], marker=its.marker, color=its.color, label=its.label,
                  zorder=in_front(its, series))
        passed = [size for size in there if size in its.passed]
        if passed:
            time.plot(passed, [its.times[size] for size in passed], linestyle="none", marker=its.marker, color=its.color,
                      markerfacecolor="white", label=f"{its.label}, passed through", zorder=3.5)
        if its.quartiles:
            time.fill_between(there, *zip(*(its.quartiles[size] for size in there)), color=its.color, alpha=0.2, linewidth=0)
    if bound:
        there = [size for size in sizes if size in bound]
        time.plot(there, [bound[size] for size in there], color=style.BOUND, linestyle=":", label="lower bound")
        draw_share(axes[1], sizes, series, bound)
    every = [us for its in series for us in its.times.values() if us] + list(bound.values())
    style.time_axis(time, "y", min(every), max(every))
    time.set_title("time of the slowest rank")
    for plot in axes:
        style.size_axis(plot, sizes)
    style.finish(made, title, subtitle, *time.get_legend_handles_labels(), note)
    return made


def in_front(its, series):
    """The first series is the one that the picture is about; lines of matplotlib are at 2."""
    return 3 if its is series[0] else 2


def draw_share(axes, sizes, series, bound):
    most = 1
    for its in series:
        there = [size for size in sizes if its.times.get(size) and size in bound]
        shares = [bound[size] / its.times[size] for size in there]
        most = max([most, *shares])
        axes.plot(there, shares, marker=its.marker, color=its.color, zorder=in_front(its, series))
    axes.axhline(1, color=style.BOUND, linestyle=":")
    axes.set_ylim(0, min(1.08 * most, SHARE_AT_MOST))
    axes.set_title("share of the lower bound: bound / time" + (f", to {SHARE_AT_MOST:g}" if most > SHARE_AT_MOST else ""))


def table(report, sizes, series, bound):
    """The first series is the library's, if it has times; ratios are to it."""
    ours = series[0]
    header = ["size", *(f"{its.label} (us)" for its in series), *(f"{its.label} / {ours.label}" for its in series[1:])]
    header += ["lower bound (us)", f"share: {ours.label}"] if bound else []
    rows = []
    for size in sizes:
        mine = ours.times.get(size)
        row = [bytes_text(size), *(us_text(its.times.get(size)) for its in series)]
        row += [ratio_text(its.times.get(size), mine) for its in series[1:]]
        rows.append(row + ([us_text(bound.get(size)), ratio_text(bound.get(size), mine)] if bound else []))
    report.table(header, rows)


def us_text(us):
    return "" if us is None else f"{us:,.1f}"


def ratio_text(us, by):
    return f"{us / by:.2f}" if us is not None and by else ""


def section(report, name, title, subtitle, series, bound, note=""):
    """Table, and a picture where there is a curve to draw."""
    series = [its for its in series if its.times]
    sizes = sorted({size for its in series for size in its.times})
    report.section(title)
    drawn = [size for size in sizes if size > 0]
    if len(drawn) > 1:
        report.picture(draw(title, subtitle, drawn, series, {size: us for size, us in bound.items() if size in drawn and us > 0}, note),
                       name, f"{title}, {subtitle}")
    table(report, sizes, series, bound)


def add_tune(report, its):
    ours = its.ours(report.search)
    if not its.collectives():
        report.lacks(its, "no \"measured\", \"choices\" or \"host\": no times against size")
        return
    for what in lacking(its, report.search, ours):
        report.lacks(its, what)
    for collective in its.collectives():
        sizes = sorted({key[1] for rows in (its.measured, its.host) for key in rows if key[0] == collective} |
                       {key[2] for key in its.choices if key[1] == collective})
        bound = {size: lower_bound(collective, size, its.layout, its.limits) for size in sizes}
        subtitle = f"{its.layout_text}, {its.mpi}" + (f"; hanpmpi as chosen by: {SEARCHES[ours]}" if ours else "")
        section(report, f"{its.name}_time_{collective}", f"{collective}: time against message size", subtitle,
                tune_series(its, collective, sizes, ours), {size: us for size, us in bound.items() if us})


def lacking(its, search, ours):
    """What the times against size are drawn without."""
    if not ours:
        yield "no \"choices\"" + (f" of the search {search}" if search else "") + ": hanpmpi's time is not shown"
    if not its.measured:
        yield "no \"measured\": the best forced configuration is not shown"
    if not its.host and not any(key[2] == NATIVE for key in its.measured):
        yield "no \"host\", and nothing native in \"measured\": the host MPI's time is not shown"
    limits = [name for name in LIMITS if name not in its.limits]
    if len(limits) == len(LIMITS):
        yield "no \"limits\": the lower bound is not shown"
    elif limits:
        yield f"no {', '.join(limits)} in \"limits\": the lower bound is without"


def tune_series(its, collective, sizes, ours):
    chosen = {size: its.choices[ours, collective, size]["us"] for size in sizes if (ours, collective, size) in its.choices}
    host, best = {}, {}
    for size in sizes:
        times = its.times(collective, size)
        native = times.pop(NATIVE, None)
        if (collective, size) in its.host:
            native = its.host[collective, size]["us"]
        if native:
            host[size] = native
        if times:
            best[size] = min(times.values())
    return [Series("hanpmpi", style.SEARCH_COLORS.get(ours), "o", chosen),
            Series("host MPI", style.HOST, "s", host), Series("best forced configuration", style.BEST, "^", best)]


def add_bench(report, inputs):
    """Runs under the same conditions together: the forced ones give the others their best."""
    runs = [its for its in inputs if isinstance(its, BenchRun)]
    for its in runs:
        same = [other for other in runs if other.conditions == its.conditions]
        forced = [other for other in same if other.forced]
        if its.forced and len(forced) < len(same):
            continue # shown with the runs that were not
        report.heading(2, f"{its.name}: {its.layout_text}")
        for (collective, *variant), rows in bench_groups(its).items():
            best = {} if its.forced else best_forced(forced, collective, variant)
            add_bench_group(report, its, collective, variant, rows, best)


def bench_groups(its):
    """{(collective, values of BENCH_VARIANT...): {bytes: row}}"""
    groups = {}
    for row in its.rows:
        key = (row["collective"], *(row.get(name) for name in BENCH_VARIANT))
        groups.setdefault(key, {})[row["bytes"]] = row
    return groups


def best_forced(forced, collective, variant):
    best = {}
    for its in forced:
        for size, row in bench_groups(its).get((collective, *variant), {}).items():
            if "library" in row:
                us = row["library"]["t_max_us"]["median"]
                best[size] = min(us, best.get(size, us))
    return best


def bench_series(rows, label, color, marker, side):
    times = {size: row[side]["t_max_us"] for size, row in rows.items() if side in row}
    return Series(label, color, marker, {size: its["median"] for size, its in times.items()},
                  {size: (its["q1"], its["q3"]) for size, its in times.items()},
                  frozenset(size for size, row in rows.items() if side == "library" and row.get("taken", 1) < 0.5))


def add_bench_group(report, its, collective, variant, rows, best):
    said = dict(zip(BENCH_VARIANT, variant))
    words = [said["datatype"], said["op"], None if said["root"] is None else f"root {said['root']}", f"{said['buffers']} buffers",
             None if said["arrival"] in (None, "none") else f"arrival {said['arrival']}, skew {said['skew']:g}"]
    words = ", ".join(filter(None, words))
    others = [group for group in bench_groups(its) if group[0] == collective]
    number = "" if len(others) == 1 else f"_{others.index((collective, *variant)) + 1}"
    label = "hanpmpi, forced" if its.forced else "hanpmpi"
    series = [bench_series(rows, label, style.LIBRARY, "o", "library"), bench_series(rows, "host MPI", style.HOST, "s", "host"),
              Series("best forced configuration", style.BEST, "^", best)]
    section(report, f"{its.name}_time_{collective}{number}",
            f"{collective}: time against message size" + (f" ({words})" if number else ""), f"{its.layout_text}, {its.mpi}, {words}",
            series, {size: row["bound"]["us"] for size, row in rows.items()}, "Median over the repetitions; bands: quartiles.")
