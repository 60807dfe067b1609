#!/usr/bin/env python3
"""Tests of hanpmpi_tune: what it writes is complete and valid, and it can be ended at any time. No test looks at how fast something was.

usage: test_tune.py --program hanpmpi_tune.<mpi> --library libhanpmpi.so --run "mpirun words" CASE   (CASES below)
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "replay"))
import made_up_recording  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RANKS = 4
SIZES = [4, 4096, 65536]
BLOCKS = ["allgather", "allgatherv", "alltoall", "reduce_scatter", "reduce_scatter_block", "gather", "scatter", "scan", "exscan"]
SMALL = ["-c", "bcast,allreduce", "-b", "4,4K,64K", "--segments", "4K,64K", "--repeat", "1"]
# So much that it is ended before it is done.
LONG = ["-c", "bcast,reduce,allreduce", "-b", "4:64K", "--repeat", "8", "--search", "exhaustive"]


def check(condition, *what):
    if not condition:
        sys.exit(" ".join(["FAILED:"] + [str(word) for word in what]))


class Tune:
    def __init__(self, args):
        self.args = args
        self.folder = tempfile.TemporaryDirectory()
        self.rules = os.path.join(self.folder.name, "rules.json")
        self.journal = self.rules + ".journal"
        self.results = os.path.join(self.folder.name, "tune.json")

    def start(self, options, library=True, program=None, **settings):
        env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "HANPMPI_TOPOLOGY": "node:2 core:2", **settings}
        objects = ([self.args.library] if library else []) + ([self.args.helper] if self.args.helper else [])
        if objects:
            env["LD_PRELOAD"] = ":".join(objects)
        words = [program] if program else [self.args.program, "-o", self.rules]
        command = self.args.run.split() + ["-np", str(RANKS)] + words + options
        return subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self, process, code=0):
        """Its two outputs."""
        out, err = process.communicate(timeout=250)
        check(process.returncode == code, "exit code", process.returncode, out, err)
        return out, err

    def run(self, options, code=0, library=True, **settings):
        return self.finish(self.start(options, library, **settings), code)

    def documents(self):
        with open(self.rules) as rules, open(self.results) as results:
            return json.load(rules), json.load(results)

    def lines(self):
        """Of the journal, whole ones."""
        if not os.path.exists(self.journal):
            return []
        with open(self.journal) as file:
            return [json.loads(line) for line in file.read().split("\n")[:-1]]

    def wait_for(self, process, lines):
        while len(self.lines()) < lines:
            if process.poll() is not None:
                check(False, "it ended before it could be ended", *process.communicate())
            time.sleep(0.02)

    def ranks(self):
        """The processes that have this test's file on their command line, without the launcher."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().decode().split("\0")
            except OSError:
                continue
            if words[0].endswith(os.path.basename(self.args.program)) and self.rules in words:
                found.append(int(pid))
        return found

    def send(self, number):
        """A signal, to all ranks. The launcher may have ended the others when one is gone."""
        for pid in self.ranks():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def check_rules(rules, collectives, least, most):
    """The format, and that every collective's rules cover the sizes without a gap."""
    check(rules["version"] == 1, rules)
    for collective in collectives:
        mine = [rule for rule in rules["rules"] if rule["collective"] == collective]
        check(mine and mine[0]["bytes"][0] == least and mine[-1]["bytes"][1] == most, collective, mine)
        for rule, following in zip(mine, mine[1:]):
            check(rule["bytes"][1] + 1 == following["bytes"][0], "gap", rule, following)
        for rule in mine:
            check(rule["nodes"] == [2, 2] and rule["ranks_per_node"] == [2, 2], rule)
            check(rule["bytes"][0] <= rule["bytes"][1], rule)
            check(rule["algorithm"] in ("native", "han", "flat")[:3 if collective == "allreduce" else 2], rule)
            check(re.fullmatch(r"\d+ us(, host \d+ us)?", rule["comment"]), rule)
            if rule["algorithm"] == "han":
                check(rule["segment_bytes"] in (4096, 65536), rule)
                check(rule["shapes"].startswith("node:") and rule["modules"].startswith("node:p2p "), rule)
                check(rule["trees"] in (1, 16) and rule["leaders"] == 1 and rule["between_nodes"], rule)
            if rule["algorithm"] == "flat":
                check(rule["between_nodes"] and "segment_bytes" not in rule, rule)


