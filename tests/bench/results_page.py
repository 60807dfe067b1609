"""RESULTS.md, one page: what the figures come to, the never-slower table, where the library loses; and the block of README.md between two marks.

The tables themselves are in docs/results/*.md (results_text). No figure is written by hand."""
import math
import os
import re

import results_pictures as pictures
from results_pictures import TITLES, bytes_text, columns

BEGIN, END = "<!-- results: written by tests/bench/reproduce -->", "<!-- end of results -->"
LEAST = 0.95 # what is below is a loss

LIMITS = """- No real network was measured: virtual hosts share the cores and the memory of one machine, 16 ranks on 2 cores, and what a message costs there is the
  processor's time. Links let 256 KiB through unshaped.
- Simulated times are of a simulated machine; they say nothing about a real one's noise.
- The figures were taken on several days with several versions of the library; each document names its day."""


def mpi_of(document):
    text = re.sub(r"^MPICH Version:\s*(\S+).*", r"MPICH \1", document["mpi"], flags=re.S)
    return text.replace("\n", " ").split(",")[0].split("  ")[0].strip()


def application_mpi(document):
    return document["rows"][0]["mpi"]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def ratio_of(row):
    """Of a never-slower cell: what looked slower was measured again, longer."""
    return row.get("again", row["ratio"])


def slower_cells(document):
    """Those of a never-slower document that were below twice, in words. What the guard goes by is the mean of the ranks' times."""
    def how(row):
        if row["taken_again"] <= 0.5:
            return " (passed through)"
        return f" (by the mean of the ranks {row['mean_ratio_again']:.2f})" if "mean_ratio_again" in row else ""
    return [f"{TITLES[row['collective']]} {bytes_text(row['bytes'])} {row['again']:.2f}{how(row)}" for row in document["rows"] if row.get("again", 1) < LEAST]


def never_slower_documents(results):
    return [document for name, document in sorted(results.items()) if name.startswith("never_slower_")]


def machines(results):
    """How many layouts and MPIs the guard was measured on."""
    return len({(document["layout"], document["mpi"]) for document in never_slower_documents(results)})


def means(rows):
    """{collective: geometric mean of the ratios over the sizes}"""
    return {collective: geometric_mean([ratio_of(row) for row in group]) for collective, group in columns(rows)}


def in_words(values):
    return ", ".join(f"{TITLES[collective]} {value:.2f}" for collective, value in values.items())


def cluster_line(results):
    document = results.get("cluster_openmpi")
    if not document:
        return None
    longest = {collective: rows[-1] for collective, rows in columns(document["rows"]) if rows[-1]["bytes"]}
    shares = ", ".join(f"{TITLES[collective]} {row['library']['reached']:.2f}" for collective, row in longest.items())
    return ("[Virtual cluster](docs/results/virtual_cluster.md)", "4 hosts x 4 ranks, 1 Gbit/s, Open MPI 4.1.4, rules alone; ratio, geometric mean over sizes: "
            f"{in_words(means(document['rows']))}. Share of the lower bound at the longest size: {shares}")


def never_slower_line(results):
    rows = [row for document in never_slower_documents(results) for row in document["rows"]]
    if not rows:
        return None
    slower = sum(ratio_of(row) < LEAST for row in rows)
    return ("[Never slower](docs/results/never_slower.md)", f"defaults, after 20 calls, {machines(results)} machines, {len(rows)} cells: "
            f"{geometric_mean([ratio_of(row) for row in rows]):.2f} in the geometric mean, {slower} below {LEAST}")


def regret_line(results):
    document = results.get("regret")
    if not document:
        return None
    cells = document["cells"]
    parts = [f"{text} {geometric_mean([cell[key] for cell in cells]):.2f} (at most {max(cell[key] for cell in cells):.2f})"
             for key, text in (("first", "a first run"), ("later", "a communicator made later"), ("second", "a second run"))]
    return ("[First calls](docs/results/regret.md)", f"the first 20 calls by 20 of the best candidate, {document['where']}: {'; '.join(parts)}")


