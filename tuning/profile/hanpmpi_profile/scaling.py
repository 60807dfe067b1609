"""hanpmpi_profile scaling: where scaling is lost, from runs of one program at several numbers of ranks.

The loss of a call site C from p to q ranks (Coarfa et al., Scalability Analysis of SPMD Codes Using Expectations,
ICS 2007; Pericherla and Vadhiyar, ICCS 2017), with the costs C(n) and the run time T(n) of one rank:
    strong scaling  X = (q C(q) - p C(p)) / (q T(q))        weak scaling  X = (C(q) - C(p)) / T(q)
the share of the larger run that would not be there if the site scaled. All runs of one scale are taken together;
from three of each scale on an interval says how certain X is."""
import dataclasses
import itertools
import statistics
from typing import Dict, List, Optional, Tuple

from hanpmpi_report.inputs import BadInput

from . import growth, intervals
from .tables import Column, Table, name
from .totals import by_site
from .words import count_text, percent_text, seconds_text, signed_percent_text

THRESHOLD = 0.01 # of the larger run; less is not worth anybody's time
COVERED = 0.9 # of the positive losses of a pair
MOSTLY = 0.6 # a loss of which so much is waiting is one of imbalance
OUTSIDE = ("outside MPI",)


@dataclasses.dataclass
class Site:
    """One call site in all runs. costs: {ranks: [seconds of all ranks, a value a run]}"""
    call: str
    label: str
    costs: Dict[int, List[float]]
    waited: Dict[int, List[Optional[float]]]

    @property
    def short(self):
        return f"{self.call} {self.label.split(' < ')[0]}"


@dataclasses.dataclass
class Loss:
    """X of one site between two scales; interval: where there are enough runs."""
    value: float
    interval: Optional[Tuple[float, float]]

    @property
    def counts(self):
        return self.value > THRESHOLD and (self.interval is None or self.interval[0] > 0)


class Study:
    """Runs of one program, by scale."""

    def __init__(self, recordings, weak):
        self.weak = weak
        self.runs = {}
        for its in recordings:
            if its.run_s <= 0:
                raise BadInput(f"{its.path}: says no run time of its ranks (per_rank): scaling needs it")
            if len(its.per_rank) < its.ranks:
                raise BadInput(f"{its.path}: {len(its.per_rank)} of {its.ranks} ranks are in the recording: scaling compares sums over all ranks")
            self.runs.setdefault(its.ranks, []).append(its)
        self.scales = sorted(self.runs)
        if len(self.scales) < 2:
            raise BadInput(f"{recordings[0].path}: all files are of {self.scales[0]} ranks: scaling needs runs at two numbers of ranks or more")
        self.work = {ranks: [its.run_s for its in runs] for ranks, runs in self.runs.items()}
        self.sites = self.collect()

    def cautions(self):
        return [f"{its.path}: {text}" for runs in self.runs.values() for its in runs for text in its.cautions()]

    def collect(self):
        found = {}
        for ranks, runs in self.runs.items():
            for i, its in enumerate(runs):
                sites = by_site(its)
                for key, (place, _, totals) in sites.items():
                    site = found.setdefault(key, Site(key[0], place.label, self.zeros(0.0), self.zeros(None)))
                    site.costs[ranks][i] += totals.time_s
                    if totals.waited_share is not None:
                        site.waited[ranks][i] = totals.waited_share * totals.time_s
                outside = found.setdefault(OUTSIDE, Site(OUTSIDE[0], "the program's own work", self.zeros(0.0), self.zeros(None)))
                outside.costs[ranks][i] = max(0.0, its.run_s - sum(totals.time_s for _, _, totals in sites.values()))
        return found

    def zeros(self, value):
        return {ranks: [value] * len(runs) for ranks, runs in self.runs.items()}

    def pairs(self):
        return list(itertools.combinations(self.scales, 2))

    def loss(self, costs, p, q):
        """costs: {ranks: [a value a run]}, of all ranks together."""
        factor = q / p if self.weak else 1 # (C(q) - C(p)) / T(q) with costs of all ranks: C(p) q / p
        before, after = [factor * cost for cost in costs[p]], costs[q]
        work = statistics.fmean(self.work[q])
        share = statistics.fmean(after) / work
        value = share - statistics.fmean(before) / work
        # The first term is a ratio of means: what varies is how far a run's cost is from that share of its own time.
        residuals = [(cost - share * time) / work for cost, time in zip(after, self.work[q])]
        return Loss(value, intervals.difference(value, [cost / work for cost in before], residuals))

    def whole(self, p, q):
        """What the larger run takes beyond ideal scaling, as a share of it."""
        return self.loss(self.work, p, q)

    def waiting(self, site, p, q):
        """The part of the loss that is waiting for others, or None: too little was sampled to tell."""
        told = {ranks: site.waited[ranks] for ranks in (p, q)}
        if any(value is None and cost > 0 for ranks in told for value, cost in zip(told[ranks], site.costs[ranks])):
            return None
        return self.loss({ranks: [value or 0.0 for value in values] for ranks, values in told.items()}, p, q).value

    def cost(self, site):
        """{ranks: seconds of one rank, mean over the runs}"""
        return {ranks: statistics.fmean(costs) / ranks for ranks, costs in site.costs.items()}


