#!/usr/bin/env python3
"""Tests of hanpmpi_bench: what it says is consistent, and what is wrong it finds. No test looks at how fast something was.

usage: test_bench.py --program hanpmpi_bench.<mpi> --library libhanpmpi.so --run "mpirun words" CASE   (CASES below)
"""
import argparse
import csv
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOPOLOGY = {1: "node:1 core:1", 2: "node:2 core:1", 3: "node:2 core:2", 4: "node:2 core:2"}
QUICK = ["--seconds", "0.02"]
BLOCKS = ["allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "reduce_scatter", "reduce_scatter_block",
          "gather", "gatherv", "scatter", "scatterv", "scan", "exscan"]
OTHERS = BLOCKS[:-2]  # bus bandwidth: the blocks of the others
SIZES_DIFFER = [name for name in BLOCKS if name[-1] in "vw" or name == "reduce_scatter"]


def check(condition, *what):
    if not condition:
        sys.exit(" ".join(["FAILED:"] + [str(word) for word in what]))


def near(a, b, share=1e-3):
    return abs(a - b) <= share * max(abs(a), abs(b)) + 1e-9


class Bench:
    def __init__(self, args):
        self.args = args

    def start(self, ranks, options, preload=(), settings=None):
        """Runs the program, without a launcher on 0 ranks; returns the finished process."""
        env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **(settings or {})}
        objects = list(preload) + ([self.args.helper] if self.args.helper else [])
        if objects:
            env["LD_PRELOAD"] = ":".join(objects)
        launcher = self.args.run.split() + ["-np", str(ranks)] if ranks else []
        return subprocess.run(launcher + [self.args.program] + options, env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)

    def document(self, ranks, options, library=False, settings=None):
        """Runs it with --json; returns the document after checking what always holds."""
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "out.json")
            # Without the guard it is known what runs.
            settings = {"HANPMPI_TOPOLOGY": TOPOLOGY[ranks], "HANPMPI_GUARD": "0", "HANPMPI_CACHE": "off", **(settings or {})} if library else settings
            done = self.start(ranks, options + ["--json", name, "--raw"], [self.args.library] if library else [], settings)
            check(done.returncode == 0, "exit code", done.returncode, done.stdout, done.stderr)
            with open(name) as file:
                document = json.load(file)
        self.table = done.stdout
        check(document["ranks"] == ranks == sum(node["ranks"] for node in document["nodes"]), document["nodes"])
        check(document["command"][1:len(options) + 1] == options, document["command"])
        check((document["library"] is not None) == library, document["library"])
        lines = sum(len(row["overlap"]["host"]["with_tests"]) if "overlap" in row else 1 for row in document["rows"])
        check(len(re.findall(r"^ +\d", done.stdout, re.M)) == lines, done.stdout)
        for row in document["rows"]:
            check_row(row, ranks, library)
            if "overlap" in row:
                check_overlap(row, library)
        return document


def check_row(row, ranks, library):
    bound = row["bound"]
    check(near(bound["us"], max(bound["latency_us"], bound["link_us"], bound["memory_us"])), bound)
    check(("library" in row) == ("ratio" in row) == library, row.keys())
    factor = 2 * (ranks - 1) / ranks if row["collective"] == "allreduce" else ranks - 1 if row["collective"] in OTHERS else 1
    check(("pattern" in row) == (row["collective"] in SIZES_DIFFER), row["collective"], row.keys())
    sides = [row[side] for side in ("library", "host") if side in row]
    for side in sides:
        for name in ("t_min_us", "t_avg_us", "t_max_us", "from_first_us"):
            q = side[name]
            check(0 <= q["min"] <= q["q1"] <= q["median"] <= q["q3"] <= q["max"], name, q)
            check(q["min"] <= q["median_95"][0] <= q["median"] <= q["median_95"][1] <= q["max"], name, q)
        check(side["t_min_us"]["median"] <= side["t_avg_us"]["median"] <= side["t_max_us"]["median"], side)
        check(len(side["raw_t_max_us"]) == row["repetitions"], "raw times and repetitions")
        check(near(statistics.median(side["raw_t_max_us"]), side["t_max_us"]["median"]), "median of the raw times")
        check(near(side["busbw_mbps"], row["bytes"] / side["t_max_us"]["median"] * factor), "busbw", side)
        check(near(side["reached"], bound["us"] / side["t_max_us"]["median"]), "reached", side)
    if library:
        check(near(row["ratio"], row["host"]["t_max_us"]["median"] / row["library"]["t_max_us"]["median"]), row["ratio"])
        pairs = [h / l for h, l in zip(row["host"]["raw_t_max_us"], row["library"]["raw_t_max_us"])]
        check(near(statistics.median(pairs), row["pair_ratios"]["median"]), row["pair_ratios"])
        check((row["taken"] == 1) == (row["passed_because"] is None), row["taken"], row["passed_because"])


