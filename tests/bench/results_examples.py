"""The step `examples` of `reproduce`, and what it shows: the programs of examples/ on virtual hosts, each in four variants that take turns.

One file, examples_<mpi>.json, holds all figures; RESULTS.md gets a section of it, examples/README.md a table between two marks."""
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys

VCLUSTER = "tests/cluster/vcluster"
NAME = "examples_openmpi"
VARIANTS = {"host blocking": (False, False), "host nonblocking": (False, True), "library blocking": (True, False),
            "library nonblocking": (True, True)}
# Options of each program by the number of hosts, one rank each: two cores compute for all hosts about as long as the library's blocking form
# communicates, with links of 1 Gbit/s; messages of 2 MiB, 1 MiB, 512 KiB. Of the last three the forms are compared on 4 hosts, in runs of less than a second.
SIZES = {
    4: {"kmeans": ["--clusters", "512", "--dims", "512", "--batch", "1024", "--iterations", "20", "--chunks", "16"],
        "apsp": ["--vertices", "262144", "--pivots", "64"],
        "bfs": ["--scale", "22", "--reach", "18", "--edges", "8", "--searches", "3"],
        "is": ["--class", "A"],
        "ft": ["--class", "W"],
        "sparse": ["--neighbours", "2", "--items", "65536", "--cells", "1000000", "--iterations", "20"]},
    2: {"kmeans": ["--clusters", "512", "--dims", "512", "--batch", "512", "--iterations", "20", "--chunks", "16"],
        "apsp": ["--vertices", "262144", "--pivots", "64"],
        "bfs": ["--scale", "22", "--reach", "18", "--edges", "3", "--searches", "3"]},
}
NONBLOCKING = {name: ["--nonblocking", "--tests", tests] for name, tests in
               (("kmeans", "64"), ("apsp", "16"), ("bfs", "64"), ("is", "64"), ("ft", "64"), ("sparse", "64"))}
COLLECTIVE = {"kmeans": "Allreduce", "apsp": "Bcast", "bfs": "Allreduce", "is": "Alltoallv", "ft": "Alltoall", "sparse": "Alltoallv"}
FIGURES = ("total_seconds", "compute_seconds", "communication_seconds", "communication_slowest_seconds")
BEGIN, END = "<!-- written by tests/bench/reproduce: begin -->", "<!-- written by tests/bench/reproduce: end -->"


class Wrong(Exception):
    """A program failed, or its variants do not agree; the text says which."""


def taken_of(text, collective):
    """(taken, passed) of the library's table on stderr."""
    rows = re.findall(rf"^  {collective.lower()} .*?B +(\d+) +\d+ +[\d.]+ +(\d+) ", re.sub(r"[KMGT]iB", "B", text).replace("B to < ", ""), re.M)
    return [sum(int(row[i]) for row in rows) for i in (0, 1)]


