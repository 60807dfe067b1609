"""Writes docs/results/*.md from the JSON files of the steps: tables, pictures, what they show and where they come from; RESULTS.md is results_page's.

Every section is a function of the folder; it returns its lines, or nothing when its figures are not there. Nothing here measures,
and no figure is written by hand."""
import json
import os
import re
import sys

import results_examples
import results_page
import results_pictures as pictures
from results_pictures import TITLES, bytes_text, columns

WRITTEN = "Written by `tests/bench/reproduce` from the figures in this folder; do not edit."
HEAD = """# Results

Written by `tests/bench/reproduce` from the figures in `docs/results/`; do not edit. The tables are there, too.

- **time**: of the slowest rank, median over the repetitions, in microseconds, unless a table says otherwise.
- **ratio**: the host MPI's time by the library's, both measured inside one run, in turns; above 1 the library is faster. Behind it the quartiles
  over the repetitions.
- **bound**: what no algorithm can beat, from bandwidths and latencies measured in the same run; **share**: bound by time.
- **taken**: whether the library ran the call. What it passes through is run by the MPI itself: such a ratio is 1 but for chance.
- *Simulated* times are of a simulated machine, with the bandwidth and latency that are named; they say nothing about a real one's noise.
"""


def load(directory, name):
    path = os.path.join(directory, name + ".json")
    if not os.path.exists(path):
        return None
    with open(path) as file:
        return json.load(file)


def machine_of(document):
    machine = document["machine"]
    return f"{machine['processor']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB, {machine['kernel']}"


def setup_of(document):
    nodes = document["nodes"]
    ranks = ", ".join(str(node["ranks"]) for node in nodes)
    where = "one node" if len(nodes) == 1 else f"{len(nodes)} virtual hosts at 1 Gbit/s, {ranks} ranks on them"
    return f"{document['ranks']} ranks, {where}; {results_page.mpi_of(document)}; {machine_of(document)}; {document['ended'][:10]}"


def command_of(document):
    words = [os.path.basename(word) if "/" in word else word for word in document["command"]]
    return "    " + " ".join(words)