def check_quantiles(q, raw):
    check(0 <= q["min"] <= q["q1"] <= q["median"] <= q["q3"] <= q["max"] and near(statistics.median(raw), q["median"]), q, raw)


def imb(pure, compute, both):
    return min(100, max(0, 100 * (pure + compute - both) / min(pure, compute)))


def osu(pure, compute, both):
    return min(100, max(0, 100 * (1 - (both - compute) / pure)))


def check_overlap(row, library):
    """What holds of any times: the formulas are of the medians, the spreads of the repetitions."""
    overlap = row["overlap"]
    check(("library" in overlap) == ("taken" in overlap) == ("pure_ratio" in overlap) == library, overlap.keys())
    for name in ("host", "library") if library else ("host",):
        side = overlap[name]
        pure, compute = side["t_pure_us"]["median"], side["t_compute_us"]["median"]
        check_quantiles(side["t_pure_us"], side["raw_t_pure_us"])
        check_quantiles(side["t_compute_us"], side["raw_t_compute_us"])
        check(near(side["pure_by_blocking"], pure / row[name]["t_max_us"]["median"]), side["pure_by_blocking"])
        check(side["t_compute_us"]["min"] > 0, side["t_compute_us"])
        for with_tests in side["with_tests"]:
            raw = list(zip(side["raw_t_pure_us"], side["raw_t_compute_us"], with_tests["raw_t_both_us"]))
            check(len(raw) == row["repetitions"] == len(with_tests["raw_t_both_us"]), "repetitions")
            check_quantiles(with_tests["t_both_us"], with_tests["raw_t_both_us"])
            for key, formula in (("imb", imb), ("osu", osu)):
                # A hundredth of a percent: times are written with nine digits.
                check(abs(with_tests["overlap_" + key] - formula(pure, compute, with_tests["t_both_us"]["median"])) < 0.01, key, with_tests)
                check(abs(with_tests["repetitions_" + key]["median"] - statistics.median(formula(*times) for times in raw)) < 0.01, key, with_tests)
    if library:
        host, ours = overlap["host"]["t_pure_us"]["median"], overlap["library"]["t_pure_us"]["median"]
        check(near(overlap["pure_ratio"], host / ours), overlap["pure_ratio"])
        check(0 <= overlap["taken"] <= 1 and (overlap["taken"] == 1) == (overlap["passed_because"] is None), overlap["taken"], overlap["passed_because"])


def host_only(bench):
    document = bench.document(3, ["--bytes", "0:4K", "--factor", "8", "--root", "rotate", "--repeat", "12"])
    sizes = [0, 8, 64, 512, 4096]
    check([row["bytes"] for row in document["rows"]] == 3 * sizes + [0], "sizes")
    check([row["collective"] for row in document["rows"]][::len(sizes)] == ["bcast", "reduce", "allreduce", "barrier"], "collectives")
    check(all(row["repetitions"] == 12 for row in document["rows"]), "repetitions")
    check("not loaded" in bench.table and "ratio" not in bench.table, bench.table)