def check_rules_of_blocks(rules, collectives, least, most):
    """The same of those that have no segments."""
    for collective in collectives:
        mine = [rule for rule in rules["rules"] if rule["collective"] == collective]
        check(mine and mine[0]["bytes"][0] == least and mine[-1]["bytes"][1] == most, collective, mine)
        for rule in mine:
            check(rule["algorithm"] in ("native", "flat", "han") and "segment_bytes" not in rule, rule)
            check(rule["algorithm"] == "native" or "between_nodes" in rule or collective == "barrier", rule)


def check_results(results, collectives, searches, expected=SIZES, others=0):
    """others: sizes of further collectives."""
    check(results["program"] == "hanpmpi_tune" and results["version"] and results["mpi"] and results["machine"], results)
    check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", results["date"]), results["date"])
    check(results["layout"] == {"nodes": 2, "ranks_per_node": [2, 2], "ranks": RANKS}, results["layout"])
    check(not any(c["id"] == "native" for c in results["configurations"]), "native is no configuration")
    names = {(c["collective"], c["id"]) for c in results["configurations"]}
    check(len(names) == len(results["configurations"]), "an id is there twice")
    for kind in ("measured", "predicted", "choices", "tasks"):
        for row in results[kind]:
            check(row["configuration"] == "native" or (row["collective"], row["configuration"]) in names, kind, row)
            check(row["us"] > 0, kind, row)
    check([s["name"] for s in results["searches"]] == searches, results["searches"])
    for search in results["searches"]:
        check(search["seconds"] > 0 and search["measurements"] > 0 and search["complete"], search)
        for collective in collectives:
            sizes = [c["bytes"] for c in results["choices"] if (c["search"], c["collective"]) == (search["name"], collective)]
            check(sizes == expected, search, sizes)
    check(len(results["host"]) == len(collectives) * len(expected) + others, results["host"])


def complete(tune):
    """The default search: rules, figures, the table; no journal is left."""
    out, _ = tune.run(SMALL)
    rules, results = tune.documents()
    check_rules(rules, ["bcast", "allreduce"], 1, 65536)
    check_results(results, ["bcast", "allreduce"], ["task+heuristic"])
    checked = subprocess.run([tune.args.info, "--check-rules", tune.rules], text=True, capture_output=True)
    check(checked.returncode == 0, "the library does not take the rules", checked.stdout, checked.stderr)
    check(not os.path.exists(tune.journal), "the journal is still there")
    for words in ("bcast", "allreduce", "64 KiB", "host us", "task+heuristic"):
        check(words in out, words, out)
    check("reduce\n" not in out.replace("allreduce\n", ""), out)


def explained(tune, rules, collectives, sizes, **settings):
    """What a program runs with these rules: {(collective, size): words}, where the file decided."""
    name = os.path.join(tune.folder.name, "followed.json")
    with open(name, "w") as file:
        json.dump(rules, file)
    checked = subprocess.run([tune.args.info, "--check-rules", name], text=True, capture_output=True, env={**os.environ, **settings})
    refused = [line for line in checked.stderr.splitlines() if not line.startswith("note: ")]
    check(checked.returncode == 0 and not refused, "the library does not take the rules", checked.stdout, checked.stderr)
    out, err = tune.finish(tune.start(["-c", ",".join(collectives), "-b", ",".join(map(str, sizes)), "-n", "10", "--pattern", "equal"],
                                      program=tune.args.program.replace("hanpmpi_tune", "hanpmpi_bench"), HANPMPI_RULES=name,
                                      HANPMPI_EXPLAIN="1", HANPMPI_GUARD="0", HANPMPI_SETUP_CALLS="0", **settings))
    rows = re.findall(r"^  (\w+) +(?:from )?(\d+) (B|KiB) +\d+  (.+?) +file ", out + err, re.M)
    return {(collective, int(number) * (1024 if unit == "KiB" else 1)): words for collective, number, unit, words in rows}


