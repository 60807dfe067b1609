#!/usr/bin/env python3
"""trace: HANPMPI_TRACE writes one file that trace viewers can show, and says what it cannot write.

Runs trace.c on 8 ranks of two made-up nodes. A case fails by AssertionError.
"""
import argparse
import collections
import json
import os
import shlex
import subprocess
import sys
import tempfile

RANKS, CALLS = 8, 3
SETTINGS = {"HANPMPI_TOPOLOGY": "node:2 core:4", "HANPMPI_SETUP_CALLS": "1", "HANPMPI_ALLREDUCE": "han", "HANPMPI_REDUCE": "han",
            "HANPMPI_BCAST": "han", "HANPMPI_BARRIER": "han", "HANPMPI_SEGMENT_BYTES": "16K", "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def run(options, folder, **settings):
    preload = ":".join(part for part in (options.library, options.helper) if part)
    command = ["env", f"LD_PRELOAD={preload}", *shlex.split(options.run), "-np", str(RANKS), options.program]
    done = subprocess.run(command, env={**os.environ, **SETTINGS, **settings}, cwd=folder, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stderr.splitlines() if line.startswith("hanpmpi: ")]


def overlap(spans, other):
    return any(a[0] < b[1] and b[0] < a[1] for a in spans for b in other)


def check_rows(bars):
    """No two bars of a row overlap: viewers draw them wrongly, and one in another must end before it does."""
    rows = collections.defaultdict(list)
    for bar in bars:
        assert bar["dur"] >= 0 and bar["ts"] > 0, bar
        rows[bar["pid"], bar["tid"]].append((bar["ts"], bar["ts"] + bar["dur"]))
    for row, spans in rows.items():
        spans.sort()
        for before, after in zip(spans, spans[1:]):
            assert after[0] >= before[1] - 0.0011, (row, before, after)  # three decimals, cut off


def check_file(path):
    with open(path, encoding="ascii") as file:
        document = json.load(file)
    events = document["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}
    bars = [event for event in events if event["ph"] == "X"]
    check_rows(bars)
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    assert {(bar["pid"], bar["tid"]) for bar in bars} <= named
    assert len({event["pid"] for event in events if event["name"] == "process_name"}) == 4  # two nodes, each with its primitives
    calls = [bar for bar in bars if bar["cat"] == "collective"]
    counts = collections.Counter((call["name"], call["args"]["size"], call["args"]["bytes"]) for call in calls)
    for name in ("allreduce", "reduce", "bcast"):
        assert counts[name, RANKS, 1 << 20] == RANKS * CALLS and counts[name, RANKS // 2, 8] == RANKS * CALLS, counts
    assert counts["barrier", RANKS, 0] == RANKS * CALLS, counts
    assert all(call["args"]["algorithm"] == "han" and "node:p2p core:" in call["args"]["modules"]
               for call in calls if call["args"]["size"] == RANKS)
    same = collections.Counter((call["args"]["comm"], call["args"]["sequence"]) for call in calls)
    assert set(same.values()) == {RANKS, RANKS // 2}, same  # a call has one name on all of its ranks
    tasks = collections.defaultdict(list)
    for bar in bars:
        if bar["cat"] == "task":
            tasks[bar["name"].split()[0], bar["args"]["segment"]].append((bar["ts"], bar["ts"] + bar["dur"]))
    labels = {label for label, _ in tasks}
    assert labels >= {"sr", "ir", "ib", "sb"}, labels
    assert any(overlap(spans, other) for (label, segment), spans in tasks.items() for (its, number), other in tasks.items()
               if label != its and segment != number), "no tasks of different segments at the same time"
    assert document["otherData"]["dropped_events"] == "0"


def writes_a_file(options, folder):
    said = run(options, folder, HANPMPI_TRACE="trace.json")
    assert said == [], said
    check_file(os.path.join(folder, "trace.json"))
    done = subprocess.run([sys.executable, options.tool, os.path.join(folder, "trace.json")], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("allreduce 1 MiB") == CALLS and "at once" in done.stdout, done.stdout + done.stderr


def keeps_the_newest(options, folder):
    said = run(options, folder, HANPMPI_TRACE="trace.json", HANPMPI_TRACE_EVENTS="1024")
    assert len(said) == 1 and "HANPMPI_TRACE_EVENTS" in said[0], said
    with open(os.path.join(folder, "trace.json"), encoding="ascii") as file:
        document = json.load(file)
    assert int(document["otherData"]["dropped_events"]) > 0 and any(e.get("cat") == "task" for e in document["traceEvents"])


def says_what_it_cannot_write(options, folder):
    for name in ("no/such/folder/trace.json", "."):
        said = run(options, folder, HANPMPI_TRACE=name)
        assert len(said) == 1 and "HANPMPI_TRACE" in said[0] and name in said[0] and "accepted" in said[0], said
    assert os.listdir(folder) == []


def event_file(collective, primitive):
    """One collective on one rank, with the members that are given over those of a good file."""
    names = [{"ph": "M", "pid": 1, "tid": 2, "name": "process_name", "args": {"name": "node"}},
             {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "rank 0"}}]
    arguments = {"comm": 1, "sequence": 1, "size": 1, "bytes": 8, "algorithm": "han", "segments": 1, "call": 1, "rank": 0}
    bar = {"ph": "X", "pid": 1, "tid": 2, "ts": 0, "dur": 5}
    task = {"call": 1, "segment": 0, "label": "sr"}
    return json.dumps({"traceEvents": [
        *names, {**bar, "cat": "collective", "name": "bcast", "args": {**arguments, **collective.pop("args", {})}, **collective},
        {**bar, "cat": "primitive", "name": "copy 0", "args": {**task, **primitive.pop("args", {})}, **primitive}]})


def refuses_what_is_no_trace(options, folder):
    wrong = ["", "{", "[]", "3", '"text"', "[" * 100000, '{"traceEvents": []}', '{"traceEvents": 3}', '{"traceEvents": [3]}',
             '{"traceEvents": [{"ph": "X", "cat": "primitive"}]}', event_file({"args": {"bytes": "many"}}, {}),
             event_file({"args": {"size": None}}, {}), event_file({"dur": "long"}, {}), event_file({"dur": -1}, {}),
             event_file({"ts": float("nan")}, {}), event_file({}, {"dur": "x"}), event_file({}, {"name": "copy"}),
             event_file({}, {"args": {"segment": "first"}}), event_file({}, {"args": {"posted_us": []}})]
    path = os.path.join(folder, "file")
    for text in wrong:
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        done = subprocess.run([sys.executable, options.tool, path], capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr.startswith("hanpmpi_trace: ") and "Traceback" not in done.stderr, (text, done)
        assert path in done.stderr and done.stderr.count("\n") == 1, (text, done)
    for other in (folder, os.path.join(folder, "no such file"), sys.executable):  # no file, none at all, no text
        done = subprocess.run([sys.executable, options.tool, other], capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr.startswith(f"hanpmpi_trace: {other}: ") and done.stderr.count("\n") == 1, done
    for text in (event_file({}, {}), event_file({"dur": 0}, {"dur": 0})):  # a clock may stand still
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        done = subprocess.run([sys.executable, options.tool, path], capture_output=True, text=True)
        assert done.returncode == 0 and "bcast 8 B" in done.stdout, done


def draws_what_its_name_says(options, folder):
    path = os.path.join(folder, "file")
    with open(path, "w", encoding="ascii") as file:
        file.write(event_file({}, {}))
    done = subprocess.run([sys.executable, options.tool, path, "--svg", "picture.jpg"], capture_output=True, text=True)
    assert done.returncode == 2 and "--svg picture.jpg: accepted are" in done.stderr and done.stdout == "", done


def ends_quietly_in_a_pipe(options, folder):
    """`hanpmpi_trace out.json | head`, and a disk that is full."""
    path = os.path.join(folder, "file")
    with open(path, "w", encoding="ascii") as file:
        file.write(event_file({}, {}))
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, options.tool, path], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert done.returncode == 0 and done.stderr == "", done
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([sys.executable, options.tool, path], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and done.stderr.startswith("hanpmpi_trace: ") and done.stderr.count("\n") == 1, done


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("library", "run", "helper", "program", "tool"):
        parser.add_argument("--" + name, default="")
    options = parser.parse_args()
    for case in (writes_a_file, keeps_the_newest, says_what_it_cannot_write, refuses_what_is_no_trace, draws_what_its_name_says, ends_quietly_in_a_pipe):
        with tempfile.TemporaryDirectory() as folder:
            case(options, folder)
        print(f"{case.__name__}: ok", flush=True)


if __name__ == "__main__":
    main()