def taken(bench):
    """--force: the library runs every call but those without data."""
    document = bench.document(3, ["--bytes", "0,8,96K", "--force", "--hint", "hanpmpi_segment_bytes=8K"] + QUICK, True)
    check("hanpmpi_segment_bytes=8K" in document["hints"] and document["knobs"]["HANPMPI_TOPOLOGY"], document["hints"])
    for row in document["rows"]:
        check(row["taken"] == (row["bytes"] > 0 or row["collective"] == "barrier"), row["collective"], row["bytes"], row["taken"], row["passed_because"])
        check(row["repetitions"] >= 10, row["repetitions"])


def blocks(bench):
    """The collectives with blocks: all patterns, types with holes, roots; what their bounds rest on."""
    options = ["--collective", ",".join(BLOCKS), "--repeat", "2", "--warmup", "1"]
    for pattern in ("equal", "ragged", "sparse", "hot"):
        rows = bench.document(4, options + ["--bytes", "0,8,24000", "--pattern", pattern, "--root", "rotate"], pattern == "ragged")["rows"]
        check([row["collective"] for row in rows] == [name for name in BLOCKS for _ in range(3)], "collectives")
        check(all(row.get("pattern", pattern) == pattern for row in rows), pattern)
    bench.document(3, options + ["--datatype", "vector", "--op", "product", "--bytes", "16,4000", "--root", "2"])
    memory = {}
    for row in bench.document(3, options + ["--bytes", "24000", "--pattern", "equal"])["rows"]:
        # On one node: each send buffer is read once, each receive buffer written once; 3 ranks, in blocks.
        memory[row["collective"]] = round(row["bound"]["memory_us"] * row["bound"]["copy_bytes_per_second"] / 1e6 / 24000, 3)
    check(memory == {"allgather": 12, "allgatherv": 12, "alltoall": 18, "alltoallv": 18, "alltoallw": 18, "reduce_scatter": 12,
                     "reduce_scatter_block": 12, "gather": 6, "gatherv": 6, "scatter": 6, "scatterv": 6, "scan": 6, "exscan": 4}, memory)
    done = bench.start(0, ["--overlap", "--collective", ",".join(BLOCKS), "--bytes", "800", "--repeat", "2"])
    check(done.returncode == 0 and done.stdout.count("overlap with") == len(BLOCKS), done.stdout, done.stderr)


def passed(bench):
    """What passes through is seen as that: by the rules, by a hint, on one node."""
    def reasons(options, settings=None):
        rows = bench.document(2, ["--collective", "bcast", "--bytes", "8,1M", "--repeat", "5"] + options, True, settings)["rows"]
        return [(row["taken"], row["passed_because"]) for row in rows]
    check(reasons([]) == [(0, "rule"), (1, None)], "rules", bench.table)
    check(reasons(["--hint", "hanpmpi_bcast=native"]) == [(0, "hint")] * 2, "hint", bench.table)
    check(reasons([], {"HANPMPI_TOPOLOGY": "node:1 core:2"}) == [(1, None)] * 2, "one node", bench.table)
    tried = reasons(["--repeat", "60"], {"HANPMPI_GUARD": "1"})
    check(all(0 <= share <= 1 and (share == 1 or why in ("guard", "rule")) for share, why in tried), "guard", tried)
    apart = {"HANPMPI_TOPOLOGY": "node:1 core:2", "HANPMPI_SHARED_MEMORY": "0"}
    check(reasons([], apart) == [(0, "one-node")] * 2, "one node whose ranks share no memory", bench.table)
    check("0% one-node" in bench.table, bench.table)
    done = bench.start(2, ["--bytes", "8"] + QUICK, [bench.args.library], {"HANPMPI_ENABLE": "0"})
    check(done.returncode == 0 and "not active" in done.stdout and "ratio" not in done.stdout, done.stdout, done.stderr)