def words_of(row):
    """How the library calls what a rule or a configuration says."""
    if row["algorithm"] == "native":
        return "the host MPI"
    between = row.get("between_nodes", "tree")
    way = between if between != "tree" else dict(word.split(":") for word in row.get("shapes", "").split()).get("node")
    return row["algorithm"] + (f", {way}" if way and row["collective"] != "barrier" else "")


def blocks(tune):
    """Collectives of blocks and the barrier: every configuration can be written as a rule, which a program follows."""
    collectives = ["barrier", *BLOCKS]
    out, _ = tune.run(["-c", ",".join(collectives), "-b", "64,4K", "--repeat", "1", "--steps", "0"])
    rules, results = tune.documents()
    check_rules_of_blocks(rules, BLOCKS, 1, 4096)
    check_rules_of_blocks(rules, ["barrier"], 0, 0)
    check_results(results, BLOCKS, ["task+heuristic"], [64, 4096], others=1)
    check("task+heuristic" in out and "reduce_scatter_block" in out, out)
    followed = explained(tune, rules, collectives, [64, 4096])
    check(followed, "no rule was followed")
    for (collective, size), words in followed.items():
        rule = next(rule for rule in rules["rules"] if rule["collective"] == collective and rule["bytes"][0] <= size <= rule["bytes"][1])
        check(words.startswith(words_of(rule)), collective, size, words, rule)
    by_size = {}
    for row in results["configurations"]:
        mine = [key for key in by_size if key[0] == row["collective"]]
        by_size[row["collective"], 8 << len(mine)] = row
    made = [{"nodes": [2, 2], "bytes": [size, size] if collective != "barrier" else [0, 0],
             **{key: value for key, value in row.items() if key not in ("id", "heuristic")}} for (collective, size), row in by_size.items()]
    followed = explained(tune, {"version": 1, "rules": made}, BLOCKS, sorted({size for _, size in by_size}))
    for (collective, size), row in by_size.items():
        if collective != "barrier":
            check(followed.get((collective, size), "").startswith(words_of(row)), collective, size, followed.get((collective, size)), row)