def bench_table(document):
    """The rows of hanpmpi_bench."""
    lines = ["| collective | size | library | host MPI | ratio | quartiles | bound | share: library | host MPI | taken |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for collective, rows in columns(document["rows"]):
        for row in rows:
            ours, host, spread = row["library"], row["host"], row["pair_ratios"]
            taken = "yes" if row["taken"] == 1 else f"{100 * row['taken']:.0f}%" if row["taken"] else f"no: {row['passed_because']}"
            lines.append(f"| {TITLES[collective]} | {bytes_text(row['bytes'])} | {ours['t_max_us']['median']:,.1f} "
                         f"| {host['t_max_us']['median']:,.1f} | {row['ratio']:.2f} | {spread['q1']:.2f} to {spread['q3']:.2f} "
                         f"| {row['bound']['us']:,.1f} | {ours['reached']:.2f} | {host['reached']:.2f} | {taken} |")
    return lines


def picture(path, text):
    relative = os.path.relpath(path, os.getcwd())
    return [f"![{text}]({relative})", ""]


def section_cluster(directory):
    lines = []
    for name, mpi in (("cluster_openmpi", "Open MPI 4.1"), ("cluster_openmpi5", "Open MPI 5.0"), ("cluster_mpich5", "MPICH 5.0")):
        document = load(directory, name)
        if not document or not document.get("library"):
            continue
        path = pictures.against_size(document, directory, name, f"Virtual cluster, {mpi}: time and share of the lower bound",
                                     f"Measured: {setup_of(document)}. Bands: quartiles. Step cluster of tests/bench/reproduce.")
        lines += [f"### {mpi}", "", setup_of(document), "", command_of(document), "", *picture(path, f"time against size, {mpi}"),
                  *bench_table(document), ""]
    if lines:
        lines = ["## Virtual cluster", "",
                 "Hosts made of one machine, with full-duplex links of 1 Gbit/s; the link, not the processor, is the limit for large messages. "
                 "The links let 256 KiB through unshaped, hence shares above 1 up to 512 KiB. TCP's congestion control is cubic or reno; before "
                 "2026-11-22 it was the machine's, BBR, which stops connections now and then (tests/cluster/README.md).", ""] + lines
    return lines


def section_layouts(directory):
    rows = []
    for name in sorted(os.listdir(directory)):
        if name.startswith(("layout_", "cold_")) and name.endswith(".json"):
            document = load(directory, name[:-5])
            ranks = "+".join(str(node["ranks"]) for node in document["nodes"])
            for collective, group in columns(document["rows"]):
                for row in group:
                    rows.append(f"| {ranks} | {row['buffers']} | {TITLES[collective]} | {bytes_text(row['bytes'])} | {row['ratio']:.2f} "
                                f"| {row['pair_ratios']['q1']:.2f} to {row['pair_ratios']['q3']:.2f} | {row['library']['reached']:.2f} |")
    if not rows:
        return []
    return ["### Other layouts, cold buffers", "", "| ranks on the hosts | buffers | collective | size | ratio | quartiles | share: library |",
            "|---|---|---|---|---|---|---|", *rows, ""]


def section_arrival(directory):
    document = load(directory, "arrival_openmpi")
    if not document:
        return []
    lines = ["### When ranks arrive at different times", "",
             "Time from the last rank's arrival to the last rank's end; skew: from the first arrival to the last, in multiples of the host MPI's time.",
             "", command_of(document), "", "| collective | size | arrival | skew | library | host MPI | ratio |", "|---|---|---|---|---|---|---|"]
    for collective, rows in columns(document["rows"]):
        for row in rows:
            lines.append(f"| {TITLES[collective]} | {bytes_text(row['bytes'])} | {row['arrival']} | {row.get('skew', 0):g} "
                         f"| {row['library']['t_max_us']['median']:,.1f} | {row['host']['t_max_us']['median']:,.1f} | {row['ratio']:.2f} |")
    return lines + [""]


def section_forced(directory):
    cluster, rows = load(directory, "cluster_openmpi"), []
    for collective in TITLES:
        document = load(directory, f"forced_{collective}")
        if not document or not cluster:
            continue
        for size in ("1048576", "4194304"):
            ours = [row for row in cluster["rows"] if row["collective"] == collective and str(row["bytes"]) == size]
            times = {name: row[size] for name, row in document["algorithms"].items() if size in row}
            if not ours or not times:
                continue
            best = min(times, key=times.get)
            mine, default = ours[0]["library"]["t_max_us"]["median"], ours[0]["host"]["t_max_us"]["median"]
            rows.append(f"| {TITLES[collective]} | {bytes_text(int(size))} | {mine:,.0f} | {default:,.0f} | {times[best]:,.0f} (number {best} of "
                        f"{len(times)}) | {times[best] / mine:.2f} |")
    if not rows:
        return []
    return ["### The host MPI at its best", "",
            "Every algorithm of Open MPI 4.1's coll/tuned forced in turn, in a run of its own each; ratio: the best of them by the library.", "",
            "| collective | size | library | own choice | best forced | ratio |", "|---|---|---|---|---|---|", *rows, ""]


def overlap_lines(document):
    """The head of the table, and a line for each collective, size and number of tests."""
    yield ("| collective | size | tests | library: blocking | pure (by blocking) | computation | both | overlap: IMB (quartiles), OSU "
           "| host MPI: blocking | pure (by blocking) | computation | both | overlap | ratio of both | taken |")
    yield "|---|---|---|" + "---|" * 12
    for collective, rows in columns(document["rows"]):
        for row in rows:
            names = [name for name in ("library", "host") if name in row["overlap"]]
            for number, with_tests in enumerate(row["overlap"]["host"]["with_tests"]):
                cells = {name: " | " * 4 for name in ("library", "host")}
                for name in names:
                    side = row["overlap"][name]
                    now = side["with_tests"][number]
                    quartiles = now["repetitions_imb"]
                    cells[name] = (f"{row[name]['t_max_us']['median']:,.0f} | {side['t_pure_us']['median']:,.0f} ({side['pure_by_blocking']:.2f}) | "
                                   f"{side['t_compute_us']['median']:,.0f} | {now['t_both_us']['median']:,.0f} | {now['overlap_imb']:.0f} ({quartiles['q1']:.0f} to {quartiles['q3']:.0f}), "
                                   f"{now['overlap_osu']:.0f}")
                ratio, taken = "", ""
                if "library" in names:
                    ours = row["overlap"]["library"]["with_tests"][number]
                    ratio = f"{with_tests['t_both_us']['median'] / ours['t_both_us']['median']:.2f}"
                    share = row["overlap"]["taken"]
                    taken = "yes" if share == 1 else f"{100 * share:.0f}%" if share else f"no: {row['overlap']['passed_because']}"
                call = TITLES[collective] + "_init" if row["overlap"].get("persistent") else "I" + TITLES[collective].lower()
                yield (f"| {call} | {bytes_text(row['bytes'])} | {with_tests['tests']} | {cells['library']} | {cells['host']} "
                       f"| {ratio} | {taken} |")


def overlap_part(title, document):
    return [f"### {title}", "", setup_of(document), "", command_of(document), "", *overlap_lines(document), ""]


OVERLAP_TITLES = {"calls": "progress in MPI calls", "thread": "HANPMPI_PROGRESS=thread", "alone": "the MPI without the library"}


def section_overlap(directory):
    lines, shown = [], {}
    for name in sorted(os.listdir(directory)):
        document = load(directory, name[:-5]) if name.startswith("nonblocking_") and name.endswith(".json") else None
        if not document:
            continue
        title = f"{len(document['nodes'])} hosts, {OVERLAP_TITLES[name[:-5].rsplit('_', 1)[1]]}"
        shown[title] = document
        lines += overlap_part(title[0].upper() + title[1:], document)
    if not lines:
        return []
    document = next(iter(shown.values()))
    caption = (f"Measured: virtual hosts at 1 Gbit/s with one rank each; {results_page.mpi_of(document)}; {machine_of(document)}; {document['ended'][:10]}. "
               "Bars: of the medians; lines: quartiles. Step overlap of tests/bench/reproduce.")
    path = pictures.overlap(shown, directory, "nonblocking_overlap", "Overlap of non-blocking collectives with a computation of their own length", caption)
    return ["## Overlap with computation", "", "blocking: MPI_Bcast; pure: MPI_Ibcast, MPI_Wait; both: MPI_Ibcast, a computation as long as pure with so many calls of "
            "MPI_Test, MPI_Wait. Overlap in percent, by IMB-NBC and by the OSU benchmarks (`man hanpmpi_bench`). The host MPI's calls are in the same "
            "process: what makes the MPI go on for the library does so for them, while it has something to do.", "",
            "On 2 hosts each rank has a core of its own, and TCP's work is done on that core too. Nothing hides it: with progress in MPI calls it is what "
            "**both** has above **computation**, and the less time a collective takes, the larger a share of it that is.", "",
            *picture(path, "overlap of non-blocking collectives"), *lines]


def section_persistent(directory):
    lines = []
    for hosts in (2, 4):
        document = load(directory, f"persistent_{hosts}_hosts")
        if document:
            lines += overlap_part(f"{hosts} hosts, started again", document)
    if not lines:
        return []
    return ["### Persistent collectives", "", "As above; pure: MPI_Start, MPI_Wait of a request that MPI_Bcast_init or MPI_Allreduce_init has made once for all "
            "repetitions. Step persistent of tests/bench/reproduce.", "", *lines]


def section_node(directory):
    lines = []
    for mpi in ("openmpi", "mpich"):
        document = load(directory, f"node_{mpi}")
        if document and document.get("library"):
            lines += [f"### {results_page.mpi_of(document)}", "", setup_of(document), "", command_of(document), "", *bench_table(document), ""]
    return ["## One node", "", "Two ranks on two cores, through memory that they share and straight from each other's memory.", "",
            *lines] if lines else []


def section_noise(directory):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "noise"))
    import study_figures
    lines = []
    for folder, kind in ((directory, "measured"), (directory, "simulated"), (os.path.join(directory, "1024_ranks"), "simulated")):
        study = load(folder, f"noise_{kind}")
        if not study:
            continue
        text = study_figures.tables(study).splitlines()
        text = ["#" + line if line.startswith("#") else line for line in text]
        lines += text + [""]
        for name in [f"noise_{kind}_slowdown"] + [f"noise_{kind}_delayed_{collective}" for collective in study["finish"]]:
            path = os.path.join(folder, name + ".svg")
            if os.path.exists(path):
                lines += picture(path, name.replace("_", " "))
    return ["## Noise", "", "The library, the host MPI, and a control that runs the library's tree with MPI_Waitall for each segment. "
            "tests/noise/README.md tells the method.", "", *lines] if lines else []