def arrival(bench):
    options = ["--collective", "allreduce", "--bytes", "1K", "--arrival", "none,ascending,late,random", "--skew", "0.5,4", "--seed", "7", "--force"]
    rows = bench.document(3, options + QUICK, True)["rows"]
    ways = [("none", None)] + [(name, skew) for name in ("ascending", "late", "random") for skew in (0.5, 4)]
    check([(row["arrival"], row.get("skew")) for row in rows] == ways, "rows")
    for row in rows:
        check((row["skew_us"] > 0) == (row["arrival"] != "none"), row["arrival"], row["skew_us"])
        for side in (row["library"], row["host"]):
            # No rank comes early: first to last arrival is at least the skew in every repetition.
            check(side["from_first_us"]["min"] >= row["skew_us"], row["arrival"], row["skew_us"], side["from_first_us"])
            check(side["from_first_us"]["median"] >= side["t_max_us"]["median"], side)


def csv_rows(bench):
    for library in (False, True):
        settings = {"HANPMPI_TOPOLOGY": TOPOLOGY[2]} if library else {}
        done = bench.start(2, ["--bytes", "8,64", "--csv", "-"] + QUICK, [bench.args.library] if library else [], settings)
        check(done.returncode == 0 and not done.stdout.startswith("#"), done.stdout, done.stderr)
        rows = list(csv.DictReader(io.StringIO(done.stdout), strict=True))
        check([row["bytes"] for row in rows] == 3 * ["8", "64"] + ["0"], done.stdout)
        for row in rows:
            check(None not in row and None not in row.values(), "fields and head differ", row)
            check(("ratio" in row) == library and float(row["host_t_max_us"]) > 0, row)
            check(float(row["host_t_max_q1_us"]) <= float(row["host_t_max_us"]) <= float(row["host_t_max_q3_us"]), row)


def buffers(bench):
    rows = bench.document(2, ["--bytes", "64,32K", "--buffers", "both", "--cold-bytes", "1M"] + QUICK)["rows"]
    check([row["buffers"] for row in rows] == 3 * ["warm", "warm", "cold", "cold"] + ["warm", "cold"], "rows")
    # Two ranks with two buffers each share what --cold-bytes gives a node.
    check(all(row["cold_region_bytes"] == 1 << 18 for row in rows if row["buffers"] == "cold"), rows)


def types(bench):
    """A derived type with holes and an operation that is not commutative, and some of MPI's, on the library's side too."""
    for names in (["vector", "product"], ["complex", "prod"], ["MPI_2INT", "maxloc"]):
        rows = bench.document(3, ["--datatype", names[0], "--op", names[1], "--bytes", "16,20000", "--root", "rotate", "--force",
                                  "--repeat", "6"], True)["rows"]
        check(all(row["taken"] == 1 for row in rows), [(row["collective"], row["passed_because"]) for row in rows])