def smallest_cover(losses):
    """losses: [{site: loss} a pair]. The smallest set of sites that holds COVERED of the positive losses of every
    pair that loses at all, the most important first. The largest that is missing is added until it is enough: of
    one pair that is the smallest set; of several hardly ever is another smaller, since what is in none of the
    smallest holds a tenth of each pair at most."""
    positive = [{site: value for site, value in of.items() if value > 0} for of in losses]
    positive = [of for of in positive if sum(of.values()) > THRESHOLD]
    missing = [COVERED * (1 - 1e-9) * sum(of.values()) for of in positive]
    left = sorted({site for of in positive for site in of}, key=str)
    chosen = []
    while any(need > 0 for need in missing):
        # What is beyond the need counts only between sites that fill it equally.
        best = max(left, key=lambda site: (sum(min(of.get(site, 0.0), max(need, 0.0)) for of, need in zip(positive, missing)),
                                           sum(of.get(site, 0.0) for of in positive)))
        left.remove(best)
        chosen.append(best)
        missing = [need - of.get(best, 0.0) for of, need in zip(positive, missing)]
    return tuple(chosen)


def analyse(study):
    """The sites that lose, the most first, as rows; the rest of the answer as a dictionary."""
    first, last = study.scales[0], study.scales[-1]
    rows, by_pair = [], {pair: {} for pair in study.pairs()}
    for key, site in study.sites.items():
        losses = {pair: study.loss(site.costs, *pair) for pair in by_pair}
        for pair, loss in losses.items():
            if key != OUTSIDE:
                by_pair[pair][key] = loss.value
        counting = [pair for pair in losses if losses[pair].counts]
        worst = max(counting or losses, key=lambda pair: losses[pair].value)
        waiting = study.waiting(site, *worst) if key != OUTSIDE else None
        its_growth = growth.fit(study.cost(site))
        rows.append({"key": key, "call": site.call, "site": site.label, "loss": losses[first, last].value, "interval": losses[first, last].interval,
                     "worst": losses[worst].value, "worst_interval": losses[worst].interval, "worst_from": worst[0], "worst_to": worst[1],
                     "counts": bool(counting), "waiting": waiting, "growth": its_growth,
                     "share": statistics.fmean(site.costs[last]) / statistics.fmean(study.work[last]), "losses": losses})
    rows.sort(key=lambda row: (not row["counts"], -row["worst"], row["call"], row["site"]))
    for row in rows:
        row["verdict"] = verdict(study, row)
    return rows, by_pair


def verdict(study, row):
    if not row["counts"]:
        loss = row["losses"][row["worst_from"], row["worst_to"]]
        return "uncertain: the runs differ too much" if loss.value > THRESHOLD else "scales"
    if row["key"] == OUTSIDE:
        return "the program's own work grows: work done on every rank, or done twice"
    if row["waiting"] is None:
        return "loses; waiting and transfer not told apart (no sampled arrivals)"
    share = row["waiting"] / row["worst"]
    if share >= MOSTLY:
        return f"imbalance: {percent_text(min(share, 1))} of the loss is waiting; balance the load"
    if share <= 1 - MOSTLY:
        return f"communication: {percent_text(min(1 - share, 1))} of the loss is transfer; another algorithm, or overlap"
    return f"both: {percent_text(share)} of the loss is waiting, the rest transfer"


def interval_text(interval):
    return "one run" if interval is None else f"{signed_percent_text(interval[0])} to {signed_percent_text(interval[1])}"


def predictions(study, rows, at):
    """{ranks: {site's key: seconds of a rank}} of what has a growth; the shares are of the sum."""
    return {ranks: {row["key"]: row["growth"].at(ranks) for row in rows if row["growth"]} for ranks in at}


def site_table(study, rows):
    first, last = study.scales[0], study.scales[-1]
    few = min(map(len, study.runs.values())) < intervals.RUNS_FOR_INTERVAL
    columns = [name("call", "call"), name("site", "call site"), Column("loss", f"X({first}->{last})", signed_percent_text),
               Column("interval", "95% interval", interval_text), Column("worst", "largest X", signed_percent_text), name("between", "between"),
               Column("share", f"of run at {last}", percent_text), name("growth_text", "grows as"), name("verdict", "verdict")]
    if few:
        columns = [column for column in columns if column.key != "interval"]
    if len(study.scales) < growth.FEWEST_SCALES:
        columns = [column for column in columns if column.key != "growth_text"]
    if len(study.scales) == 2:
        columns = [column for column in columns if column.key not in ("worst", "between")]
    texts = [{**{key: row[key] for key in ("call", "site", "loss", "interval", "worst", "share", "verdict")},
              "between": f"{row['worst_from']}->{row['worst_to']}", "growth_text": row["growth"].text if row["growth"] else "-"} for row in rows]
    return Table(columns, texts, "fewer than three runs of a scale: no intervals, chance may look like a loss" if few else "")