def simulated_title(conditions):
    ranks = conditions["nodes"] * conditions["ranks"][0] if len(conditions["ranks"]) == 1 else sum(conditions["ranks"])
    return (f"{ranks:,} ranks on {conditions['nodes']} nodes, {conditions['network']}, {8e-9 * conditions['bandwidth']:g} Gbit/s, "
            f"{1e6 * conditions['latency']:g} us, memory bus {1e-9 * conditions['memory_bandwidth']:g} GB/s"
            + (f", {1e6 * conditions['message_charge']:g} us at each end of a message" if "message_charge" in conditions else ""))


def cells_of(document):
    """{collective: {bytes: {side: us}}} of the points that were measured."""
    cells = {}
    for key, point in document["points"].items():
        side, collective, size = key.rsplit("/", 2)
        if "us" in point:
            cells.setdefault(collective, {}).setdefault(int(size), {})[side] = point["us"]
    return cells


def simulated_cell(document, collective, size, sides):
    """What the picture shows of one collective and size."""
    return {"ours": sides["hanpmpi"], "taken": document["points"][f"hanpmpi/{collective}/{size}"].get("taken", True),
            "selectors": {selector: sides.get(selector) for selector in SELECTORS},
            "best": min((us for side, us in sides.items() if side.startswith("forced ")), default=None)}