def bad_options(bench):
    cases = [(2, ["--root", "2"], "0 to 1"), (0, ["--bytes", "9"], "multiples of the 8 bytes"),
             (0, ["--bytes", "8", "--buffers", "cold", "--cold-bytes", "900000G"], "take smaller sizes"),
             (0, ["--tests", "0,5"], "give --overlap too"), (0, ["--persistent"], "--persistent: "), (0, ["--overlap", "--tests", "0,-1"], "--tests -1: accepted is a list of at most 8"),
             (0, ["--pattern", "random"], "equal, ragged, sparse, hot"), (0, ["-c", "alltoallw", "--bytes", "1600M"], "2 GiB together"),
             (0, ["--overlap", "--arrival", "none,late"], "--arrival none only"), (0, ["--guidelines", "-c", "bcast,exscan"], "exscan: has no mock-up"),
             (0, ["--guidelines", "--overlap"], "--guidelines: accepted")]
    if bench.args.all_bad_options:
        cases += [(0, words, said) for words, said in (
            (["--root", "1"], "0 to 0"), (["--collective", "sort"], "bcast, reduce, allreduce"), (["--op", "band"], "MPI_SUM"),
            (["--datatype", "real"], "MPI_DOUBLE"), (["--buffers", "hot"], "warm, cold"), (["--repeat", "0"], "1 to"),
            (["--seconds", "-1"], "0.001"), (["--hint", "key=1"], "KEY=VALUE"), (["--hint", "hanpmpi"], "KEY=VALUE"), (["--skew", "x"], "0.001"), (["--arrival", "early"], "ascending"),
            (["--json", "-", "--csv", "-"], "--json -"), (["--raw"], "--json FILE"), (["--bytes", ""], "--bytes"), (["word"], "options only"),
            (["--compute", "2"], "give --overlap too"), (["--overlap", "--compute", "0"], "0.01 to 100"), (["--overlap", "--tests", ","], "at least one"),
            (["--overlap", "--tests", "1,2,3,4,5,6,7,8,9"], "at most 8"), (["--overlap", "--tests", "x"], "0 to"), (["--overlap", "--arrival", "late"], "--arrival none only"),
            (["--warmup", "x"], "1 to"), (["--factor", "1"], "1.01"), (["--seed", "-1"], "--seed"), (["--cold-bytes", "0"], "--cold-bytes"),
            (["--bytes", "8:4"], "MIN <= MAX"), (["--nothing"], "--nothing"), (["--guidelines", "--arrival", "late"], "--guidelines: accepted"), (["--guidelines", "--buffers", "both"], "--guidelines: accepted"),
            (["--guidelines", "-c", "bcast", "-d", "byte", "--bytes", "2147483647"], "less than 2 GiB"), (["--json", "/no/such/folder/x"], "/no/such/folder/x"))]
    for ranks, options, said in cases:
        done = bench.start(ranks, options)
        check(done.returncode == 2, options, "exit code", done.returncode, done.stderr)
        check(done.stderr.count(said) == 1, options, done.stderr)
    done = bench.start(2, ["--help"])
    check(done.returncode == 0 and done.stdout.count("--arrival=LIST  ") == 1, done.stdout, done.stderr)


def wrong_result(bench):
    """One flipped bit on one rank ends the run; without it the same run passes."""
    options = ["--collective", "bcast", "--bytes", "512,4K", "--repeat", "2", "--force"]
    settings = {"HANPMPI_TOPOLOGY": TOPOLOGY[2]}
    preload = [bench.args.corrupt, bench.args.library]
    done = bench.start(2, options, preload, settings)
    check(done.returncode == 0, "the control failed", done.stdout, done.stderr)
    for call, side in enumerate(("the host MPI's side", "the library's side")):
        done = bench.start(2, options, preload, {**settings, "CORRUPT_BYTES": "4096", "CORRUPT_CALL": str(call)})
        check(done.returncode != 0, "a wrong result went unnoticed", done.stdout)
        check(re.search(r"wrong result: bcast of 4096 bytes of MPI_DOUBLE on rank 1, .*, %s: element 256 " % side, done.stderr),
              side, done.returncode, done.stderr)
    options = ["--collective", "alltoallv", "--bytes", "4K", "--pattern", "equal", "--repeat", "2"]
    done = bench.start(2, options, preload, settings)
    check(done.returncode == 0, "the control failed", done.stdout, done.stderr)
    done = bench.start(2, options, preload, {**settings, "CORRUPT_SWAP": "1"})
    check(done.returncode != 0 and re.search("wrong result: alltoallv of 4096 bytes .*: element 0 is not", done.stderr), done.returncode, done.stderr)


MOCKUPS = {"bcast": 2, "reduce": 3, "allreduce": 3, "barrier": 1, "allgather": 4, "allgatherv": 2, "alltoall": 1, "alltoallv": 1, "reduce_scatter": 2,
           "reduce_scatter_block": 3, "gather": 3, "scatter": 2, "scan": 1}