def run_once(library, program, variant, sizes, mpi="openmpi"):
    """One run on the cluster that is up; returns what it prints, with the calls that the library took."""
    name = os.path.basename(program)
    uses_library, nonblocking = VARIANTS[variant]
    settings = {"LD_PRELOAD": library, "HANPMPI_STATS": "1", "HANPMPI_GUARD": "0", "HANPMPI_CACHE": "off"} if uses_library else {}
    command = [VCLUSTER, "run", mpi, "1", program, "--json", *sizes, *(NONBLOCKING[name] if nonblocking else [])]
    done = subprocess.run(command, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=300)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or len(lines) != 1:
        raise Wrong(f"{name}, {variant}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    document = json.loads(lines[0])
    if uses_library:
        document["taken"] = taken_of(done.stderr, COLLECTIVE[name])
    return document


def measure_program(library, program, sizes, repetitions):
    """All variants in turns; the first turn does not count."""
    runs = {variant: [] for variant in VARIANTS}
    for repetition in range(1 + repetitions):
        for variant in VARIANTS:
            document = run_once(library, program, variant, sizes)
            if repetition:
                runs[variant].append(document)
    checksums = {document["checksum"] for documents in runs.values() for document in documents}
    if len(checksums) != 1:
        raise Wrong(f"{os.path.basename(program)}: the variants found different results: {checksums}")
    entry = {"program": os.path.basename(program), "options": sizes, "nonblocking_options": NONBLOCKING[os.path.basename(program)],
             "message_bytes": runs["host blocking"][0]["message_bytes"], "variants": {}}
    for variant, documents in runs.items():
        entry["variants"][variant] = {figure: [document[figure] for document in documents] for figure in FIGURES}
        if "taken" in documents[0]:
            entry["variants"][variant]["taken"], entry["variants"][variant]["passed"] = documents[0]["taken"]
        middle = medians(entry["variants"][variant])
        print(f"    {entry['program']:<8} {variant:<20} {middle['total_seconds']:.3f} s, in MPI {middle['communication_seconds']:.3f} s",
              file=sys.stderr, flush=True)
    return entry


def machine():
    with open("/proc/cpuinfo") as file:
        processor = re.search(r"model name\s*:\s*(.*)", file.read())
    return {"processor": processor[1] if processor else platform.machine(), "cores": os.cpu_count(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), "kernel": f"Linux {platform.release()} {platform.machine()}"}


def measure(library, folder, path, repetitions):
    """Needs a machine that can make a virtual cluster; writes the file when all is measured."""
    version = subprocess.run(["mpirun.openmpi", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    document = {"mpi": "Open MPI v" + re.search(r"(\d+\.\d+\.\d+)", version)[1], "machine": machine(), "repetitions": repetitions, "layouts": []}
    for hosts, programs in SIZES.items():
        if subprocess.run([VCLUSTER, "up", str(hosts), "1gbit", "--wait", "600"], stdout=sys.stderr).returncode:
            raise Wrong("no virtual cluster")
        try:
            document["layouts"].append({"hosts": hosts, "programs": [measure_program(library, os.path.join(folder, name), sizes, repetitions)
                                                                     for name, sizes in programs.items()]})
        finally:
            subprocess.run([VCLUSTER, "down"], stdout=sys.stderr)
    document["ended"] = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    with open(path, "w") as file:
        json.dump(document, file, indent=1)


def medians(variant):
    return {figure: statistics.median(variant[figure]) for figure in FIGURES}


def load(directory):
    path = os.path.join(directory, NAME + ".json")
    if not os.path.exists(path):
        return None
    with open(path) as file:
        return json.load(file)


def taken_text(variants):
    """Shares of the calls in both forms. The non-blocking form never makes fewer calls: with fewer counted the library did not see them."""
    texts, least = [], 1
    for name in ("library blocking", "library nonblocking"):
        calls = variants[name]["taken"] + variants[name]["passed"]
        texts.append(f"{100 * variants[name]['taken'] / calls:.0f}%" if calls >= least else "not seen")
        least = calls
    return ", ".join(texts)


def gains(document):
    """The table of times and gains, its lines."""
    lines = ["| hosts | program | host: blocking, s | non-blocking, s | gain | library: blocking, s | non-blocking, s | gain | library by host: blocking | "
             "non-blocking | balance | taken |", "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for layout in document["layouts"]:
        for entry in layout["programs"]:
            middle = {name: medians(variant) for name, variant in entry["variants"].items()}
            host, host_non, ours, ours_non = (middle[name]["total_seconds"] for name in VARIANTS)
            balances = [middle[name]["compute_seconds"] / middle[name]["communication_seconds"] for name in ("host blocking", "library blocking")]
            lines.append(f"| {layout['hosts']} | {entry['program']} | {host:.3f} | {host_non:.3f} | {host / host_non:.2f} | {ours:.3f} | {ours_non:.3f} "
                         f"| {ours / ours_non:.2f} | {host / ours:.2f} | {host_non / ours_non:.2f} "
                         f"| {balances[0]:.2f}, {balances[1]:.2f} | {taken_text(entry['variants'])} |")
    return lines


def asp(document):
    """The table of the HAN paper, for every layout."""
    lines = ["| hosts | | " + " | ".join(name.replace("nonblocking", "non-blocking") for name in VARIANTS) + " |",
             "|---|---|" + "---|" * len(VARIANTS)]
    for layout in document["layouts"]:
        for entry in layout["programs"]:
            if entry["program"] != "apsp":
                continue
            middle = [medians(entry["variants"][name]) for name in VARIANTS]
            rows = (("communication, s", [f"{row['communication_seconds']:.3f}" for row in middle]),
                    ("slowest rank's, s", [f"{row['communication_slowest_seconds']:.3f}" for row in middle]),
                    ("total, s", [f"{row['total_seconds']:.3f}" for row in middle]),
                    ("share", [f"{100 * row['communication_seconds'] / row['total_seconds']:.1f}%" for row in middle]))
            lines += [f"| {layout['hosts']} | {what} | {' | '.join(cells)} |" for what, cells in rows]
    return lines


def section(directory, machine_of):
    """Lines of RESULTS.md."""
    document = load(directory)
    if not document:
        return []
    lines = ["## Programs that compute while they communicate", "",
             f"The programs of [examples/](../../examples/README.md), 1 rank on each virtual host, 1 Gbit/s; {document['mpi']}; {machine_of(document)}; "
             f"{document['ended'][:10]}. Medians of {document['repetitions']} runs, the four variants in turns; all found the same result.", "",
             "- **gain**: the blocking form's time by the non-blocking one's. **library by host**: the host MPI's time by the library's.",
             "- **balance**: time computing by time in MPI, the blocking form of the host MPI and of the library. Near 1 there is most to hide: a gain "
             "of 2 is what could be. 4 hosts share 2 cores, which compute twice as long as this says: there the sizes aim at 0.5 with the library.",
             "- **taken**: share of the program's calls of its collective that the library ran, on rank 0; blocking form, non-blocking form. Calls before "
             "the communicator is set up pass through.", "", *gains(document), ""]
    for layout in document["layouts"]:
        for entry in layout["programs"]:
            lines.append(f"    {layout['hosts']} hosts: {entry['program']} {' '.join(entry['options'])} [{' '.join(entry['nonblocking_options'])}]")
    lines += ["", "### All-pairs shortest paths, as in the HAN paper", "",
              "Table III of Luo et al. 2020 in small: time in MPI calls (mean of the ranks), the whole, and the one's share of the other. What the "
              "non-blocking form hides is in no row but the total.", "", *asp(document), ""]
    return lines


def write_readme(directory, path):
    """Renews the table between the marks of examples/README.md; returns what was written."""
    with open(path) as file:
        text = file.read()
    document = load(directory)
    table = "\n".join(gains(document)) if document else "`tests/bench/reproduce examples` writes it here."
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    with open(path, "w") as file:
        file.write(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}")
    return [path]