def forced_of(document):
    """How many of SMPI's forced algorithms were measured, in words."""
    names = {}
    for key in document["points"]:
        side, collective, _ = key.rsplit("/", 2)
        if side.startswith("forced "):
            names.setdefault(collective, set()).add(side)
    return ", ".join(f"{len(names.get(collective, ()))} of {TITLES[collective]}" for collective in TITLES)


SELECTORS = ("ompi", "mpich", "mvapich2", "impi")


# Of documents from before messages were charged.
FREE_MESSAGES = ("Measured where messages cost no processor time, with the rules of that time, which were made for that: with 0.3 us at both ends, which is little for "
                 "any network, they lost by up to 7 times to what they beat here. The same machine with that charge, and today's rules, is above.")


def behind_of(document):
    """Where a selector is faster than the library, in words."""
    found = []
    for collective, sizes in cells_of(document).items():
        slower = [size for size, sides in sizes.items() if "hanpmpi" in sides
                  and any(sides[selector] < sides["hanpmpi"] for selector in SELECTORS if selector in sides)]
        if slower:
            found.append(TITLES[collective] + ("" if collective == "barrier" else " of " + ", ".join(pictures.bytes_text(size) for size in sorted(slower))))
    return "Behind a selector: " + "; ".join(found) + "." if found else "Behind no selector."