def guideline_rows(bench, ranks, options, preload=()):
    """Runs --guidelines; returns the rows after checking what always holds."""
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "out.json")
        done = bench.start(ranks, ["--guidelines", "--json", name, "--raw"] + options, preload, {"HANPMPI_TOPOLOGY": TOPOLOGY[ranks]} if preload else {})
        check(done.returncode == 0, "exit code", done.returncode, done.stdout, done.stderr)
        with open(name) as file:
            document = json.load(file)
    rows, broken = document["guidelines"]["rows"], document["guidelines"]["broken"]
    check(document["rows"] == [] and document["guidelines"]["compared"] == len(rows) and broken == sum(row["broken"] for row in rows), document["guidelines"])
    check("# %d of %d rows break a guideline" % (broken, len(rows)) in done.stdout, done.stdout)
    check(len(re.findall(r"^ +\d.* (?:broken|kept)$", done.stdout, re.M)) == len(rows), done.stdout)
    for row in rows:
        raw, mockup = row["raw_t_max_us"], row["raw_mockup_t_max_us"]
        check_quantiles(row["t_max_us"], raw)
        check_quantiles(row["mockup_t_max_us"], mockup)
        check_quantiles(row["pair_ratios"], [a / b for a, b in zip(raw, mockup)])
        check(len(raw) == len(mockup) == row["repetitions"], "repetitions", row)
        check(near(row["ratio"], row["t_max_us"]["median"] / row["mockup_t_max_us"]["median"]), row)
        at_the_edge = near(row["ratio"], 1.05) or near(row["pair_ratios"]["q1"], 1) # written with nine digits
        check(at_the_edge or row["broken"] == (row["ratio"] > 1.05 and row["pair_ratios"]["q1"] > 1), row)
    return rows


def guidelines(bench):
    """--guidelines: every mock-up, its results validated; what the library does does not matter."""
    sizes = [0, 8, 2400]
    for preload in ([], [bench.args.library]):
        rows = guideline_rows(bench, 3, ["--bytes", "0,8,2400", "--root", "rotate", "--repeat", "4", "--warmup", "2"], preload)
        found = [(row["collective"], row["bytes"]) for row in rows]
        expected = [(name, size) for name in ["bcast", "reduce", "allreduce", "barrier"] + BLOCKS if name in MOCKUPS
                    for size in (sizes if name != "barrier" else [0]) for _ in range(MOCKUPS[name])]
        check(found == expected, found)
        check(len({(row["collective"], row["mockup"]) for row in rows}) == sum(MOCKUPS.values()), found)
    for pattern in ("equal", "sparse", "hot"): # a type with holes and an operation that does not commute
        guideline_rows(bench, 4, ["--datatype", "vector", "--op", "product", "--bytes", "16,1600", "--root", "3", "--pattern", pattern, "--repeat", "2", "--warmup", "1"])
    done = bench.start(2, ["--guidelines", "--collective", "allgather", "--bytes", "8,64", "--csv", "-"] + QUICK)
    rows = list(csv.DictReader(io.StringIO(done.stdout), strict=True))
    check([(row["bytes"], row["mockup"]) for row in rows][::4] == [("8", "gather + bcast"), ("64", "gather + bcast")] and len(rows) == 8, done.stdout)
    check(all(None not in row and None not in row.values() and row["guideline"] in ("broken", "kept") for row in rows), done.stdout)
    # A mock-up's wrong result is found: one of its broadcasts is changed.
    options = ["--guidelines", "--collective", "allreduce", "--bytes", "4K", "--repeat", "2"]
    done = bench.start(2, options, [bench.args.corrupt], {"CORRUPT_BYTES": "4096", "CORRUPT_CALL": "3"})
    check(done.returncode != 0 and re.search("wrong result: allreduce of 4096 bytes .* on rank 1, .*, the mock-up reduce . bcast: element 256 ", done.stderr), done.returncode, done.stderr)


