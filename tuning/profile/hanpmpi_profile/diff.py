"""hanpmpi_profile diff: what differs between two recordings, a call site a row, the largest difference first. Times
are those of a mean rank, so runs of different scales can be compared, too."""
from .tables import Column, Table, name
from .totals import Totals, by_site
from .words import count_text, percent_text, ratio, seconds_text, signed_percent_text


def signed_seconds(seconds):
    return ("+" if seconds > 0 else "") + seconds_text(seconds)


def change(before, after):
    """As a share of before; None: it was nothing."""
    return after / before - 1 if before else None


def site_rows(a, b):
    found = [by_site(its) for its in (a, b)]
    rows = []
    for key in dict.fromkeys([*found[0], *found[1]]):
        place = (found[0].get(key) or found[1][key])[0]
        first, second = (of[key][2] if key in of else Totals() for of in found)
        times = first.time_s / a.present, second.time_s / b.present
        rows.append({"call": key[0], "site": place.label, "a_s": times[0], "b_s": times[1], "difference_s": times[1] - times[0],
                     "change": change(*times), "of_run": ratio(times[1] - times[0], a.run_s / a.present), "a_calls": first.count / a.present,
                     "b_calls": second.count / b.present, "a_waited": first.waited_share, "b_waited": second.waited_share,
                     "where": "both" if all(key in of for of in found) else "only in B" if key in found[1] else "only in A"})
    return sorted(rows, key=lambda row: (-abs(row["difference_s"]), row["call"], row["site"]))


def run_rows(a, b):
    def row(what, of):
        return {"what": what, "a_s": of(a), "b_s": of(b), "difference_s": of(b) - of(a), "change": change(of(a), of(b))}
    return [row("run time, longest rank", lambda its: its.longest_s), row("in MPI, mean rank", lambda its: its.mpi_s / its.present),
            row("outside MPI, mean rank", lambda its: its.outside_s / its.present)]


def tables(a, b):
    both = [Column("a_s", "A", seconds_text), Column("b_s", "B", seconds_text), Column("difference_s", "B - A", signed_seconds),
            Column("change", "change", signed_percent_text)]
    return {"run": Table([name("what", ""), *both], run_rows(a, b)),
            "sites": Table([name("call", "call"), name("site", "call site"), *both, Column("of_run", "of A's run", signed_percent_text),
                            Column("a_calls", "calls A", count_text), Column("b_calls", "calls B", count_text),
                            Column("a_waited", "waited A", percent_text), Column("b_waited", "waited B", percent_text), name("where", "in")],
                           site_rows(a, b), "seconds and calls of a process; waited: share of the call site's time")}


def lines(a, b, most):
    for letter, its in (("A", a), ("B", b)):
        yield f"{letter}: {its.path}: {its.subtitle}"
        yield from (f"   CAUTION: {text}" for text in its.cautions())
    for title, table in zip(("The run", "By call site"), tables(a, b).values()):
        yield from ["", title, *table.plain(most)]
