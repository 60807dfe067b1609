#!/usr/bin/env python3
"""explain: the guard settles, and what HANPMPI_EXPLAIN says is what the trace shows and what hanpmpi_info says before.

Runs guard.c on 4 ranks of two made-up nodes. docs/pitfalls.md 33, 34, 35. A case fails by AssertionError.
"""
import argparse
import collections
import json
import math
import os
import re
import shlex
import subprocess
import tempfile

RANKS, CALLS = 4, 60
TRIED_MOST = 20  # calls until a question is settled, with those before a communicator is set up
COLLECTIVES = ("bcast", "reduce", "allreduce", "barrier")
SETTINGS = {"HANPMPI_TOPOLOGY": "node:2 core:2", "HANPMPI_SETUP_CALLS": "1", "HANPMPI_EXPLAIN_JSON": "explain.json",
            "HANPMPI_CACHE": "off", "HANPMPI_PROBE_AFTER_US": "0", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def run(options, folder, calls=(CALLS,), **settings):
    preload = ":".join(part for part in (options.library, options.helper) if part)
    command = ["env", f"LD_PRELOAD={preload}", *shlex.split(options.run), "-np", str(RANKS), options.program, *map(str, calls)]
    done = subprocess.run(command, env={**os.environ, **SETTINGS, **settings}, cwd=folder, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    with open(os.path.join(folder, "explain.json"), encoding="ascii") as file:
        document = json.load(file)
    return document, done.stderr


def selections(document, ranks=None):
    return [row for row in document["selections"] if ranks is None or row["layout"]["nodes"] * row["layout"]["ranks_per_node"][0] == ranks]


def calls_of(row):
    return sum(candidate["calls"] for candidate in row["candidates"])


def chosen(row):
    return next(candidate for candidate in row["candidates"] if candidate["chosen"])


def before_mockup(row):
    """What ran until a mock-up, which is tried later, took its place: all of the others were tried alone."""
    others = [candidate for candidate in row["candidates"] if not candidate["chosen"]]
    return max(others, key=lambda candidate: candidate["calls"]) if chosen(row)["algorithm"] == "mockup" else None


def check_calls(document):
    """Every call of rank 0 is in a row, or passed through before a communicator was set up."""
    for collective in COLLECTIVES:
        rows = [row for row in document["selections"] if row["collective"] == collective]
        outcomes = document["outcomes"][collective]
        assert sum(map(calls_of, rows)) == 2 * 3 * CALLS + 3, (collective, rows)
        taken = sum(c["calls"] for row in rows for c in row["candidates"] if c["algorithm"] not in ("native", "mockup"))
        assert outcomes["taken"] == taken, (collective, outcomes, taken)


def settles(options, folder):
    document, said = run(options, folder)
    check_calls(document)
    assert "what ran, and why" not in said  # not asked for
    for row in document["selections"]:
        if len(row["candidates"]) == 1 or calls_of(row) < CALLS:
            continue
        natives = [c for c in row["candidates"] if c["algorithm"] == "native"]
        assert len(natives) == 1 and (row["settled"] or row["reopened"]), row
        if not row["settled"]:  # asked again, when another job made it slow
            continue
        if not row["reopened"]:  # else what was chosen first is among the others
            ran = [candidate["calls"] for candidate in (chosen(row), before_mockup(row)) if candidate]
            assert calls_of(row) - sum(ran) < TRIED_MOST, row
        # The others were out after two rounds; a mock-up has to be clearly better. What was left for the host MPI's collectives may
        # have been the best but that its slowest rank took longer.
        assert row["by"] == "guard" and "guard_us" in chosen(row), row
        if chosen(row)["algorithm"] not in ("native", "mockup"):
            assert chosen(row)["guard_us"] == min(c["guard_us"] for c in row["candidates"] if c["calls"] > 3 and c["algorithm"] != "mockup"), row
    sizes = {(row["collective"], row["bytes"][0]) for row in document["selections"] if len(row["candidates"]) > 1}
    assert {("bcast", 262144), ("allreduce", 32), ("reduce", 16384), ("barrier", 0)} <= sizes, sizes


def savings(options, folder):
    """What was saved follows from the trials, and what HANPMPI_STATS says of it is that, too."""
    document, said = run(options, folder, HANPMPI_STATS="1", HANPMPI_GUARD="1")
    saved = document["savings"]
    assert 0 < saved["taken_seconds"] <= saved["collective_seconds"] < document["seconds"], saved
    assert saved["setup_seconds"] > 0 and saved["agreement_seconds"] > 0, saved
    compared, unknown, seconds, tried, agreed = 0, 0, 0.0, 0, 0
    for row in document["selections"]:
        took = chosen(row)
        native = next((c for c in row["candidates"] if c["algorithm"] == "native"), {})
        tried += calls_of(row) - took["calls"]
        if took is native:
            continue
        if row["settled"] and "guard_us" in native and "guard_us" in took:
            compared += took["calls"]
            seconds += took["calls"] * (native["guard_us"] - took["guard_us"]) / 1e6
        else:
            unknown += took["calls"]
    assert (saved["calls"], saved["unknown_calls"], saved["trial_calls"]) == (compared, unknown, tried), (saved, compared, unknown, tried)
    assert math.isclose(saved["seconds"], seconds, rel_tol=1e-6, abs_tol=1e-9), (saved, seconds)
    assert saved["least_seconds"] <= saved["seconds"] <= saved["most_seconds"], saved
    assert f"{saved['collective_seconds']:.3f} s of the {document['seconds']:.3f} s since MPI_Init" in said, said
    assert not compared or f"about {saved['seconds']:.3f} s saved ({saved['least_seconds']:.3f} to" in said, said
    document, said = run(options, folder, HANPMPI_STATS="1", HANPMPI_GUARD="0")
    assert document["savings"]["calls"] == 0 < document["savings"]["unknown_calls"] and "were not compared" in said, said


def models(document):
    return [candidate for row in document["selections"] for candidate in row["candidates"] if candidate["from"] == "model"]


def the_model_comes_when_it_is_worth_it(options, folder):
    """What it would do is tried against what the trial has chosen, once the calls have taken so long; before, nothing is probed."""
    document, _ = run(options, folder, HANPMPI_PROBE_AFTER_US="1000000000")
    assert not models(document) and all(c.get("expected_us") is None for row in document["selections"] for c in row["candidates"]), document["selections"]
    document, _ = run(options, folder, calls=(3 * CALLS,), HANPMPI_PROBE_AFTER_US="1")
    assert any(candidate["calls"] > 1 for candidate in models(document)), document["selections"]
    for row in document["selections"]:
        assert row["settled"] or row["reopened"] or calls_of(row) < CALLS, row
        for candidate in row["candidates"]:
            if candidate["from"] == "model" and not candidate["chosen"] and not row["reopened"] and candidate is not before_mockup(row):
                assert candidate["calls"] < TRIED_MOST, row


def hint_comes_first(options, folder):
    document, _ = run(options, folder, calls=(4,))
    hinted = [row for row in document["selections"] if row["by"] == "hint"]
    assert [(row["collective"], len(row["candidates"]), chosen(row)["algorithm"], calls_of(row)) for row in hinted] == [("allreduce", 1, "han", 3)]


def without_the_guard(options, folder):
    document, _ = run(options, folder, HANPMPI_GUARD="0")
    check_calls(document)
    for row in document["selections"]:
        assert len(row["candidates"]) == 1 and row["by"] in ("rule", "none", "hint"), row
    knob, _ = run(options, folder, HANPMPI_REDUCE="han")
    for row in knob["selections"]:
        if row["collective"] == "reduce":
            assert row["by"] == "knob" and chosen(row)["algorithm"] == "han" and len(row["candidates"]) == 1, row


def mockups(options, folder):
    document, said = run(options, folder, HANPMPI_EXPLAIN="1", calls=(24,))
    named = [[c["what"] for c in row["candidates"] if c["algorithm"] == "mockup"] for row in document["selections"]
             if row["collective"] == "allreduce" and row["by"] != "hint"]
    assert named and all(what == ["mock-up: reduce + bcast"] for what in named), named
    assert "mock-up: reduce + bcast" in said, said
    document, _ = run(options, folder, calls=(24,), HANPMPI_MOCKUPS="off")
    assert not any(c["algorithm"] == "mockup" for row in document["selections"] for c in row["candidates"]), document["selections"]
    document, _ = run(options, folder, calls=(4,), HANPMPI_MOCKUPS="force")
    rows = [row for row in document["selections"] if row["collective"] == "allreduce" and row["by"] != "hint"]
    assert len(rows) == 6 and all(row["by"] == "knob" and chosen(row)["algorithm"] == "mockup" for row in rows), rows
    assert document["outcomes"]["allreduce"]["mockup"] == sum(map(calls_of, rows)) == 24, document["outcomes"]


RULES = """{"version": 1, "rules": [
  {"collective": "bcast", "nodes": 2, "bytes": ["256K", null], "algorithm": "han", "segment_bytes": 20000, "shapes": "node:binary"},
  {"collective": "bcast", "nodes": 7, "algorithm": "no such thing"},
  {"collective": "reduce", "nodes": 2, "algorithm": "native"}
]}"""


def a_file_of_rules(options, folder):
    path = os.path.join(folder, "rules.json")
    with open(path, "w", encoding="ascii") as file:
        file.write(RULES)
    document, said = run(options, folder, HANPMPI_RULES=path)
    lines = [line for line in said.splitlines() if "rules.json" in line]
    assert len(lines) == 1 and "rules.json:3: rule 2:" in lines[0] and "no such thing" in lines[0], said
    rows = {(row["collective"], row["bytes"][0]): row for row in selections(document, RANKS) if row["by"] != "hint"}
    bcast = rows["bcast", 262144]["candidates"][0]
    assert (bcast["from"], bcast["line"], bcast["algorithm"], bcast["segment_bytes"]) == ("file", 2, "han", 20000), bcast
    for size in (32, 16384, 262144):
        reduce = rows["reduce", size]
        assert reduce["by"] == "file" and [c["algorithm"] for c in reduce["candidates"]] == ["native"] and reduce["candidates"][0]["line"] == 4, reduce
    assert rows["allreduce", 32]["candidates"][0]["from"] == "rule"
    _, said = run(options, folder, calls=(1,), HANPMPI_RULES=os.path.join(folder, "none.json"))
    assert sum("none.json" in line for line in said.splitlines()) == 1, said


def in_bin(value, row):
    return row["bytes"][0] <= value <= row["bytes"][1]


def agrees_with_the_trace(options, folder):
    document, _ = run(options, folder, HANPMPI_TRACE="trace.json", HANPMPI_TRACE_EVENTS="262144")
    with open(os.path.join(folder, "trace.json"), encoding="ascii") as file:
        trace = json.load(file)
    assert trace["otherData"]["dropped_events"] == "0"
    bars = [bar for bar in trace["traceEvents"] if bar["ph"] == "X" and bar["cat"] == "collective"]
    shown = collections.Counter()
    for bar in bars:  # once for each of its ranks; those of rank 0's communicators are what it explains
        arguments = bar["args"]
        shown[bar["name"], arguments["size"], arguments["bytes"], arguments["algorithm"], arguments["segment_bytes"]] += 1
    for row in document["selections"]:
        size = row["layout"]["nodes"] * row["layout"]["ranks_per_node"][0]
        for candidate in row["candidates"]:
            if candidate["algorithm"] in ("native", "mockup"):
                continue
            seen = sum(count for (name, ranks, value, algorithm, _), count in shown.items()
                       if name == row["collective"] and ranks == size and in_bin(value, row) and algorithm == candidate["algorithm"])
            alike = sum(c["calls"] for other in document["selections"] for c in other["candidates"]
                        if c["algorithm"] == candidate["algorithm"] and other["collective"] == row["collective"]
                        and other["bytes"] == row["bytes"]
                        and other["layout"]["nodes"] * other["layout"]["ranks_per_node"][0] == size)
            # Two halves: the other one chooses for itself, with the same calls but not with the same answers.
            if size == RANKS:
                assert seen == alike * RANKS, (row, seen, alike)
            else:
                assert seen >= alike * size, (row, seen, alike)
    for row in selections(document, RANKS):
        for candidate in row["candidates"]:
            if candidate["algorithm"] == "han" and row["bytes"][0] >= 16384 and candidate["calls"]:
                cuts = {segment for (name, ranks, value, algorithm, segment), _ in shown.items()
                        if name == row["collective"] and ranks == RANKS and in_bin(value, row) and algorithm == "han"}
                assert any(cut <= candidate["segment_bytes"] for cut in cuts), (row, cuts)


def agrees_with_what_was_said_before(options, folder):
    document, said = run(options, folder, HANPMPI_EXPLAIN="1", HANPMPI_MODEL="0")
    assert "what ran, and why" in said and "communicators of 2 nodes of 2 ranks" in said, said
    for row in selections(document, RANKS):
        if row["by"] == "hint":
            continue
        question = f"{row['collective']} nodes=2 ppn=2 bytes={row['bytes'][0]}"
        done = subprocess.run([options.info, "--explain", question], capture_output=True, text=True,
                              env={**os.environ, "HANPMPI_MODEL": "0", "HANPMPI_CACHE": "off"})
        assert done.returncode == 0, done.stderr
        first = re.search(r"^  runs +(.*?)  +", done.stdout, re.M).group(1)
        assert first == row["candidates"][0]["what"], (done.stdout, row)
        assert ("against" in done.stdout) == (len(row["candidates"]) > 1), (done.stdout, row)


def a_late_rank_is_gone_around(options, folder):
    """Rank 3 comes late to 36 long calls: the report names it, calls go around it, and no more once it comes in time."""
    late_calls, calls = 12, 30
    for attempt in range(3):  # other jobs make ranks late, too
        document, said = run(options, folder, calls=(calls, late_calls), HANPMPI_EXPLAIN="1", HANPMPI_ARRIVAL="1", HANPMPI_BCAST="han",
                             HANPMPI_REDUCE="han")
        rows = [row for row in document["late"] if row["rank"] == 3]
        if len(rows) == 1 and rows[0]["late_looks"] == 1:
            break
    assert len(rows) == 1 and rows[0]["ranks"] == RANKS and rows[0]["nodes"] == 2, document["late"]
    assert 5000 < rows[0]["late_us"] < 50000 and rows[0]["looks"] == 2, rows
    # The bcasts and reduces between the two looks, but for those with root 3; allreduces of two nodes do not.
    assert 0 < rows[0]["calls_around"] < (late_calls + calls) * 2, rows
    assert "who made others wait" in said and f"{rows[0]['calls_around']} calls went around it" in said, said
    document, said = run(options, folder, calls=(1, late_calls), HANPMPI_EXPLAIN="1", HANPMPI_ARRIVAL="0")
    assert document["late"] == [] and "who made others wait" not in said, document["late"]


def says_what_it_cannot_write(options, folder):
    run(options, folder, calls=(1,))
    _, said = run(options, folder, calls=(1,), HANPMPI_EXPLAIN_JSON="explain.json")
    assert "cannot be written" not in said
    preload = ":".join(part for part in (options.library, options.helper) if part)
    command = ["env", f"LD_PRELOAD={preload}", *shlex.split(options.run), "-np", str(RANKS), options.program, "1"]
    done = subprocess.run(command, env={**os.environ, **SETTINGS, "HANPMPI_EXPLAIN_JSON": "no/such/folder/file"}, cwd=folder,
                          capture_output=True, text=True, timeout=100)
    assert done.returncode == 0 and "HANPMPI_EXPLAIN_JSON=no/such/folder/file cannot be written" in done.stderr, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("library", "run", "helper", "program", "info"):
        parser.add_argument("--" + name, default="")
    options = parser.parse_args()
    for case in (settles, savings, the_model_comes_when_it_is_worth_it, hint_comes_first, without_the_guard, mockups, a_file_of_rules, agrees_with_the_trace,
                 a_late_rank_is_gone_around, agrees_with_what_was_said_before, says_what_it_cannot_write):
        with tempfile.TemporaryDirectory() as folder:
            case(options, folder)
        print(f"{case.__name__}: ok", flush=True)


if __name__ == "__main__":
    main()