def node_line(results):
    parts = [f"{'MPICH 4.0.2' if mpi == 'mpich' else 'Open MPI 4.1.4'}: {in_words(means(results['node_' + mpi]['rows']))}"
             for mpi in ("openmpi", "mpich") if "node_" + mpi in results]
    return ("[One node](docs/results/one_node.md)", "two ranks on two cores, geometric means; " + "; ".join(parts)) if parts else None


def simulated_line(results):
    parts = []
    for name, document in sorted(results.items()):
        if name.startswith(("simulated_", "blocks_")) and "message_charge" in document.get("conditions", {}):
            ahead, cells = ahead_of_selectors(document)
            conditions = document["conditions"]
            if not cells:
                continue
            kind = " blocks" if name.startswith("blocks_") else ""
            parts.append(f"{conditions['nodes']} x {conditions['ranks'][0]}{kind}, {1e6 * conditions['message_charge']:g} us: {ahead} of {cells}")
    return ("[Simulated](docs/results/simulated.md)", "cells (collective and size) in which no selector of SMPI's is ahead by more than 1%, of all; what a message takes at each end: " + "; ".join(parts)) if parts else None


def ahead_of_selectors(document):
    """(cells in which no selector is faster by more than 1%, all cells)"""
    cells = {}
    for key, point in document["points"].items():
        side, collective, size = key.rsplit("/", 2)
        if "us" in point and not side.startswith("forced "):
            cells.setdefault((collective, size), {})[side] = point["us"]
    compared = [sides for sides in cells.values() if "hanpmpi" in sides and len(sides) > 1]
    return sum(sides["hanpmpi"] <= 1.01 * min(us for side, us in sides.items() if side != "hanpmpi") for sides in compared), len(compared)


def applications_line(results):
    cells = []
    for name, document in sorted(results.items()):
        if not name.startswith("applications_"):
            continue
        for side, title in (("first", "a first run"), ("wisdom", "with wisdom")):
            ratios = {row["program"]: row["native"] / row["library"] for row in document["rows"] if row["side"] == side}
            worst, best = min(ratios, key=ratios.get), max(ratios, key=ratios.get)
            cells.append(f"{document['where']}, {application_mpi(document)}, {title}: {len(ratios)} programs, {geometric_mean(list(ratios.values())):.2f} in the geometric "
                         f"mean, {sum(ratio > 1.15 for ratio in ratios.values())} above 1.15, {sum(ratio < LEAST for ratio in ratios.values())} below {LEAST}, "
                         f"from {ratios[worst]:.2f} ({worst}) to {ratios[best]:.2f} ({best})")
    return ("[Applications](docs/results/applications.md)", "; ".join(cells)) if cells else None


def losses(results):
    lines = []
    for document in never_slower_documents(results):
        slower = slower_cells(document)
        if slower:
            lines.append(f"- Never slower, {document['layout']}, {mpi_of(document)}: {', '.join(slower)}.")
    for name, document in sorted(results.items()):
        if name.startswith("cluster_"):
            slower = [f"{TITLES[row['collective']]} {bytes_text(row['bytes'])} {row['ratio']:.2f}" for row in document["rows"] if row["ratio"] < LEAST]
            if slower:
                lines.append(f"- Virtual cluster, rules alone ({name}): {', '.join(slower)}.")
    for cell in results.get("regret", {"cells": []})["cells"]:
        if cell["first"] > 2:
            lines.append(f"- First 20 calls of a first run, {TITLES[cell['collective']]} {bytes_text(cell['bytes'])}: {cell['first']:.1f} times the best candidate's.")
    for name, document in sorted(results.items()):
        if name.startswith("applications_"):
            slower = [f"{row['program']} {row['native'] / row['library']:.2f} ({'a first run' if row['side'] == 'first' else 'with wisdom'}, {row['native']:.1f} s)"
                      for row in document["rows"] if row["native"] / row["library"] < LEAST]
            if slower:
                lines.append(f"- [Applications](docs/results/applications.md), {document['where']}, {application_mpi(document)}: {', '.join(slower)}.")
    return lines or ["- None in these figures."]