def pair_table(study, by_pair):
    rows = []
    for (p, q), losses in by_pair.items():
        sites = smallest_cover([losses])
        positive = sum(value for value in losses.values() if value > 0)
        names = [f"{study.sites[site].short} ({percent_text(losses[site] / positive)})" for site in sites]
        whole = study.whole(p, q)
        rows.append({"pair": f"{p}->{q}", "loss": whole.value, "in_mpi": sum(losses.values()),
                     "names": " + ".join(names) or f"none: the losses in MPI are below {percent_text(THRESHOLD)}"})
    return Table([name("pair", "ranks"), Column("loss", "loss of the program", signed_percent_text), Column("in_mpi", "in MPI", signed_percent_text),
                  name("names", f"smallest set with {100 * COVERED:.0f}% of the positive loss in MPI")], rows)


def combination_text(study, by_pair):
    """Does one site follow the program's trend, or which together do?"""
    sites = smallest_cover(list(by_pair.values()))
    names = [study.sites[site].short for site in sites]
    if not sites:
        return f"No call site loses more than {percent_text(THRESHOLD)} from any scale to a larger one."
    if len(sites) == 1:
        return f"One call site holds {100 * COVERED:.0f}% of the positive loss between any two scales: {names[0]}."
    return (f"No single call site follows the program's trend; together these do, with {100 * COVERED:.0f}% of the positive loss between any two scales: "
            + " + ".join(names) + ".")


def prediction_table(study, rows, at):
    found = predictions(study, rows, at)
    keep = [row for row in rows if row["growth"]]
    columns = [name("call", "call"), name("site", "call site"), name("growth_text", "grows as"), Column("error", "error", percent_text)]
    for ranks in at:
        columns += [Column(f"seconds_{ranks}", f"at {count_text(ranks)}", seconds_text), Column(f"share_{ranks}", "of these", percent_text)]
    texts = []
    for row in keep:
        text = {"call": row["call"], "site": row["site"], "growth_text": row["growth"].text, "error": row["growth"].error}
        for ranks in at:
            seconds = found[ranks][row["key"]]
            text.update({f"seconds_{ranks}": seconds, f"share_{ranks}": seconds / sum(found[ranks].values())})
        texts.append(text)
    texts.sort(key=lambda text: -text[f"seconds_{at[-1]}"])
    return Table(columns, texts, "seconds of one rank by the fitted functions: an extrapolation, not a measurement; error: mean, when each scale is "
                                 "predicted from the others")


def json_of(study, rows, by_pair, at):
    found = predictions(study, rows, at)
    return {"program": "hanpmpi_profile", "cautions": study.cautions(),
            "scaling": "weak" if study.weak else "strong", "scales": {str(ranks): len(runs) for ranks, runs in study.runs.items()},
            "sites": [{"call": row["call"], "site": row["site"], "verdict": row["verdict"], "loses": row["counts"], "share": row["share"],
                       "waiting": row["waiting"], "losses": [{"from": p, "to": q, "loss": loss.value, "interval": loss.interval}
                                                             for (p, q), loss in row["losses"].items()],
                       "growth": row["growth"] and {"factor": row["growth"].factor, "power": row["growth"].power, "log_power": row["growth"].log_power,
                                                    "error": row["growth"].error},
                       "predicted_s": {str(ranks): found[ranks][row["key"]] for ranks in at if row["growth"]}} for row in rows],
            "pairs": [{"from": p, "to": q, "loss": study.whole(p, q).value, "combination": [
                {"call": study.sites[site].call, "site": study.sites[site].label, "loss": losses[site]} for site in smallest_cover([losses])]}
                for (p, q), losses in by_pair.items()],
            "combination": [{"call": study.sites[site].call, "site": study.sites[site].label} for site in smallest_cover(list(by_pair.values()))]}


def scales_beyond(study, asked):
    """Where growth is extrapolated to: what was asked for, else 4 and 16 times the largest scale."""
    if len(study.scales) < growth.FEWEST_SCALES:
        return []
    return sorted(asked) if asked else [4 * study.scales[-1], 16 * study.scales[-1]]


def lines(study, rows, by_pair, at, most):
    runs = ", ".join(f"{ranks} ({len(found)} run{'s' if len(found) > 1 else ''})" for ranks, found in sorted(study.runs.items()))
    yield f"{'Weak' if study.weak else 'Strong'} scaling, ranks: {runs}"
    yield from (f"CAUTION: {text}" for text in study.cautions())
    yield from ["", "Loss by call site: X, the share of the larger run that would not be there if the site scaled", *site_table(study, rows).plain(most)]
    yield from ["", "Between any two scales", *pair_table(study, by_pair).plain(most), "", combination_text(study, by_pair)]
    if at:
        yield from ["", "Beyond the runs", *prediction_table(study, rows, at).plain(most)]
    else:
        yield from ["", f"No growth is fitted: that takes {growth.FEWEST_SCALES} scales, here are {len(study.scales)}."]