def nonblocking(bench):
    """--overlap: every collective and buffer, with the library and without; table, JSON and CSV tell the same."""
    options = ["--overlap", "--bytes", "0,20000", "--tests", "0,1,100", "--compute", "1.5", "--root", "rotate", "--warmup", "3", "--repeat", "4"]
    for library in (False, True):
        document = bench.document(3, options, library)
        check([row["collective"] for row in document["rows"]] == [name for name in ("bcast", "reduce", "allreduce") for _ in range(2)] + ["barrier"], "rows")
        for row in document["rows"]:
            check(row["repetitions"] == 4 and row["overlap"]["compute_factor"] == 1.5, row)
            check([one["tests"] for one in row["overlap"]["host"]["with_tests"]] == [0, 1, 100], row["overlap"])
        check(("pure   both taken" in bench.table) == library and "computation of 1.5 times" in bench.table and "arrival" not in bench.table, bench.table)
    bench.document(2, ["--overlap", "--bytes", "1K", "--buffers", "both", "--cold-bytes", "1M", "--datatype", "vector", "--op", "product"] + QUICK)
    for library in (False, True):
        done = bench.start(2, ["--overlap", "--bytes", "8,64", "--csv", "-", "--tests", "3,0"] + QUICK, [bench.args.library] if library else [],
                           {"HANPMPI_TOPOLOGY": TOPOLOGY[2], "HANPMPI_CACHE": "off"} if library else {})
        check(done.returncode == 0, done.stdout, done.stderr)
        rows = list(csv.DictReader(io.StringIO(done.stdout), strict=True))
        check([(row["bytes"], row["tests"]) for row in rows] == 3 * [("8", "3"), ("8", "0"), ("64", "3"), ("64", "0")] + [("0", "3"), ("0", "0")], done.stdout)
        for row in rows:
            check(None not in row and None not in row.values(), "fields and head differ", row)
            check(("both_ratio" in row) == library and float(row["host_t_both_us"]) > 0, row)
            check(0 <= float(row["host_overlap_imb"]) <= 100 and 0 <= float(row["host_overlap_osu"]) <= 100, row)


def persistent(bench):
    """--persistent: requests that are made once and started by every repetition; where the MPI has none, the option says so."""
    options = ["--overlap", "--persistent", "--tests", "0,5"]
    done = bench.start(0, options + ["--bytes", "8"] + QUICK)
    if done.returncode:
        check(done.returncode == 2 and "needs MPI 4; this is 3" in done.stderr, done.returncode, done.stderr)
        return
    for settings, passed in (({"HANPMPI_NONBLOCKING": "on"}, None), ({"HANPMPI_NONBLOCKING": "off"}, "hint")):
        rows = bench.document(3, options + ["--bytes", "8,20000", "--force"] + QUICK, True, settings)["rows"]
        check([row["collective"] for row in rows] == ["bcast"] * 2 + ["reduce"] * 2 + ["allreduce"] * 2 + ["barrier"], "rows")
        for row in rows:
            overlap = row["overlap"]
            check(overlap["persistent"] and (overlap["taken"], overlap["passed_because"]) == (0 if passed else 1, passed), row["collective"], overlap)
        check("persistent, overlap with" in bench.table, bench.table)
    for more in (["--root", "rotate"], ["--buffers", "cold"]):
        done = bench.start(0, options + more)
        check(done.returncode == 2 and "--persistent: accepted with it are" in done.stderr, done.returncode, done.stderr)


def known_overlap(bench):
    """An MPI_Ibcast that overlaps from the first MPI_Test on, under a clock that other processes cannot disturb (slow_start.c)."""
    options = ["--overlap", "--collective", "bcast", "--bytes", "8", "--tests", "0,20", "--repeat", "7"]
    settings = {"SLOW_START_US": "60000"}
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "out.json")
        done = bench.start(2, options + ["--json", name], [bench.args.slow_start], settings)
        check(done.returncode == 0, done.stdout, done.stderr)
        with open(name) as file:
            side = json.load(file)["rows"][0]["overlap"]["host"]
    check(side["t_pure_us"]["min"] >= 60000, side["t_pure_us"])
    # 0 and 95 in theory; a processor's speed may change by some between the computation alone and the one with the transfer.
    without, with_tests = side["with_tests"]
    check(without["overlap_imb"] < 40 and without["overlap_osu"] < 40, "without tests", side)
    check(with_tests["overlap_imb"] > 60 and with_tests["overlap_osu"] > 60, "with tests", side)
    # Results of non-blocking calls are validated too: the blocking ones are right.
    done = bench.start(2, options, [bench.args.slow_start], {**settings, "SLOW_START_CORRUPT": "1"})
    check(done.returncode != 0 and re.search(r"wrong result: bcast of 8 bytes .* on rank 1, .*: element 0 ", done.stderr), done.stdout, done.stderr)