def page(results, directory, head, never_slower):
    """The lines of RESULTS.md. results: {name: document}; never_slower: the lines of that table."""
    lines = [*head.splitlines(), "", "## In short", "", "| what | |", "|---|---|"]
    summaries = [make(results) for make in (cluster_line, never_slower_line, regret_line, applications_line, node_line, simulated_line)]
    lines += [f"| {what} | {text} |" for what, text in filter(None, summaries)]
    lines += ["| | more: [computing meanwhile](docs/results/overlap.md), [example programs](docs/results/examples.md), [the tuner](docs/results/tuning.md), [teaching the MPI](docs/results/teaching.md), "
              "[noise and late ranks](docs/results/noise.md), [networks of switches](docs/results/network_tree.md), [guidelines](docs/guidelines.md), [instructions a call](docs/instructions.md) |", ""]
    if "cluster_openmpi" in results:
        lines += [chart(results, directory), ""]
    return [*lines, *never_slower, "## Where it loses", "", *losses(results), "", "## Limits", "", *LIMITS.splitlines()]


def chart(results, directory):
    path = pictures.speedup(results["cluster_openmpi"], directory)
    return f"![how many times as fast as the host MPI, against size]({os.path.relpath(path)})"


def time_text(us):
    return f"{us:.2f} us" if us < 100 else f"{us / 1e3:.3f} ms"


def readme_rows(results):
    """Six rows: each collective near 1 MiB, and the worst of all that was measured with nothing set."""
    lines = ["| | size | library | host MPI | ratio |", "|---|---|---|---|---|"]
    for collective, rows in columns(results["cluster_openmpi"]["rows"]):
        if rows[-1]["bytes"] and len(lines) < 7:
            row = min(rows, key=lambda row: abs(math.log(row["bytes"] / 2**20)))
            lines.append(f"| {TITLES[collective]} | {bytes_text(row['bytes'])} | {row['library']['t_max_us']['median'] / 1e3:.2f} ms "
                         f"| {row['host']['t_max_us']['median'] / 1e3:.2f} ms | {row['ratio']:.2f} |")
    found = [(ratio_of(row), row, document) for document in never_slower_documents(results) for row in document["rows"]]
    if found:
        _, row, document = min(found, key=lambda one: one[0])
        again = f", again {row['again']:.2f}" if "again" in row else ""
        lines.append(f"| worst of {len(found)}: {TITLES[row['collective']]}, {document['layout']}, {mpi_of(document)} | {bytes_text(row['bytes'])} "
                     f"| {time_text(row['library_us'])} | {time_text(row['host_us'])} | {row['ratio']:.2f}{again} |")
    return lines


def write_readme(results, directory, readme):
    """Puts the block into README.md; returns what was written."""
    with open(readme) as file:
        text = file.read()
    if BEGIN not in text or END not in text or "cluster_openmpi" not in results:
        return []
    rows = [row for document in never_slower_documents(results) for row in document["rows"]]
    sentence = (f"4 virtual hosts x 4 ranks, 1 Gbit/s, Open MPI 4.1.4. With nothing set, over {machines(results)} machines and MPIs, {len(rows)} cells of collective "
                f"and size: {geometric_mean([ratio_of(row) for row in rows]):.2f} times as fast as the host MPI in the geometric mean, "
                f"{sum(ratio_of(row) < LEAST for row in rows)} cells below {LEAST} ([RESULTS.md](RESULTS.md)).")
    block = [BEGIN, chart(results, directory), "", *readme_rows(results), "", sentence, END]
    before, rest = text.split(BEGIN, 1)
    with open(readme, "w") as file:
        file.write(before + "\n".join(block) + rest.split(END, 1)[1])
    return [readme]