def pattern(tune):
    """A recording's calls on each layout of communicators: its sizes, and its counts; what takes little is left out. Resumed with another
    recording: refused."""
    def program(recording):
        size = recording.ranks
        pair, other = recording.comm([0, 1]), recording.comm([2, 3])
        for _ in range(20):
            recording.call("Allreduce", 0, 1, op="MPI_SUM")
            recording.call("Bcast", 0, 1024, root=0)
            for step in range(3):  # two are alike
                lengths = [[10 * (1 + (r + d) % 2) + (step == 1) for d in range(size)] for r in range(size)]
                if step == 2:
                    lengths = [[100 if r == d else 0 for d in range(size)] for r in range(size)]
                recording.call("Alltoallv", 0, own=lambda r, lengths=lengths: {"counts": lengths[r], "receive_counts": [l[r] for l in lengths]})
            recording.call("Allgatherv", 0, own=lambda r: {"count": 10 * r, "counts": [10 * r for r in range(size)]})
            recording.call("Allreduce", pair, 2, op="MPI_SUM")
            recording.call("Allreduce", other, 4, op="MPI_SUM")
        recording.call("Scan", 0, 1, op="MPI_SUM")

    recording = made_up_recording.Recording(RANKS)
    program(recording)
    name = os.path.join(tune.folder.name, "out.json")
    with open(name, "w") as file:
        json.dump(recording.document(), file)
    few = ["--repeat", "1", "--segments", "64K", "--between", "pairwise,binomial", "--modules", "shm"]
    out, err = tune.run(["--pattern", name, "--least", "0.01"] + few)
    check("1 sizes and patterns with" in err and "are left out (--least)" in err, err)
    rules, results = tune.documents()
    ranges = {}
    for rule in rules["rules"]:
        key = rule["collective"], rule["nodes"][0], rule["ranks_per_node"][0]
        ranges[key] = ranges.get(key, []) + rule.get("bytes", [])
    for key in ranges:  # two sizes are one rule or two
        ranges[key] = ranges[key][:1] + ranges[key][-1:]
    check(ranges == {("allreduce", 2, 2): [1, 8], ("bcast", 2, 2): [8192, 8192], ("alltoallv", 2, 2): [], ("allgatherv", 2, 2): [120, 120],
                     ("allreduce", 1, 2): [1, 32]}, ranges)
    check([(p["collective"], p["calls"], p["alike"]) for p in results["patterns"]] ==
          [("alltoallv", 40, 2), ("alltoallv", 20, 1), ("allgatherv", 20, 1)], results["patterns"])
    for row in results["patterns"]:
        check(row["us"]["native"] > 0 and len(row["us"]) > 1 and row["configuration"] in row["us"], row)
    with open(os.path.join(tune.folder.name, "tune.json.2")) as file:
        others = json.load(file)
    check(others["layout"] == {"nodes": 1, "ranks_per_node": [2, 2], "ranks": 2}, others["layout"])
    check(sorted(c["bytes"] for c in others["choices"]) == [16, 32], others["choices"])
    check("of the recorded time in collectives" in out and re.search(r"^pattern +mean", out, re.M), out)
    run = [tune.args.info, "--check-rules", tune.rules]
    check(subprocess.run(run, capture_output=True).returncode == 0, *run)
    # The time is up at once: the journals stay, and are not another recording's.
    tune.run(["--pattern", name, "-s", "0.001"] + few)
    check(os.path.exists(tune.journal) and os.path.exists(tune.journal + ".2"), os.listdir(tune.folder.name))
    for rank in range(RANKS):
        recording.kinds[recording.events[rank][2][0]]["counts"][rank] = recording.kinds[recording.events[rank][2][0]]["receive_counts"][rank] = 5000
    with open(name, "w") as file:
        json.dump(recording.document(), file)
    for options, wanted in [(["--pattern", name], "is of 4 ranks, and this job has 1: start it with mpirun -np 4"),
                            (["--pattern", name, "-b", "4"], "accepted is --pattern without --bytes"), (["-c", "gatherv"], "accepted with --pattern"),
                            (["--near", "3"], "--near 3: accepted are 0 to 2"), (["--least", "2"], "--least 2: accepted are 0 to 1")]:
        env = {**os.environ, "LD_PRELOAD": tune.args.library, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = subprocess.run([tune.args.program, "-o", tune.rules] + options, env=env, capture_output=True, text=True, timeout=100)
        check(done.returncode == 2 and wanted in done.stderr, wanted, done.returncode, done.stderr)
    check("is of another layout, MPI, version or --repeat" in tune.run(["--pattern", name] + few, 2)[1], "the journal of other patterns")


def programs(tune):
    """Recordings of the integer sort, of the sparse exchange and of an n-body program: what they exchange is tuned, no slower than the host MPI's
    where it was measured, and each call site has its best."""
    mpi = tune.args.program.rsplit(".", 1)[1]
    folder = os.path.join(tune.args.build, "examples", mpi)
    recording = os.path.join(tune.folder.name, "out.json")
    nbody = os.path.join(tune.folder.name, "nbody")
    subprocess.run([*tune.args.compiler.split(), "-O1", os.path.join(HERE, "nbody.c"), "-o", nbody], check=True)
    for words, collective, places in (([os.path.join(folder, "is"), "--class", "S"], "alltoallv", 1), ([os.path.join(folder, "sparse")], "alltoallv", 1),
                                      ([nbody, "8", "400"], "alltoallv", 2), ([nbody, "8", "400"], "allgatherv", 1)):
        tune.finish(tune.start(words[1:], program=words[0], HANPMPI_PROFILE=recording, HANPMPI_PROFILE_SEQUENCE="10000"))
        out, _ = tune.run(["--pattern", recording, "-c", collective, "--repeat", "1", "--least", "0"])
        rules, results = tune.documents()
        patterns = results["patterns"]
        check(patterns and all(row["collective"] == collective and row["us"]["native"] > 0 for row in patterns), words, patterns)
        check(all(abs(sum(row["sites"].values()) - row["calls"]) < 0.01 for row in patterns), patterns)
        check(any(row["us"][row["configuration"]] <= 1.25 * row["us"]["native"] for row in patterns), patterns)
        check(len([rule for rule in rules["rules"] if rule["collective"] == collective]) == 1, rules)
        sites = results["call_sites"]
        check(len(sites) >= places and abs(sum(site["calls"] for site in sites) - sum(row["calls"] for row in patterns)) < 0.01, sites)
        for site in sites:
            check(0 < site["us"] <= min(site["rules_us"], site["host_us"]), site)
            check(site["hints"].startswith(f"hanpmpi_{collective}=") and re.fullmatch(r"\S+\+0x[0-9a-f]+", site["site"]), site)
            check(site["site"] in out and site["hints"] in out, site, out)


def compare(tune):
    """All four: what each chose is measured beside the best; both models' predictions are there."""
    out, _ = tune.run(SMALL + ["--compare"])
    rules, results = tune.documents()
    check_rules(rules, ["bcast", "allreduce"], 1, 65536)
    searches = ["exhaustive", "heuristic", "task", "task+heuristic"]
    check_results(results, ["bcast", "allreduce"], searches)
    check(all(choice["best_us"] > 0 for choice in results["choices"]), results["choices"])
    measurements = {search["name"]: search["measurements"] for search in results["searches"]}
    check(measurements["heuristic"] < measurements["exhaustive"], measurements)
    check(measurements["task+heuristic"] < measurements["task"], measurements)
    check({p["model"] for p in results["predicted"]} == {"events", "lockstep"}, results["predicted"])
    check({t["task"] for t in results["tasks"]} == set("ib sb sbib sr irsr ibirsr sbibirsr sbibir".split()), results["tasks"])
    for words in ("within 5%", "events", "lock-step"):
        check(words in out, words, out)


def installed(tune):
    """cmake --install gives the program, the backend that runs its tasks, and --teach."""
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run(["cmake", "--install", tune.args.build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        tune.args.program = os.path.join(prefix, "bin", os.path.basename(tune.args.program))
        tune.args.library = next(os.path.join(folder, "libhanpmpi.so") for folder, _, names in os.walk(prefix) if "libhanpmpi.so" in names)
        tune.run(["-c", "bcast", "-b", "64K", "--segments", "4K", "--repeat", "1", "--compare"])
        script = os.path.join(prefix, "bin", "hanpmpi_tune")
        text = subprocess.run([script, "--teach", "openmpi", "--version"], check=True, capture_output=True, text=True).stdout
        check(re.fullmatch(r"hanpmpi_tune \d+\.\d+\.\d+\n", text), text)
        mpi = tune.args.program.rsplit(".", 1)[1]
        check(os.access(os.path.join(prefix, "bin", f"hanpmpi_teach.{mpi}"), os.X_OK), os.listdir(os.path.join(prefix, "bin")))
    _, results = tune.documents()
    check({t["task"] for t in results["tasks"]} == set("ib sb sbib".split()), results["tasks"])


def resume(tune):
    """Killed in the middle: what was measured is not measured again."""
    few = ["-c", "allreduce", "-b", "4K,64K", "--segments", "4K", "--search", "exhaustive"]
    options = few + ["--repeat", "4"]
    process = tune.start(options)
    tune.wait_for(process, 12)
    tune.send(signal.SIGKILL)
    process.communicate()
    before = [line for line in tune.lines()[1:] if line["kind"] == "direct" and line["us"]]
    check(len(before) >= 5 and not os.path.exists(tune.rules), before)
    _, err = tune.run(few + ["--repeat", "1"], code=2)
    check("--restart" in err, err)
    tune.run(options)
    rules, results = tune.documents()
    check_rules(rules, ["allreduce"], 4096, 65536)
    check_results(results, ["allreduce"], ["exhaustive"], [4096, 65536])
    after = {(m["collective"], m["configuration"], m["bytes"]): m["us"] for m in results["measured"]}
    for line in before:
        us = after[line["collective"], line["configuration"], line["bytes"]]
        check(abs(us - line["us"][0]) <= 1e-5 * us, "measured again", line, us)


def dry_run(tune):
    """The plan; nothing is measured or written."""
    out, _ = tune.run(SMALL + ["--dry-run", "--compare"])
    check(os.listdir(tune.folder.name) == [], os.listdir(tune.folder.name))
    for words in ("2 nodes, 2 to 2 ranks", "3 sizes: 4 4K 64K", "han-chain-shm-4K 64K", "Heuristics:", "about 0:"):
        check(words in out, words, out)
    for search in ("exhaustive", "heuristic", "task", "task+heuristic"):
        check(re.search(rf"^{re.escape(search)} +[1-9]\d* measurements, 0:", out, re.M), search, out)


def check_ended(tune, out, err):
    """What is there is consistent, and the journal is kept."""
    rules, results = tune.documents()
    check("start again with the same options" in err and "ended before it was done" in out, out, err)
    check(len(tune.lines()) > 1 and not results["searches"][0]["complete"], results["searches"])
    chosen = {(c["collective"], c["bytes"]) for c in results["choices"]}
    for rule in rules["rules"]:
        check((rule["collective"], rule["bytes"][1]) in chosen or (rule["collective"], rule["bytes"][1] + 1) in chosen, rule, chosen)


def two_switches(tune):
    """The settings of a job of four hosts on two switches."""
    network = os.path.join(tune.folder.name, "cluster.net")
    with open(network, "w") as file:
        file.write("hosts n[0-1] on s0; hosts n[2-3] on s1; s0 - s1\n")
    return {"HANPMPI_NETWORK": network, "HANPMPI_TOPOLOGY": "node:4 core:1"}


def routines(tune):
    """For a network: also what is made for it; rules that ask for it; the table of all algorithms."""
    made = two_switches(tune)
    options = ["--routines", "-c", "alltoall,allgather", "--block-bytes", "64,4K", "--repeat", "1", "--steps", "1"]
    out, _ = tune.run(options, **made)
    for collective, way in (("alltoall", "contention_free"), ("alltoall", "contention_free_pairwise"), ("alltoall", "contention_free_barriers"),
                            ("allgather", "depth_first_ring")):
        check(re.search(rf"^{collective} +64 +4K$(\n.+)*\nflat-{way} +\d+ +\d+$", out, re.M), collective, way, out)
    check(len(re.findall(r"^  tuned in \d+\.\d s with [1-9]\d* measurements$", out, re.M)) == 2, out)
    rules = tune.documents()[0]["rules"]
    check(rules and all(rule["network"].startswith("tree-4hosts-2switches-") for rule in rules), rules)
    check(all(re.search(rf"^  \d+ to {rule['bytes'][1]}: ", out, re.M) for rule in rules), out)
    for collective, way in (("alltoall", "bruck-radix4"), ("alltoall", "contention_free_barriers-barriers2"), ("alltoall", "pairwise-window1"),
                            ("allgather", "bruck-radix4"), ("allgather", "pairwise-window2")):
        check(re.search(rf"^{collective} +64 +4K$(\n.+)*\nflat-{way} +\d+ +\d+$", out, re.M), collective, way, out)
    check_routines_run(tune, made, out, [64, 4096])
    del made["HANPMPI_NETWORK"]
    _, err = tune.run(options, code=2, **made)
    check("--routines: no network is known: accepted with HANPMPI_NETWORK=FILE" in err, err)


def routines_of_two(tune):
    """Allreduces of two algorithms, once it is known which are the fastest for their blocks."""
    made = two_switches(tune)
    out, _ = tune.run(["--routines", "-c", "alltoall,allgather,allreduce", "--bytes", "64K", "--block-bytes", "16K", "--between",
                       "pairwise,contention_free,depth_first_ring,circulant,rabenseifner", "--modules", "p2p", "--segments", "64K", "--repeat", "1",
                       "--steps", "0"], **made)
    rows = re.findall(r"^han-(\w+)\+(\w+)-p2p-64K +\d+$", out, re.M)
    gathers = {gather for _, gather in rows}
    check(len(gathers) == 1 and len({reduce for reduce, _ in rows} & {"pairwise", "contention_free"}) == 1, rows, out)
    check({"circulant", "rabenseifner"} <= {reduce for reduce, _ in rows} | gathers, rows)
    check_routines_run(tune, made, out, [16384, 65536])


def routines_resume(tune):
    """Out of time; killed after that; and started again to the end: nothing is measured twice,
    and rules, table and files are as of one run."""
    made = two_switches(tune)
    options = ["--routines", "-c", "alltoall,allgather,allreduce", "--bytes", "64K", "--block-bytes", "16K", "--modules", "p2p", "--segments",
               "64K", "--repeat", "8", "--steps", "0"]

    def measured():
        return {(line["kind"], line["collective"], line["configuration"], line["bytes"]): line["us"] for line in tune.lines()[1:]}

    for seconds in ("0.001", "0.02", "0.1"):  # the least that it takes; a busy machine may use it up before the first measurement
        out, err = tune.run(options + ["--budget", seconds], **made)
        check("the time is up" in err, err)
        first = measured()
        if first:
            break
    check(first, "nothing was measured in time")
    check_ended(tune, out, err)
    process = tune.start(options, **made)
    tune.wait_for(process, 1 + len(first) + 5)
    tune.send(signal.SIGKILL)
    process.communicate()
    before = measured()
    check(len(before) >= len(first) + 5 and first.items() <= before.items(), first, before)
    shutil.rmtree(os.path.join(tune.folder.name, "schedules"))  # of what was the fastest when time was up
    out, _ = tune.run(options, **made)
    check(not os.path.exists(tune.journal), "the journal is still there")
    rules, results = tune.documents()
    check(results["searches"][0]["complete"] and {rule["collective"] for rule in rules["rules"]} == {"alltoall", "allgather", "allreduce"}, rules)
    after = {(row["collective"], row["configuration"], row["bytes"]): row["us"] for row in results["measured"]}
    for (kind, *key), us in before.items():
        if kind == "direct" and us:
            check(abs(after[tuple(key)] - us[0]) <= 1e-5 * us[0], "measured again", key, us)
    check(len(re.findall(r"^  tuned in \d+\.\d s with [1-9]\d* measurements$", out, re.M)) == 3, out)
    check_routines_run(tune, made, out, [16384, 65536])


def check_routines_run(tune, made, out, sizes):
    """The files are those of the rules, are right, and a job runs what the rules say with them."""
    folder = os.path.join(tune.folder.name, "schedules")
    rules = tune.documents()[0]["rules"]
    files = {name[:-5] for name in os.listdir(folder)}
    check(f"{len(files)} algorithms as files, for HANPMPI_SCHEDULES: {folder}" in out, files, out)
    for rule in rules:
        mine = {rule.get("between_nodes"), f"{rule['collective']}_{rule.get('between_nodes')}_4"}
        check(rule["algorithm"] != "flat" or mine & files, rule, files)
    shown = subprocess.run([tune.args.info, "--schedules"], env={**os.environ, "HANPMPI_SCHEDULES": folder}, text=True, capture_output=True)
    check(shown.returncode == 0 and all(name in shown.stdout for name in files) and not shown.stderr, shown.stdout, shown.stderr)
    followed = explained(tune, {"version": 1, "rules": rules}, sorted({rule["collective"] for rule in rules}), sizes, HANPMPI_SCHEDULES=folder,
                         **made)
    for (collective, size), words in followed.items():
        rule = next(rule for rule in rules if rule["collective"] == collective and rule["bytes"][0] <= size <= rule["bytes"][1])
        check(words.startswith(words_of(rule)), collective, size, words, rule)
    check(followed, "no rule was followed")
    mine = {name.split("_")[0]: name for name in sorted(files)}  # one of each collective
    check(set(mine) == {rule["collective"] for rule in rules}, files, rules)
    ways = {collective: "han" if collective == "allreduce" else "flat" for collective in mine}
    followed = explained(tune, {"version": 1, "rules": [{"collective": c, "algorithm": ways[c], "between_nodes": name} for c, name in mine.items()]},
                         list(mine), [4096], HANPMPI_SCHEDULES=folder, **made)
    for collective, name in mine.items():
        check(followed.get((collective, 4096), "").startswith(f"{ways[collective]}, {name}"), collective, followed, mine)


def budget(tune):
    out, err = tune.run(LONG + ["--seconds", "1"])
    check("the time is up" in err, err)
    check_ended(tune, out, err)


def ended_by_signal(tune):
    process = tune.start(LONG)
    tune.wait_for(process, 15)
    tune.send(signal.SIGTERM)
    out, err = tune.finish(process)
    check("ended by a signal" in err, err)
    check_ended(tune, out, err)


def bad_options(tune):
    def refused(words):
        with tempfile.TemporaryDirectory() as folder: # jobs of Open MPI that end at the same time remove each other's files
            return words, tune.run(words, code=2, OMPI_MCA_orte_tmpdir_base=folder)[1]
    with concurrent.futures.ThreadPoolExecutor(3) as pool: # after an error a launcher waits longer than it works
        for words, err in pool.map(refused, (["--bytes", "3"], ["--bytes", "8,4"], ["--block-bytes", "6"], ["--block-bytes", "512M"], ["--segments", "5"], ["--search", "all"], ["--between", "star"],
                                             ["--modules", "disk"], ["--trees", "17"], ["--repeat", "0"], ["stray"])):
            check("accepted" in err, words, err)


def without_library(tune):
    _, err = tune.run(SMALL, code=2, library=False)
    check("LD_PRELOAD" in err, err)


def man_page(tune):
    """Every option of --help is in the manual page."""
    text = subprocess.run([tune.args.program, "--help"], capture_output=True, text=True, check=True).stdout
    text += subprocess.run([tune.args.program, "--teach", "openmpi", "--help"], capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"^ +(?:-\w,? +(?:[A-Z]+, )?)?(--[a-z-]+)", text, re.M))
    with open(os.path.join(ROOT, "docs", "hanpmpi_tune.1")) as file:
        page = file.read().replace("\\-", "-")
    check(len(options) > 15, text)
    for option in options:
        check(option in page, option, "is not in docs/hanpmpi_tune.1")


CASES = {"complete": complete, "blocks": blocks, "compare": compare, "pattern": pattern, "programs": programs, "installed": installed, "resume": resume, "dry_run": dry_run, "routines": routines, "routines_of_two": routines_of_two, "routines_resume": routines_resume, "budget": budget,
         "signal": ended_by_signal, "bad_options": bad_options, "without_library": without_library, "man_page": man_page}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--program", help="hanpmpi_tune.<mpi>")
    parser.add_argument("--library", help="libhanpmpi.so")
    parser.add_argument("--info", help="hanpmpi_info")
    parser.add_argument("--build", help="build folder, for installed")
    parser.add_argument("--run", default="mpirun", help="the launcher and its options")
    parser.add_argument("--compiler", default="mpicc", help="of the MPI")
    parser.add_argument("--helper", default="", help="preloaded into every rank")
    tune = Tune(parser.parse_args())
    CASES[tune.args.case](tune)


if __name__ == "__main__":
    main()
