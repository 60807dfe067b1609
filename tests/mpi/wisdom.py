#!/usr/bin/env python3
"""wisdom: what one communicator's guard has found serves others like it, and the next run.

Runs wisdom.c; a case fails by AssertionError. A guard that trusts a finding never calls what was not chosen.
"""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import tempfile

CALLS = 40
SETTINGS = {"HANPMPI_SETUP_CALLS": "1", "HANPMPI_EXPLAIN_JSON": "explain.json", "HANPMPI_MODEL": "0", "HANPMPI_MOCKUPS": "off",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Case:
    def __init__(self, options, folder):
        self.options, self.folder, self.cache = options, pathlib.Path(folder), pathlib.Path(folder) / "cache"

    def run(self, what, ranks=4, calls=CALLS, **settings):
        """The rows of HANPMPI_EXPLAIN_JSON, by collective."""
        preload = ":".join(part for part in (self.options.library, self.options.helper) if part)
        command = ["env", f"LD_PRELOAD={preload}", *shlex.split(self.options.run), "-np", str(ranks), self.options.program, what, str(calls)]
        environment = {**os.environ, **SETTINGS, "HANPMPI_CACHE": str(self.cache), **settings}
        done = subprocess.run(command, env=environment, cwd=self.folder, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stdout + done.stderr
        self.said = done.stderr
        document = json.loads((self.folder / "explain.json").read_text())
        return [row for row in document["selections"] if len(row["candidates"]) > 1]

    def info(self, *words):
        done = subprocess.run([self.options.info, *words], env={**os.environ, "HANPMPI_CACHE": str(self.cache)}, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def findings(self):
        return [finding for mpi in json.loads(self.info("--wisdom", "--json"))["mpis"] for finding in mpi["findings"]]

    def files(self):
        return sorted(self.cache.glob("*.wisdom"))


def calls_of(rows):
    return sum(candidate["calls"] for row in rows for candidate in row["candidates"])


def found_here(rows):
    """Nothing was known before. What took much longer soon after is in question again."""
    return all(row["by"] == "guard" or (row["reopened"] and row["by"] != "wisdom") for row in rows)


def not_chosen(rows):
    """Calls of candidates that were tried and not chosen, of rows that were not tried again."""
    return sum(candidate["calls"] for row in rows if not row["reopened"] for candidate in row["candidates"] if not candidate["chosen"])


def is_wise(rows):
    """All that was not found to have changed was taken from elsewhere."""
    assert rows, "nothing was called"
    for row in rows:
        assert row["by"] == "wisdom" or row["reopened"], row
    assert not_chosen(rows) == 0, rows
    return sum(row["by"] == "wisdom" for row in rows)


def another_communicator(case):
    off = case.run("same", HANPMPI_WISDOM="off", HANPMPI_CACHE="off")
    assert found_here(off), off
    on = case.run("same", HANPMPI_CACHE="off")
    assert calls_of(on) == calls_of(off), (on, off)
    # The first communicator tried, the second did not, unless what it took had become much slower meanwhile.
    wise = [row for row in on if row["by"] == "wisdom"]
    assert wise or any(row["reopened"] for row in on), on
    assert not_chosen(wise) == 0, on
    assert not case.files()


def ranks_that_know_less(case):
    """Rank 0 has found nothing: it hears from the rank of the other half."""
    rows = case.run("halves", HANPMPI_TOPOLOGY="node:1 core:4", HANPMPI_CACHE="off")
    assert all(row["layout"]["ranks_per_node"] == [2, 2] for row in rows), rows
    assert is_wise(rows) > 0 or all(row["reopened"] for row in rows), rows


def the_next_run(case):
    assert found_here(case.run("once"))
    found = case.findings()
    assert {finding["collective"] for finding in found} == {"bcast", "allreduce", "allgather"}, found
    text = case.info("--wisdom")
    assert "1 node of 4 ranks" in text and "allgather" in text, text
    second = case.run("once")
    assert is_wise(second) > 0 or all(row["reopened"] for row in second), second
    assert found_here(case.run("once", ranks=3)), "another layout has nothing to go by"
    assert len(case.findings()) == 2 * len(found), case.findings()
    before = case.files()[0].read_bytes()
    case.run("once", ranks=2, HANPMPI_WISDOM="read")
    case.run("once", ranks=2, HANPMPI_TOPOLOGY="node:1 core:2")  # a made-up machine
    assert case.files()[0].read_bytes() == before
    assert "forgotten" in case.info("--forget") and not case.files()
    assert "no wisdom" in case.info("--wisdom")


def broken_files(case):
    """One is passed over, with a word about it, and replaced."""
    case.run("once", ranks=2)
    good = case.files()[0].read_text()
    for text in ("", good[: len(good) // 2], good.replace('"bin": ', '"bin": 9'), "\0" * 1000):
        case.files()[0].write_text(text)
        rows = case.run("once", ranks=2, HANPMPI_VERBOSE="2")
        assert "what it says is not used" in case.said, case.said
        assert found_here(rows), rows
        assert case.findings(), text


def directory_that_cannot_be_written(case):
    """It was named, so there is a warning: one, whether the probes are lost as well or not."""
    directory = "/proc/no/such/directory"
    for settings, lost in (({}, "what was found is not kept"), ({"HANPMPI_MODEL": "1", "HANPMPI_PROBE_AFTER_US": "0"}, "the probes are not kept")):
        case.run("once", ranks=2, HANPMPI_CACHE=directory, **settings)
        warnings = [line for line in case.said.splitlines() if "warning" in line]
        assert len(warnings) == 1 and f"HANPMPI_CACHE={directory} is not accepted" in warnings[0] and lost in warnings[0], case.said


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--run", "--library", "--program", "--info"):
        parser.add_argument(name, required=True)
    parser.add_argument("--helper", default="")
    options = parser.parse_args()
    for case in (another_communicator, ranks_that_know_less, the_next_run, broken_files, directory_that_cannot_be_written):
        with tempfile.TemporaryDirectory() as folder:
            case(Case(options, folder))
        print(f"{case.__name__}: ok", flush=True)


if __name__ == "__main__":
    main()
