#!/usr/bin/env python3
"""profile: what HANPMPI_PROFILE records is what the program knows of itself; what becomes of a recording when something fails.

Runs profile.c on 4 ranks, a Fortran and a Python program. A case fails by AssertionError.
"""
import argparse
import collections
import glob
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

RANKS = 4
SETTINGS = {"HANPMPI_SETUP_CALLS": "1", "HANPMPI_CACHE": "off", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def run(options, folder, *arguments, program=None, ranks=RANKS, succeeds=True, said=None, **settings):
    """The lines that the library says. succeeds: None: whether the job does is the launcher's to say. said: a list that gets the program's."""
    preload = ":".join(part for part in (options.library, options.helper) if part)
    command = ["env", f"LD_PRELOAD={preload}", *shlex.split(options.run), "-np", str(ranks), program or options.program, *arguments]
    done = subprocess.run(command, env={**os.environ, **SETTINGS, **settings}, cwd=folder, capture_output=True, text=True, timeout=100,
                          check=False)
    assert succeeds is None or (done.returncode == 0) == succeeds, done.stdout + done.stderr
    if said is not None:
        said += done.stdout.splitlines()
    return [line for line in done.stderr.splitlines() if line.startswith("hanpmpi: ")]


def read(path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    assert document["format"] == "hanpmpi-profile" and document["version"] == 1
    return document


def lines_of_sites(document):
    """For each site: (module, line of its innermost frame)."""
    offsets = collections.defaultdict(list)
    for number, site in enumerate(document["sites"]):
        for module, offset in site["frames"][:1]:
            offsets[document["modules"][module]["path"]].append((number, offset))
    lines = {}
    for module, sites in offsets.items():
        done = subprocess.run(["addr2line", "-e", module, *(hex(offset) for _, offset in sites)], check=True, capture_output=True,
                              text=True)
        for (number, _), text in zip(sites, done.stdout.splitlines()):
            lines[number] = module, text.split(":")[1].split()[0]
    return lines


def is_collective(document, record):
    return document["calls"][record["call"]]["kind"] == "collective"


def known(folder, name, ranks=RANKS):
    """What the ranks have written: {(call, line): [calls, bytes]}, {(source, destination): [messages, bytes]}, seconds of each rank, and
    {(call, line): seconds}."""
    calls, sent, seconds, seconds_of = collections.defaultdict(lambda: [0, 0]), {}, [], collections.Counter()
    for rank in range(ranks):
        with open(os.path.join(folder, f"{name}.{rank}"), encoding="ascii") as file:
            for what, *rest in map(str.split, file):
                if what == "call":
                    for i in (0, 1):
                        calls["MPI_" + rest[0], rest[1]][i] += int(rest[2 + i])
                    seconds_of["MPI_" + rest[0], rest[1]] += float(rest[4])
                elif what == "sent":
                    sent[rank, int(rest[0])] = [int(rest[1]), int(rest[2])]
                else:
                    seconds.append(float(rest[0]))
    return dict(calls), sent, seconds, seconds_of


def check_everything(options, folder):
    """With a sequence each call is looked at anew; without, one like the last at its place is but counted."""
    run(options, folder, "known", HANPMPI_PROFILE="counted.json")
    check_calls(folder, "counted.json")
    run(options, folder, "known", HANPMPI_PROFILE="all.json", HANPMPI_PROFILE_SEQUENCE="100000")
    check_sequence(*check_calls(folder, "all.json"))


def check_calls(folder, name):
    path = os.path.join(folder, name)
    assert not os.path.exists(path + ".part")
    document, (calls, sent, seconds, _) = read(path), known(folder, "known")
    names, lines = [call["name"] for call in document["calls"]], lines_of_sites(document)
    found = collections.defaultdict(lambda: [0, 0])
    for record in document["records"]:
        where = found[names[record["call"]], lines[record["site"]][1]]
        where[0] += record["count"]
        where[1] += record["bytes"]
        assert sum(n for _, n in record["histogram"]) == record["count"], record
        assert record["min_s"] <= record["max_s"] <= record["time_s"] + 1e-9, record
        assert record["rank_min_s"] <= record["rank_max_s"] <= record["time_s"] + 1e-9, record
        assert record["memory"] == "host" and 1 <= record["ranks"] <= RANKS, record
        assert record["bin"] == -1 or record["count"] > 1 or 2 ** record["bin"] >= record["bytes"], record
    assert dict(found) == calls, {key: (found.get(key), calls.get(key)) for key in {*found, *calls} if found.get(key) != calls.get(key)}
    assert {(a, b): [n, m] for a, b, n, m in document["peers"]} == sent, (document["peers"], sent)
    assert not any(document["lost"].values()) and document["incomplete"] is None, document["lost"]
    assert any(record.get("accelerated") for record in document["records"])
    assert "caf?" in {record["type"] for record in document["records"]}
    assert {(c["name"], c["size"], c["made"]) for c in document["communicators"] if c["size"]} >= {
        ("MPI_COMM_WORLD", RANKS, 1), ("half", RANKS // 2, 2)}
    # The program looks at its clock outside of the recording; what else the machine does comes in between.
    for rank, row in enumerate(document["per_rank"]):
        assert row["rank"] == rank and 0.9 * seconds[rank] - 0.01 < row["mpi_s"] < 1.001 * seconds[rank], (row, seconds)
    check_waits(document, names)
    check_arrival(document, names)
    return document, names


def check_waits(document, names):
    matched = collections.Counter()
    for wait in document["waits"]:
        matched[names[wait["post_call"]], names[wait["wait_call"]]] += wait["count"]
        assert wait["between_s"] >= 0 and wait["wait_s"] >= 0
    repeats = 20 * RANKS
    for pair, count in {("MPI_Irecv", "MPI_Waitall"): 1, ("MPI_Isend", "MPI_Waitall"): 1, ("MPI_Irecv", "MPI_Waitany"): 1,
                        ("MPI_Issend", "MPI_Waitany"): 1, ("MPI_Isend", "MPI_Waitsome"): 1, ("MPI_Iallreduce", "MPI_Wait"): 1,
                        ("MPI_Ibarrier", "MPI_Test"): 1, ("MPI_Send_init", "MPI_Waitall"): 3, ("MPI_Recv_init", "MPI_Waitall"): 3}.items():
        assert matched[pair] == count * repeats, (pair, matched)


def check_arrival(document, names):
    """Rank 0 sleeps for 20 ms before the barrier at the end of each repetition."""
    sampled = [row for row in document["arrival"] if names[row["call"]] == "MPI_Barrier"]
    late = max(sampled, key=lambda row: row["skew_s"])
    who = max(late["late"], key=lambda entry: entry[2])
    assert who[0] == 0 and late["waited_s"] > 0.01 * late["samples"] * (RANKS - 1) and late["transfer_s"] >= 0, late


def check_sequence(document, names):
    sequence, collectives = document["sequence"], collections.Counter()
    for call in document["records"]:
        collectives[names[call["call"]]] += call["count"]
    assert [row["rank"] for row in sequence["ranks"]] == list(range(RANKS))
    seen, communicators = collections.Counter(), collections.Counter()
    for row in sequence["ranks"]:
        assert row["skipped"] == 0
        for number, (kind, gap, took, *more) in enumerate(row["events"]):
            kind, started = sequence["kinds"][kind], more if len(more) < 2 else [] # else -1 and page faults
            assert gap >= 0 and took >= 0 and (kind["comm"] == -1) == bool(started) and all(0 <= s < number for s in started)
            seen[names[kind["call"]]] += not started
            if not started:
                communicators[kind["comm"], row["rank"]] += 1
    for name in ("MPI_Allreduce", "MPI_Gatherv", "MPI_Alltoallw", "MPI_Iallreduce", "MPI_Barrier"):
        assert seen[name] == collectives[name] > 0, (name, seen, collectives)
    for number, communicator in enumerate(sequence["communicators"]): # all of its ranks have made the same number of calls
        assert len({communicators[number, rank] for rank in communicator["world_ranks"]}) == 1
    lists = [kind for kind in sequence["kinds"] if names[kind["call"]] == "MPI_Alltoallv"]
    assert sorted(kind["counts"] for kind in lists) == [[r + i + 1 for i in range(RANKS)] for r in range(RANKS)]


ON_ONE = "test ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 1 && export HANPMPI_ENABLE=0; exec \"$0\" \"$@\"" # for sh -c


def check_host_alone(options, folder):
    """HANPMPI_ENABLE=0: the host MPI's run is recorded; on one rank: nothing is accelerated on any."""
    host = {"HANPMPI_PROFILE": "host.json"}
    assert not run(options, folder, "known", HANPMPI_ENABLE="0", **host)
    check_not_accelerated(folder, "host.json")
    said = run(options, folder, "-c", ON_ONE, options.program, "known", program="sh", HANPMPI_PROFILE="mixed.json")
    assert len(said) == 1 and "HANPMPI_ENABLE=0 is set on some ranks" in said[0], said
    check_not_accelerated(folder, "mixed.json")


def check_not_accelerated(folder, name):
    document, (calls, sent, *_) = read(os.path.join(folder, name)), known(folder, "known")
    counts = collections.Counter()
    for record in document["records"]:
        counts[document["calls"][record["call"]]["name"]] += record["count"]
        assert not record.get("accelerated"), record
    wanted = collections.Counter()
    for (name, _), (number, _) in calls.items():
        wanted[name] += number
    assert counts == wanted and {(a, b): [n, m] for a, b, n, m in document["peers"]} == sent, (counts, wanted)
    assert document["incomplete"] is None and len(document["per_rank"]) == RANKS


def check_threads(options, folder):
    run(options, folder, "known", "threads", ranks=2, HANPMPI_PROFILE="threads.json")
    document = read(os.path.join(folder, "threads.json"))
    counts = collections.Counter()
    for record in document["records"]:
        counts[document["calls"][record["call"]]["name"]] += record["count"]
    assert counts["MPI_Irecv"] == counts["MPI_Isend"] == counts["MPI_Waitall"] == 2 * 4 * 2000, counts
    assert sorted(map(tuple, document["peers"])) == [(0, 0, 8000, 64000), (1, 1, 8000, 64000)]
    assert document["threads_seen"] >= 4 and document["thread_level"] == "MPI_THREAD_MULTIPLE"
    assert sum(wait["count"] for wait in document["waits"]) == 2 * 2 * 4 * 2000


def check_fresh(options, folder):
    """Of a call that receives into memory that nobody has used before the sequence says so."""
    run(options, folder, "known", "fresh", ranks=2, HANPMPI_ENABLE="0", HANPMPI_PROFILE="fresh.json", HANPMPI_PROFILE_SEQUENCE="1000")
    document = read(os.path.join(folder, "fresh.json"))
    pages = 2 * (1 << 16) * 8 // os.sysconf("SC_PAGESIZE")
    for row in document["sequence"]["ranks"]:
        faults = [event[4] if len(event) > 4 else 0 for event in row["events"]]
        assert len(faults) == 5 and min(faults[:3]) >= pages > 4 * faults[4], (faults, pages)


def check_order(options, folder):
    """A communicator is the same one for all of its ranks, whichever they use first."""
    run(options, folder, "known", "order", HANPMPI_ENABLE="0", HANPMPI_PROFILE="order.json", HANPMPI_PROFILE_SEQUENCE="1000")
    sequence = read(os.path.join(folder, "order.json"))["sequence"]
    used = [[sequence["kinds"][event[0]]["comm"] for event in row["events"]] for row in sequence["ranks"]]
    assert len(used) == RANKS and len(used[0]) == 4 and len(set(used[0][:3])) == 1 and used[0][3] != used[0][0], used
    assert all(row == used[0] for row in used), used


MANY_CALLS = 1_000_000


def check_many(options, folder):
    run(options, folder, "known", "many", str(MANY_CALLS), ranks=2, HANPMPI_PROFILE="many.json", HANPMPI_PROFILE_SEQUENCE="1000")
    document = read(os.path.join(folder, "many.json"))
    assert [(len(row["events"]), row["skipped"]) for row in document["sequence"]["ranks"]] == 2 * [(1000, 3 * 22 ** 3 + MANY_CALLS)]
    for rank in range(2): # what was there is enough for any number of calls
        with open(os.path.join(folder, f"known.{rank}"), encoding="ascii") as file:
            grown = int(file.readline().split()[1])
        assert grown < 1024, f"{grown} KiB more"
    barriers = [r for r in document["records"] if document["calls"][r["call"]]["name"] == "MPI_Barrier"]
    assert sum(r["count"] for r in barriers) == 2 * (3 * 22 ** 3 + 1000 + MANY_CALLS)
    assert len({r["site"] for r in barriers}) == 22 ** 3 + 1, len({r["site"] for r in barriers})
    assert sum(c["name"].startswith("number ") for c in document["communicators"]) == 1000
    assert not any(document["lost"].values()), document["lost"]
    run(options, folder, "known", "many", str(MANY_CALLS), ranks=2, HANPMPI_PROFILE="few.json", HANPMPI_PROFILE_FRAMES="1")
    few = read(os.path.join(folder, "few.json"))
    assert len(few["sites"]) < 100 and max(len(site["frames"]) for site in few["sites"]) == 1
    assert sum(r["count"] for r in few["records"]) == sum(r["count"] for r in document["records"])


def check_polls(options, folder):
    """Not each of the calls that find nothing is timed: all are counted, where they are made, and what they test is complete where it is seen."""
    run(options, folder, "known", "polls", ranks=2, HANPMPI_PROFILE="polls.json")
    document, (calls, sent, _, _) = read(os.path.join(folder, "polls.json")), known(folder, "known", ranks=2)
    names, lines = [call["name"] for call in document["calls"]], lines_of_sites(document)
    found, probes = collections.Counter(), collections.Counter()
    for record in document["records"]:
        if names[record["call"]] in ("MPI_Test", "MPI_Testany", "MPI_Testall", "MPI_Iprobe"):
            found[names[record["call"]], lines[record["site"]][1]] += record["count"]
            assert sum(n for _, n in record["histogram"]) == record["count"] and record["max_s"] <= record["time_s"] + 1e-9, record
        if names[record["call"]] == "MPI_Iprobe":
            probes[document["communicators"][record["comm"]]["name"]] += record["count"]
    assert found == {key: n for key, (n, _) in calls.items() if "Test" in key[0] or "probe" in key[0]}, (found, calls)
    assert probes == {"MPI_COMM_WORLD": 2 * 13333, "other": 2 * 6667}, probes
    waits = {(names[wait["post_call"]], names[wait["wait_call"]]): wait["count"] for wait in document["waits"]}
    assert waits == {("MPI_Irecv", "MPI_Test"): 4}, document["waits"]
    assert sum(row["calls"] for row in document["per_rank"]) == sum(record["count"] for record in document["records"])
    assert not any(document["lost"].values()) and {(a, b): [n, m] for a, b, n, m in document["peers"]} == sent


def check_unwritable(options, folder):
    said = run(options, folder, "known", HANPMPI_PROFILE="/nowhere/at/all.json")
    assert len(said) == 1 and "HANPMPI_PROFILE=/nowhere/at/all.json" in said[0] and "No such file" in said[0], said
    os.symlink("/dev/full", os.path.join(folder, "full.json.part")) # a full disk
    said = run(options, folder, "known", HANPMPI_PROFILE="full.json", HANPMPI_PROFILE_SEQUENCE="100")
    assert len(said) == 1 and "No space left" in said[0] and not os.path.exists(os.path.join(folder, "full.json")), said


def check_fragments(options, folder):
    told = []
    for what, text in (("abort", "MPI_Abort with code 3"), ("exit", "without MPI_Finalize"), ("term", "SIGTERM")):
        name = f"{what}.json"
        told += run(options, folder, "known", what, succeeds=None, HANPMPI_PROFILE=name)
        documents = [read(part) for part in glob.glob(os.path.join(folder, name + ".rank-*"))]
        assert any(text in one["incomplete"] for one in documents), (what, [one["incomplete"] for one in documents])
        assert all(one["incomplete"] and len(one["per_rank"]) == 1 and one["ranks"] == RANKS for one in documents)
        # The launcher ends the others, which may still be in the barrier.
        assert any(one["calls"][record["call"]]["name"] == "MPI_Barrier" for one in documents for record in one["records"])
        assert not os.path.exists(os.path.join(folder, name)) and len({one["job"] for one in documents}) == 1
        check_parts(folder, name, documents)
    assert any(".rank-" in line for line in told), told # a launcher may lose what is said at the end


TOOLS = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tuning", name) for name in ("report", "profile")]


def tool(folder, *arguments):
    """What hanpmpi_profile says: (exit code, an object, what it complains of)."""
    done = subprocess.run([sys.executable, "-m", "hanpmpi_profile", *arguments, "--json"], cwd=folder, capture_output=True, text=True, timeout=60,
                          check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(TOOLS), "PYTHONDONTWRITEBYTECODE": "1"})
    return done.returncode, json.loads(done.stdout or "null"), done.stderr


def check_parts(folder, name, documents):
    """Together they say as many calls as each by itself, and who is missing."""
    code, found, complaints = tool(folder, "show", name)
    assert code == 0, complaints
    calls = collections.Counter()
    for one in documents:
        for record in one["records"]:
            calls[one["calls"][record["call"]]["name"]] += record["count"]
    cut = [path.rpartition("-")[2] for path in glob.glob(os.path.join(folder, name + ".part-*"))] # killed while they wrote it
    missing = [str(rank) for rank in range(RANKS) if str(rank) not in {*cut, *(str(one["per_rank"][0]["rank"]) for one in documents)}]
    said = [text for text in found["cautions"] if "left no part" in text]
    assert len(said) == bool(missing) and (not missing or f" {', '.join(missing)} left no part" in said[0]), (found["cautions"], missing)
    if not cut: # of which nothing or nearly all may be there
        assert f"the parts of {len(documents)} of its {RANKS} ranks" in found["cautions"][0], found["cautions"]
        assert {row["call"]: round(row["calls_a_process"] * len(documents)) for row in found["calls"]} == calls, (found["calls"], calls)


def check_killed(options, folder):
    """SIGKILL on one rank: it leaves nothing, the others what they can, and there is no file that looks like the whole."""
    run(options, folder, "known", "kill", succeeds=None, HANPMPI_PROFILE="kill.json")
    left = sorted(os.path.basename(path) for path in glob.glob(os.path.join(folder, "kill.json*")))
    assert "kill.json.part" in left and not {"kill.json", "kill.json.rank-1"} & set(left), left
    documents = [read(path) for path in glob.glob(os.path.join(folder, "kill.json.rank-*"))]
    assert all("SIGTERM" in one["incomplete"] for one in documents), documents
    if documents:
        check_parts(folder, "kill.json", documents)
    elif not glob.glob(os.path.join(folder, "kill.json.part-*")): # this launcher kills them all at once
        code, _, complaint = tool(folder, "show", "kill.json")
        assert code == 1 and "kill.json.part: the job has not come to MPI_Finalize" in complaint, complaint


UNEXPECTED_MESSAGES = 10 # as in profile.c


def check_unexpected(options, folder):
    """Off unless it is asked for; then either the MPI's count, or one line that says that it has none."""
    run(options, folder, "known", "unexpected", ranks=2, HANPMPI_PROFILE="none.json")
    assert read(os.path.join(folder, "none.json"))["unexpected"] is None
    said = run(options, folder, "known", "unexpected", ranks=2, HANPMPI_PROFILE="unexpected.json", HANPMPI_PROFILE_UNEXPECTED="1")
    found = read(os.path.join(folder, "unexpected.json"))["unexpected"]
    if found is None:
        assert len(said) == 1 and "HANPMPI_PROFILE_UNEXPECTED=1: this MPI does not say" in said[0], said
        return
    assert not said and found["most"] == UNEXPECTED_MESSAGES and 2 <= found["samples"] <= UNEXPECTED_MESSAGES, (said, found)
    assert found["with_any"] == found["samples"] and UNEXPECTED_MESSAGES < found["messages"] <= sum(range(UNEXPECTED_MESSAGES + 1)), found


def check_fortran(options, folder):
    run(options, folder, program=options.fortran, HANPMPI_PROFILE="fortran.json")
    document = read(os.path.join(folder, "fortran.json"))
    places = {(document["calls"][r["call"]]["name"], document["modules"][document["sites"][r["site"]]["frames"][0][0]]["path"])
              for r in document["records"]}
    assert {path for _, path in places} == {os.path.realpath(options.fortran)}, places
    assert {"MPI_Allreduce", "MPI_Bcast", "MPI_Reduce", "MPI_Barrier"} <= {name for name, _ in places}, places


def check_python(options, folder):
    """File, line, function and the caller's line of calls from Python."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "profile_python.py")
    run(options, folder, script, program=options.python, HANPMPI_PROFILE="python.json", HANPMPI_PROFILE_FRAMES="2")
    document, wanted, found = read(os.path.join(folder, "python.json")), collections.Counter(), collections.Counter()
    for rank in range(RANKS):
        with open(os.path.join(folder, f"python.{rank}"), encoding="ascii") as file:
            for line in file:
                count, _, where = line.strip().partition(" ")
                wanted[where] += int(count)
    for record in document["records"]:
        name, site = document["calls"][record["call"]]["name"], document["sites"][record["site"]]
        if "python" in site and is_collective(document, record):
            here, caller = site["python"]
            found[f"{name} {here} {caller.partition(' ')[0].rpartition(':')[2]}"] += record["count"]
        elif name == "MPI_Barrier":
            assert site["frames"], site
            found["from C"] += record["count"]
    assert found.pop("from C") == 2 * RANKS, found
    assert found == wanted and len(wanted) == 6, (found - wanted, wanted - found)


def check_fuzz(options, folder):
    """Counts and bytes of each function on the fuzzer's communicators, in all forms: blocking, not blocking, persistent, large counts."""
    run(options, folder, "--seed", "17", "--count", "1500", "--max-bytes", "20000", "--nonblocking", "20", "--persistent", "40", "--known", "known",
        program=options.fuzz, HANPMPI_PROFILE="fuzz.json")
    document, (calls, *_) = read(os.path.join(folder, "fuzz.json")), known(folder, "known")
    wanted = {name: counts for (name, _), counts in calls.items()}
    found = collections.defaultdict(lambda: [0, 0])
    for record in document["records"]:
        name = document["calls"][record["call"]]["name"]
        if document["communicators"][record["comm"]]["name"] == "fuzz" and (is_collective(document, record) or name == "MPI_Start"):
            found[name][0] += record["count"]
            found[name][1] += record["bytes"]
    assert dict(found) == wanted, {name: (found.get(name), wanted.get(name)) for name in {*found, *wanted} if found.get(name) != wanted.get(name)}
    assert len(wanted) > 30 and not any(document["lost"].values()), (wanted, document["lost"])


def check_off(options, folder):
    run(options, folder, "known")
    assert not glob.glob(os.path.join(folder, "*.json*")), os.listdir(folder)


def check_record(options, folder):
    records = os.path.join(folder, "records")
    os.mkdir(records)
    run(options, folder, "known", HANPMPI_RECORD=records)
    (path,) = glob.glob(os.path.join(records, "*"))
    assert os.path.basename(path).startswith("hanpmpi-") and os.path.getsize(path) <= 4096
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    rows = {row["name"]: row for row in document["collectives"]}
    assert document["format"] == "hanpmpi-record" and document["ranks"] == RANKS and document["active"]
    assert rows["scan"]["calls"] == 40 and rows["alltoallv"]["calls"] == 20, rows
    spread = document["collective_seconds"]
    assert 0 < spread["least"] <= spread["mean"] <= spread["most"] and 0 < spread["share"] <= 1
    assert sum(calls for _, calls in document["sizes"]) == sum(row["calls"] for row in rows.values())
    assert document["savings"]["collective_seconds"] > 0, document["savings"]
    said = run(options, folder, "known", HANPMPI_RECORD="/nowhere")
    assert said and all("HANPMPI_RECORD=/nowhere" in line for line in said), said


TRIES = 3 # what else the machine does comes in between
# Of slack.c: CALLS, and a tenth of COMPUTE_S.
LATE_CALLS, SLACK_ERROR_S = 30, 3e-4
FIRST_CALLS, ONE_IN = 4, 8 # of a site are sampled, as in watch.c


def check_slack(options, folder):
    """Slack after and before within 10% of what the program knows, waiting within 5%; of each call of a line, unless it is said to be
    left out."""
    problems = []
    for _ in range(TRIES):
        run(options, folder, "known", program=options.slack, ranks=2, HANPMPI_PROFILE="slack.json", HANPMPI_PROFILE_WATCH="all")
        problems = list(slack_problems(read(os.path.join(folder, "slack.json")), folder))
        if not problems:
            return
    raise AssertionError("\n".join(problems))


def slack_problems(document, folder):
    """A recording samples some of a line's calls: the mean of what it finds lies between the least and the most of what the program knows."""
    known, late = collections.defaultdict(list), None
    for rank in range(2):
        with open(os.path.join(folder, f"known.{rank}"), encoding="ascii") as file:
            for line, calls, *seconds in map(str.split, file):
                if line == "late":
                    late = [float(value) for value in seconds]
                else:
                    known[line].append((int(calls), *map(float, seconds)))
    names, lines = [call["name"] for call in document["calls"]], lines_of_sites(document)
    found, hows = collections.defaultdict(lambda: [0, 0.0, 0, 0.0]), collections.defaultdict(set)
    for row in document["slack"]:
        if names[row["call"]] == "MPI_Allreduce":
            line = lines[row["site"]][1]
            hows[line].add(row["how"])
            found[line] = [a + b for a, b in zip(found[line], (row["samples"], row["after_s"], row["before_samples"], row["before_s"]))]
    watched = any(hows[line] & {"touch", "untouched"} for line in known)
    left_out = sum(row["watches_left_out"] for row in document["per_rank"])
    for line, ranks in known.items():
        samples, after_s, before_samples, before_s = found[line]
        due = sum(call < FIRST_CALLS or call % ONE_IN == 0 for calls, *_ in ranks for call in range(calls))
        assert samples + before_samples + left_out >= due, (line, found[line], left_out)
        if not watched: # neither pages nor watchpoints can be had here, and there are upper bounds alone
            assert hows[line] == {"next call"}, hows
            continue
        for what, number, seconds, least, most in (("after", samples, after_s, 1, 2), ("before", before_samples, before_s, 3, 4)):
            wanted = min(rank[least] for rank in ranks), max(rank[most] for rank in ranks)
            if number and not wanted[0] - SLACK_ERROR_S < seconds / number < wanted[1] + SLACK_ERROR_S:
                yield f"line {line}: slack {what} {seconds / number:.6f}, not {wanted} s ({number} samples, {hows[line]})"
    (row,) = (row for row in document["arrival"] if names[row["call"]] == "MPI_Allreduce" and lines[row["site"]][1] not in known)
    assert row["samples"] == LATE_CALLS, row
    whole = row["waited_s"] + row["transfer_s"]
    if abs(row["waited_s"] - late[0]) > 0.05 * late[0] or abs(whole - late[1]) > 0.05 * late[1]:
        yield f"waited {row['waited_s']:.6f} of {whole:.6f} s, not {late[0]:.6f} of {late[1]:.6f} s"


LONG_CALL_S = 5e-5 # of such a call it takes little to record it and to look at a clock around it


def check_times(options, folder):
    """Times add up to what the program finds with MPI_Wtime around its calls, within 2%."""
    problems = []
    for _ in range(TRIES):
        run(options, folder, "known", "times", ranks=2, HANPMPI_PROFILE="times.json")
        problems = list(time_problems(read(os.path.join(folder, "times.json")), known(folder, "known", ranks=2)))
        if not problems:
            return
    raise AssertionError("\n".join(problems))


def time_problems(document, what_is_known):
    calls, _, seconds, seconds_of = what_is_known
    lines, names, found = lines_of_sites(document), [call["name"] for call in document["calls"]], collections.Counter()
    for record in document["records"]:
        found[names[record["call"]], lines[record["site"]][1]] += record["time_s"]
    sums = [row["mpi_s"] for row in document["per_rank"]]
    assert abs(sum(found.values()) - sum(sums)) < 0.001 * sum(sums) and set(found) == set(calls), (found, sums)
    pairs = [(f"rank {rank}", sums[rank], seconds[rank]) for rank in range(2)]
    pairs += [(key, found[key], seconds_of[key]) for key in calls if seconds_of[key] > LONG_CALL_S * calls[key][0]]
    assert len(pairs) > 5, pairs
    for what, here, there in pairs:
        if abs(here - there) > 0.02 * there:
            yield f"{what}: {here:.6f} s in the recording, {there:.6f} s by the program"


class TooBusy(Exception):
    """Skips the test."""


# Of kernels.c: what is gained, in shares of a kernel's time. WITHOUT: the one whose result is needed at once.
GAIN_ERROR, WITHOUT = 0.10, "needed"
BLOCKING_S, BUSY = 0.2, 1.1 # of each kernel; a machine that makes more of that is too busy: ranks that yield wait for others' time slices
CONVERTS = "convert", "convert with progress thread"


def check_kernels(options, folder):
    """What hanpmpi_profile overlap expects of a call that is made non-blocking is gained when it is, within 10 percentage points."""
    problems, busy = [], []
    for _ in range(TRIES):
        run(options, folder, "recorded", program=options.kernels, ranks=2, HANPMPI_ENABLE="0", HANPMPI_PROFILE="kernels.json",
            HANPMPI_PROFILE_SEQUENCE="100000", HANPMPI_PROFILE_WATCH="all")
        run(options, folder, "measured", "measure", program=options.kernels, ranks=2, HANPMPI_ENABLE="0")
        busy = []
        problems = list(kernel_problems(folder, busy))
        if not problems and not busy:
            return
    if problems:
        raise AssertionError("\n".join(problems))
    raise TooBusy(f"the machine is too busy to compare {', '.join(busy)}")


def words_of(path):
    """{first word of a line: the others}"""
    with open(path, encoding="ascii") as file:
        return {first: rest for first, *rest in map(str.split, file)}


def kernel_problems(folder, busy):
    code, found, complaints = tool(folder, "overlap", "kernels.json")
    assert code == 0 and found["sequence"], complaints
    whole_s = max(row["run_s"] for row in read(os.path.join(folder, "kernels.json"))["per_rank"])
    recorded, measured = (words_of(os.path.join(folder, name)) for name in ("recorded", "measured"))
    for name, (line, blocking_s, nonblocking_s) in measured.items():
        rows = [row for row in found["sites"] if row["site"].startswith(f"{name} (kernels.c:{line})")]
        assert len(rows) == 1, (name, line, found["sites"])
        (row,) = rows
        expected = row["program"]["calls"] * whole_s / float(recorded[name][1])
        gained = 1 - float(nonblocking_s) / float(blocking_s)
        slowest_s = max(float(blocking_s), float(recorded[name][1]))
        said = (f"{name}, {slowest_s:.3f} s: {100 * gained:.1f}% gained, {100 * expected:.1f}% expected; {row['verdict']}: {row['reason']} "
                f"({row['how']})")
        print(said)
        if name == WITHOUT: # nothing but transfer, whose time says little from run to run
            if "no slack" not in f"{row['verdict']} {row['reason']}" or abs(expected) > 0.01:
                yield said
            continue
        # Where no buffer can be watched the slack is an upper bound, and so is the gain.
        is_bound = row["how"] == "next call" and name != "tsp"
        if slowest_s > BUSY * BLOCKING_S:
            busy.append(name)
        elif row["verdict"] not in CONVERTS or expected < gained - GAIN_ERROR or (expected > gained + GAIN_ERROR and not is_bound):
            yield said


# Programs of examples/: [options, options of the form that is converted as hanpmpi_profile overlap says and no further, {function: calls that
# are made non-blocking in it}]. In is they are needed at once.
CONVERSIONS = {
    "is": (["--class", "S"], ["--nonblocking", "--chunks", "1"], {"run_blocking": "MPI_Alltoallv"}),
    "ft": (["--class", "S", "--iterations", "10"], ["--nonblocking", "--planes", "1000"], {"transpose": "MPI_Alltoall", "add_up": "MPI_Allreduce"}),
    "sparse": (["--iterations", "10"], ["--nonblocking"], {"run_blocking": "MPI_Alltoallv"}),
}
WITHOUT_SLACK, LATE = "is", ["--late", "40000"] # long beside what they compute, even beside other programs
FORM_TURNS = 3
STEADY = 1.1 # half of a form's runs take at most so many times as long as the shortest, or the machine is too busy


def check_conversions(options, folder):
    """Of three examples whose ranks come late by intention: what is expected of a conversion is gained by it, and the results are the same."""
    problems, busy = [], []
    for name in CONVERSIONS:
        for _ in range(TRIES):
            wrong, is_steady = compare_example(options, folder, name)
            if not wrong and is_steady:
                break
        problems += [wrong] if wrong else []
        busy += [] if is_steady else [name]
    if problems:
        raise AssertionError("\n".join(problems))
    if busy:
        raise TooBusy(f"the machine is too busy to compare {', '.join(busy)}")


def run_example(options, folder, name, *arguments, **settings):
    """What it prints: seconds, checksum."""
    lines = []
    run(options, folder, "--json", *arguments, program=os.path.join(options.examples, name), ranks=2, said=lines, HANPMPI_ENABLE="0", **settings)
    document = json.loads(next(line for line in lines if line.startswith("{")))
    return document["total_seconds"], document["checksum"]


def compare_example(options, folder, name):
    """(what is wrong, or None; could the forms be compared?)"""
    sizes, conversion, calls = CONVERSIONS[name]
    sizes = [*sizes, *LATE]
    path = f"{name}.json"
    recorded_s, checksum = run_example(options, folder, name, *sizes, HANPMPI_PROFILE=path, HANPMPI_PROFILE_SEQUENCE="100000", HANPMPI_PROFILE_WATCH="all")
    seconds = {False: [], True: []} # by: is it converted
    for turn in range(FORM_TURNS):
        for converted in (turn % 2 == 1, turn % 2 == 0):
            its_s, its_checksum = run_example(options, folder, name, *sizes, *(conversion if converted else []))
            seconds[converted].append(its_s)
            assert its_checksum == checksum, (name, converted, its_checksum, checksum)
    seconds[False].append(recorded_s)
    code, found, complaints = tool(folder, "overlap", path)
    assert code == 0 and found["sequence"], complaints
    whole_s = max(row["run_s"] for row in read(os.path.join(folder, path))["per_rank"])
    rows = [row for row in found["sites"] if calls.get(row["site"].partition(" (")[0]) == row["call"]]
    assert len(rows) == len(calls), (rows, found["sites"])
    expected = sum(row["program"]["calls"] for row in rows) * whole_s / recorded_s
    blocking_s, converted_s = (statistics.median(seconds[form]) for form in (False, True))
    gained = 1 - converted_s / blocking_s
    said = (f"{name}, {blocking_s:.3f} s: {100 * gained:.1f}% gained, {100 * expected:.1f}% expected; "
            + "; ".join(f"{row['call']}: {row['verdict']}: {row['reason']} ({row['how']})" for row in rows))
    print(said, flush=True)
    # Where no buffer can be watched, or watching has had its share of a short run, the slack is an upper bound, and so is the gain.
    is_bound = any(row["how"] not in ("touch", "untouched") for row in rows)
    if name == WITHOUT_SLACK and not is_bound and any("no slack" not in f"{row['verdict']} {row['reason']}" or row["program"]["calls"] > 0.01 for row in rows):
        return said, True
    if recorded_s > STEADY * blocking_s or any(statistics.median(its) > STEADY * min(its) for its in seconds.values()):
        return None, False
    return said if expected < gained - GAIN_ERROR or (expected > gained + GAIN_ERROR and not is_bound) else None, True


SCALES = 2, 4, 8, 16


def check_scales(options, folder):
    """Of a call site that loses and one that does not the former is first, as imbalance; the other loses a fifth of that at most: 16 ranks share
    the cores, and their barriers take longer for that."""
    problems = []
    for _ in range(TRIES):
        for ranks in SCALES:
            run(options, folder, "800", program=options.scales, ranks=ranks, HANPMPI_ENABLE="0", HANPMPI_PROFILE=f"{ranks}.json")
        code, found, complaints = tool(folder, "scaling", *(f"{ranks}.json" for ranks in SCALES))
        assert code == 0, complaints
        problems = list(scale_problems(found))
        if not problems:
            return
    raise AssertionError("\n".join(problems))


def scale_problems(found):
    sites = [row for row in found["sites"] if row["call"] == "MPI_Barrier"]
    most = [max(pair["loss"] for pair in row["losses"]) for row in sites]
    assert len(sites) == 2 and {row["site"].split(" ")[0] for row in sites} == {"loses", "keeps"}, found["sites"]
    said = f"{[(row['site'], row['verdict']) for row in sites]}: {most}"
    print(said)
    if not sites[0]["site"].startswith("loses ") or not sites[0]["verdict"].startswith("imbalance") or most[1] > most[0] / 5:
        yield said


CASES = [check_off, check_everything, check_host_alone, check_threads, check_fresh, check_order, check_many, check_polls, check_unwritable, check_fragments, check_killed, check_unexpected, check_fortran,
         check_python, check_fuzz, check_record]
TIMED = [check_slack, check_times, check_kernels, check_conversions, check_scales] # alone on the machine, and only by name


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("library", "run", "helper", "program", "fortran", "python", "fuzz", "slack", "kernels", "examples", "scales"):
        parser.add_argument("--" + name)
    parser.add_argument("cases", nargs="*", help="of " + " ".join(case.__name__ for case in [*CASES, *TIMED]))
    options = parser.parse_args()
    for case in [case for case in [*CASES, *TIMED] if case.__name__ in options.cases] or CASES:
        if (case is check_fortran and not options.fortran) or (case is check_python and not options.python):
            continue
        with tempfile.TemporaryDirectory() as folder:
            case(options, folder)
        print(case.__name__, "ok", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TooBusy as problem:
        print(problem)
        sys.exit(77)