def section_simulated(directory):
    lines = []
    for name in sorted(os.listdir(directory)):
        document = load(directory, name[:-5]) if name.startswith("simulated_") and name.endswith(".json") else None
        if not document:
            continue
        title = simulated_title(document["conditions"])
        cells = {collective: {size: simulated_cell(document, collective, size, sides) for size, sides in sizes.items() if "hanpmpi" in sides}
                 for collective, sizes in cells_of(document).items() if collective != "barrier"}  # it has no size
        path = pictures.simulated_against_size(cells, directory, name[:-5], f"Simulated: {title}",
                                               f"Simulated with SimGrid's SMPI: {title}. Step simulated of tests/bench/reproduce.")
        lines += [f"### {title}", "", *picture(path, "simulated time against size")]
        if "message_charge" not in document["conditions"]:
            lines += [FREE_MESSAGES, ""]
        table = os.path.join(directory, name[:-4] + "md")
        if os.path.exists(table):
            with open(table) as file:
                lines += [file.read().rstrip(), "", *([behind_of(document), ""] if "message_charge" in document["conditions"] else []),
                          *([f"Forced algorithms measured until now: {forced_of(document)}. The same command measures the others.", ""]
                            if any(key.startswith("forced ") for key in document["points"]) else [])]
    ranks = {}
    for name in os.listdir(directory):
        document = load(directory, name[:-5]) if name.startswith("scaling_") and name.endswith(".json") else None
        if document:
            count = document["conditions"]["nodes"] * document["conditions"]["ranks"][0]
            for collective, sizes in cells_of(document).items():
                for size, sides in sizes.items():
                    found = [sides[selector] for selector in SELECTORS if selector in sides]
                    if found and "hanpmpi" in sides and document["points"][f"hanpmpi/{collective}/{size}"].get("taken", True):
                        ranks.setdefault(collective, {})[count] = {"hanpmpi": sides["hanpmpi"], "best of four selectors": min(found)}
            conditions = document["conditions"]
    if ranks:
        path = pictures.against_ranks(ranks, directory, "scaling", "Simulated: 1 MiB, time against ranks",
                                      f"Simulated with SimGrid's SMPI: {conditions['ranks'][0]} ranks a node, {conditions['network']}, "
                                      f"{8e-9 * conditions['bandwidth']:g} Gbit/s, {1e6 * conditions['latency']:g} us. Step scaling.")
        lines += ["### Scaling", "", "1 MiB, 16 ranks a node; microseconds, and how many times as fast the library is as SMPI's best selector; a message takes 0.3 us at each "
                  "end. The rules for up to 4 nodes come from a slower network, with memory that the ranks of a node share.", "",
                  *picture(path, "simulated time against ranks"), "| collective | ranks | library | best selector | ratio |", "|---|---|---|---|---|"]
        for collective in TITLES:
            for count in sorted(ranks.get(collective, {})):
                ours, best = ranks[collective][count].values()
                lines.append(f"| {TITLES[collective]} | {count:,} | {ours:,.0f} | {best:,.0f} | {best / ours:.2f} |")
        lines.append("")
    return ["## Simulated machines", "", "SimGrid's SMPI runs the library's own code on a simulated machine. tests/smpi/README.md tells what is fair about the "
            "comparison, and what is not.", "", *lines] if lines else []


def never_slower_table(found):
    """The table of some machines, and what it comes to."""
    lines, everything = [], []
    measured = [collective for collective in TITLES if any(row["collective"] == collective for document in found for row in document["rows"])]
    for document in found:
        means = results_page.means(document["rows"])
        ratios = [results_page.ratio_of(row) for row in document["rows"]]
        everything += ratios
        cells = [f"{means[collective]:.2f}" if collective in means else "" for collective in measured]
        lines.append(f"| {document['layout']} | {results_page.mpi_of(document)} | {' | '.join(cells)} | {results_page.geometric_mean(ratios):.2f} | {min(ratios):.2f} "
                     f"| {'; '.join(results_page.slower_cells(document))} |")
    head = [*(TITLES[collective] for collective in measured), "all"]
    return [f"| ranks | MPI | {' | '.join(head)} | lowest ratio | below 0.95 |", "|---|---|" + "---|" * (len(head) + 2), *lines, "",
            f"Over all {len(everything)} cells: {results_page.geometric_mean(everything):.2f}.", ""]