def install(bench):
    """cmake --install gives a script that runs the program of the launcher's MPI."""
    launchers = dict(word.split("=", 1) for word in bench.args.launcher)
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run(["cmake", "--install", bench.args.build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        bench.args.program = os.path.join(prefix, "bin", "hanpmpi_bench")
        check(os.path.exists(os.path.join(prefix, "share", "man", "man1", "hanpmpi_bench.1")), "no manual page")
        for mpi, name in (("openmpi", "Open MPI"), ("mpich", "MPICH")):
            if mpi in launchers:
                bench.args.run = launchers[mpi]
                done = bench.start(2, ["--collective", "bcast", "--bytes", "8"] + QUICK)
                check(done.returncode == 0 and "# host MPI: " + name in done.stdout, mpi, done.stdout, done.stderr)
                check("# ranks: 2 " in done.stdout, done.stdout)
        programs = sorted(name for name in os.listdir(os.path.join(prefix, "bin")) if name.startswith("hanpmpi_bench."))
        done = subprocess.run([bench.args.program], capture_output=True, text=True)
        if len(programs) > 1:
            check(done.returncode == 2 and "mpirun" in done.stderr and programs[0] in done.stderr, done.stderr)
        done = subprocess.run([bench.args.program], capture_output=True, text=True, env={**os.environ, "HANPMPI_BENCH_MPI": "none"})
        check(done.returncode == 2 and "HANPMPI_BENCH_MPI" in done.stderr, done.stderr)
        done = subprocess.run([bench.args.program, "--version"], capture_output=True, text=True)
        check(done.returncode == 0 and done.stdout.startswith("hanpmpi_bench "), done.stdout, done.stderr)
        for name in programs[1:]:
            os.remove(os.path.join(prefix, "bin", name))
        done = subprocess.run([bench.args.program, "--bytes", "8"] + QUICK, capture_output=True, text=True,
                              env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        check(done.returncode == 0 and "# ranks: 1 " in done.stdout, "only one is installed", done.stdout, done.stderr)


def man_page(bench):
    """Every option of --help is in the manual page."""
    text = subprocess.run([bench.args.program, "--help"], capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"^ +(?:-\w, +)?(--[a-z-]+)", text, re.M))
    with open(os.path.join(ROOT, "docs", "hanpmpi_bench.1")) as file:
        page = file.read().replace("\\-", "-")
    check(len(options) > 15, text)
    for option in options:
        check(option in page, option, "is not in docs/hanpmpi_bench.1")


CASES = {"host_only": host_only, "taken": taken, "passed": passed, "arrival": arrival, "csv": csv_rows, "buffers": buffers,
         "types": types, "blocks": blocks, "bad_options": bad_options, "wrong_result": wrong_result, "guidelines": guidelines, "nonblocking": nonblocking, "persistent": persistent, "known_overlap": known_overlap, "install": install, "man_page": man_page}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--program", help="hanpmpi_bench.<mpi>")
    parser.add_argument("--library", help="libhanpmpi.so")
    parser.add_argument("--run", default="mpirun", help="the launcher and its options")
    parser.add_argument("--helper", default="", help="preloaded into every rank")
    parser.add_argument("--corrupt", help="corrupt.so of that MPI")
    parser.add_argument("--slow-start", help="slow_start.so of that MPI")
    parser.add_argument("--build", help="build folder, for install")
    parser.add_argument("--launcher", action="append", default=[], metavar="MPI=LAUNCHER", help="for install")
    parser.add_argument("--all-bad-options", action="store_true", help="every bad option, not only some")
    bench = Bench(parser.parse_args())
    CASES[bench.args.case](bench)


if __name__ == "__main__":
    main()