def section_never_slower(directory):
    found = {name: load(directory, name[:-5]) for name in sorted(os.listdir(directory)) if name.startswith("never_slower_") and name.endswith(".json")}
    if not found:
        return []
    blocks = [document for name, document in found.items() if name.startswith("never_slower_blocks_")]
    others = [document for name, document in found.items() if not name.startswith("never_slower_blocks_")]
    lines = ["## Never slower", "", "Nothing is set: the built-in rules, the probes of that run, and the guard. Calls after the first 20 of each collective and size; "
             "geometric mean of the ratios over the sizes. A ratio below 0.95 was measured again, four times as long, and the second figure counts. "
             "The ratio is of the slowest ranks; the guard takes what is shorter by the mean of the ranks.", ""]
    if others:
        lines += ["Messages of 4 B to 16 MiB (MPICH over several hosts: 16 KiB):", "", *never_slower_table(others)]
    if blocks:
        lines += ["Blocks of 8 B to 32 KiB (MPICH over several hosts: 512 B):", "", *never_slower_table(blocks)]
    return lines


def spread_of(seconds):
    return f" ({min(seconds):.2f} to {max(seconds):.2f})" if seconds else ""


def ratio_of(row):
    """How many times as fast, and the standard error of that."""
    ratio = row["native"] / row["library"]
    return f"{ratio:.2f}" + (f" ± {ratio * row['error']:.2f}" if row.get("error") is not None else "")


def section_applications(directory):
    lines = []
    for name in sorted(os.listdir(directory)):
        document = load(directory, name[:-5]) if name.startswith("applications_") and name.endswith(".json") else None
        if not document:
            continue
        rows = document["rows"]
        lines += ["", f"### {document['where']}, {results_page.application_mpi(document)}, medians of {document['repeat']}", "",
                  "| program | result | host MPI, s | first run | with wisdom | with wisdom, s | in collectives | which | of it by the library |",
                  "|---|---|---|---|---|---|---|---|---|"]
        sides = {}
        for row in rows:
            sides.setdefault(row["program"], {})[row["side"]] = row
        for program, rows in sides.items():
            first, wise = rows["first"], rows["wisdom"]
            shares = [f"{100 * wise[key]:.0f}%" if wise[key] is not None else "" for key in ("share", "taken")]
            which = ", ".join(f"{results_page.TITLES.get(name, name.capitalize())} {100 * share:.0f}%" for name, share in list(wise["collectives"].items())[:3]
                              if share >= 0.05)
            runs = len(wise["library_runs"])
            name = program if runs == document["repeat"] else f"{program}, {runs} runs"
            lines.append(f"| {name} | {'equal' if first['equal'] and wise['equal'] else 'DIFFERENT'} | {wise['native']:.2f}{spread_of(wise['native_runs'])} "
                         f"| {ratio_of(first)} | {ratio_of(wise)} | {wise['library']:.2f}"
                         f"{spread_of(wise['library_runs'])} | {shares[0]} | {which} | {shares[1]} |")
    if not lines:
        return []
    return ["## Applications", "", "`tests/bench/reproduce applications` (`tests/programs/real_programs.py --side applications all`): the program's own seconds, medians of runs in "
            "turns (least and most); ratio of the host MPI's to the library's, in a first run, with an empty cache, and in one that knows what that has found, with its standard error. Shares, by rank 0: "
            "of the time since MPI_Init in collectives, of that in each, and of that in calls that the library ran. Where 16 ranks share 2 cores and a program waits much, its "
            "time varies by a fifth and more from run to run, with the library and without, and a ratio says no more than the ranges beside it. is and is-a: the "
            "integer sort, classes B and A.", *lines, ""]


def section_tuning(directory):
    document = load(directory, "tuning")
    if not document:
        return []
    layout = document["layout"]
    lines = ["## The tuner", "", f"`hanpmpi_tune --compare` on {layout['nodes']} virtual hosts with {layout['ranks_per_node'][0]} ranks each, {document['mpi']}, {document['date'][:10]}: "
             "the four searches of HAN (Luo et al. 2020, III.C) over the same configurations. A choice is measured again beside the exhaustive search's, in turns; "
             "that moves by some per cent too, most below 64 KiB, where 16 ranks on 2 cores make the time.", "",
             "| search | seconds | share | within 5% of the best, at most off: " + " | ".join(TITLES[name] for name in document["collectives"]) + " |",
             "|---|---|---|" + "---|" * len(document["collectives"])]
    whole = document["searches"][0]["seconds"]
    for search in document["searches"]:
        cells = []
        for collective in document["collectives"].values():
            off = [size["choices"][search["name"]]["off"] for size in collective["sizes"] if search["name"] in size["choices"]]
            cells.append(f"{sum(value <= 0.05 for value in off)} of {len(off)} sizes, {100 * max(off):.0f}%" if off else "")
        lines.append(f"| {search['name']} | {search['seconds']:.0f} | {100 * search['seconds'] / whole:.1f}% | {' | '.join(cells)} |")
    lines += ["", "Median error of the predictions: " + "; ".join(
        f"{TITLES[name]} {100 * collective['median_error']['events']:.0f}% for the event model, {100 * collective['median_error']['lockstep']:.0f}% for the paper's lock-step model"
        for name, collective in document["collectives"].items()) + ".", ""]
    for name, collective in document["collectives"].items():
        lines += [f"### {TITLES[name]}", "", "| size | best, us | median of all | mean of all | task search | off | with heuristics | off |", "|---|---|---|---|---|---|---|---|"]
        for size in collective["sizes"]:
            cells = [f"{size['choices'][search]['configuration']} | {100 * size['choices'][search]['off']:+.0f}%" if search in size["choices"] else " | "
                     for search in ("task", "task+heuristic")]
            lines.append(f"| {bytes_text(size['bytes'])} | {size['best_us']:,.0f} | {size['median_us']:,.0f} | {size['mean_us']:,.0f} | {' | '.join(cells)} |")
        lines.append("")
        for kind, text in (("choices", "what the searches choose"), ("predictions", "predicted against measured")):
            path = os.path.join(directory, f"tune_{kind}_{name}.svg")
            lines += picture(path, f"{name}: {text}") if os.path.exists(path) else []
    return lines


def section_examples(directory):
    return results_examples.section(directory, machine_of)


# File in docs/results, its title, its sections; the title is that of the first one that has figures.
FILES = {
    "virtual_cluster": (section_cluster, section_layouts, section_arrival, section_forced),
    "never_slower": (section_never_slower,),
    "applications": (section_applications,),
    "one_node": (section_node,),
    "overlap": (section_overlap, section_persistent),
    "examples": (section_examples,),
    "tuning": (section_tuning,),
    "simulated": (section_simulated,),
    "noise": (section_noise,),
}


def documents(directory):
    """{name: document} of all figures."""
    return {name[:-5]: load(directory, name[:-5]) for name in sorted(os.listdir(directory)) if name.endswith(".json")}


def write_tables(directory):
    """A file for each kind of figures; returns the paths."""
    written, here = [], f"]({os.path.relpath(directory)}/"
    for name, sections in FILES.items():
        lines = [line for section in sections for line in section(directory)]
        if not lines:
            continue
        lines = [re.sub(r"^#(#+ )", r"\1", line).replace(here, "](") for line in lines]
        lines[1:1] = ["", f"{WRITTEN} [RESULTS.md](../../RESULTS.md) says what the columns are."]
        path = os.path.join(directory, name + ".md")
        with open(path, "w") as file:
            file.write("\n".join(lines).rstrip() + "\n")
        written.append(path)
    return written


def write(directory, text, readme):
    """Writes the tables, the page, and the block of README.md; returns the paths of what was written."""
    written, results = write_tables(directory), documents(directory)
    lines = results_page.page(results, directory, HEAD, section_never_slower(directory))
    with open(text, "w") as file:
        file.write("\n".join(lines).rstrip() + "\n")
    return [*written, text, *results_page.write_readme(results, directory, readme)]
