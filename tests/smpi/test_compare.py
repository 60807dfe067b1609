#!/usr/bin/env python3
"""test_compare.py PROGRAMS: compare.py on a machine of a few ranks: its table, going on with an interrupted run, wrong algorithms,
bad options."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import compare
import machine
import smpirun

PROGRAMS = Path(sys.argv[1]).resolve()
HERE = Path(__file__).parent


def command(*arguments):
    return subprocess.run([sys.executable, HERE / "compare.py", "--programs", PROGRAMS, *arguments], capture_output=True, text=True, timeout=100)


def want(condition, text):
    if not condition:
        sys.exit(f"test_compare.py: {text}")


def test_table_and_resume(directory):
    results = directory / "results.json"
    arguments = ("--results", results, "--nodes", "2", "--ranks-per-node", "3,2", "--bytes", "8,65536", "--collectives", "bcast",
                 "--sides", "library,selectors", "--table", directory / "table.md")
    first = command(*arguments)
    want(first.returncode == 0, f"the first run failed:\n{first.stdout}{first.stderr}")
    want("validated: bcast of 8,65536 bytes" in first.stdout, "no validation")
    table = (directory / "table.md").read_text()
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| bcast")]
    want([row[2].strip() for row in rows] == ["8", "65536"], f"the table has other rows:\n{table}")
    want("*" not in rows[1][3], f"64 KiB do not pass:\n{table}")
    points = json.loads(results.read_text())
    want(len(points["points"]) == 10, f"ten points, not {len(points['points'])}")
    for row, size in zip(rows, (8, 65536)):
        least, ours = float(row[-3]), points["points"][f"hanpmpi/bcast/{size}"]["us"]
        want(0 < least <= ours, f"{ours} us is below the bound of {least}")

    passes = command("--results", directory / "passes.json", "--nodes", "2", "--ranks-per-node", "2", "--bytes", "8", "--collectives", "bcast",
                     "--sides", "library", "--no-validate", "--setting", "HANPMPI_BCAST=native")
    want("* |" in passes.stdout, f"a call that passes through has a *:\n{passes.stdout}{passes.stderr}")

    lost = points["points"].pop("mpich/bcast/65536")
    results.write_text(json.dumps(points))
    second = command(*arguments, "--no-validate")
    measured = [line for line in second.stdout.splitlines() if " us" in line]
    want(len(measured) == 1 and measured[0].startswith("mpich"), f"only the lost point is measured again:\n{second.stdout}")
    again = json.loads(results.read_text())["points"]["mpich/bcast/65536"]
    # Measured at another simulated instant, hence rounded otherwise.
    want(abs(again["us"] / lost["us"] - 1) < 1e-6, f"it took {lost['us']} us and takes {again['us']} now")

    other = command(*arguments, "--latency", "2e-6")
    want(other.returncode != 0 and "latency differ" in other.stderr, f"results of another machine were taken:\n{other.stderr}")


def one_message(directory, nodes, size, *charges):
    """Microseconds of a bcast to one other rank."""
    results = directory / f"message-{nodes}.json"
    results.unlink(missing_ok=True)
    done = command("--results", results, "--nodes", str(nodes), "--ranks-per-node", str(3 - nodes), "--bytes", str(size), "--collectives", "bcast",
                   "--sides", "library,selectors", "--no-validate", "--eager-bytes", "8192", "--setting", "HANPMPI_BCAST=han", *charges)
    points = json.loads(results.read_text())["points"]
    want(done.returncode == 0 and len(points) == 5, f"no message was measured:\n{done.stdout}{done.stderr}")
    return {key.split("/")[0]: point["us"] for key, point in points.items()}


def test_messages_are_charged(directory):
    """At both ends, whether or not a send waits for its receive, blocking or not, the library's and the selectors'."""
    free = ("--message-charge", "0", "--inside-charge", "0", "--byte-charge", "0")
    charged = ("--message-charge", "1e-5", "--inside-charge", "2e-5", "--byte-charge", "1e-8")
    for nodes, size, more in ((2, 8, 20.16), (2, 8184, 20 + 163.68), (2, 8192, 20), (1, 8, 40), (1, 8192, 40)):
        without, with_charge = one_message(directory, nodes, size, *free), one_message(directory, nodes, size, *charged)
        for side, us in with_charge.items():
            want(abs(us - without[side] - more) < 0.01, f"{side}, {size} B on {nodes} nodes: {without[side]} us, charged {us}, not {more} more")


def test_wrong_algorithms_are_found(directory):
    stem = directory / "star"
    machine.write(machine.parse("--nodes", "2", "--ranks-per-node", "2"), "star", stem)
    names = smpirun.algorithms("bcast", PROGRAMS / "simulated_native", stem)
    want("binomial_tree" in names and "mvapich2_inter_node" in names, f"SMPI's algorithms of bcast: {names}")
    for name, wrong in (("binomial_tree", False), ("mvapich2_inter_node", True)):
        job = compare.Job(f"forced {name}", "bcast", PROGRAMS / "simulated_native", {}, {**smpirun.CHEAP, "smpi/bcast": name})
        want(compare.is_wrong(job) == wrong, f"{name} is {'wrong' if wrong else 'right'}")


def test_algorithms(directory):
    """Each of the library's, also what is made for the network, which the library is told."""
    results = directory / "algorithms.json"
    arguments = ("--results", results, "--network", "tree_chain", "--nodes", "4", "--ranks-per-node", "1", "--leaf", "2", "--bytes", "65536",
                 "--collectives", "alltoall,allgatherv,allreduce", "--no-validate", "--sides", "library,algorithms")
    done = command(*arguments, "--tell-network")
    want(done.returncode == 0, f"the run failed:\n{done.stdout}{done.stderr}")
    points = json.loads(results.read_text())["points"]
    for point in ("pairwise/alltoall", "contention_free/alltoall", "depth_first_ring/allgatherv", "binomial 8192/allreduce", "ring 65536/allreduce"):
        want(points.get(f"hanpmpi {point}/65536", {}).get("taken"), f"hanpmpi {point} is not measured: {sorted(points)}")
    want("hanpmpi bruck/allgatherv/65536" in points and "hanpmpi binomial/allgatherv/65536" not in points, f"what has blocks that differ: {sorted(points)}")
    own = {side.split("/")[0]: point["us"] for side, point in points.items() if "/alltoall/" in side and " " in side}
    row = next(line for line in done.stdout.splitlines() if line.startswith("| alltoall"))
    want(f"{min(own, key=own.get).split()[1]} |" in row, f"the best of {own} is not in the table: {row}")
    other = directory / "untold.json"
    want(command("--results", other, *arguments[2:]).returncode == 0, "the run without a network failed")
    names = json.loads(other.read_text())["points"]
    want("hanpmpi pairwise/alltoall/65536" in names and not any("contention_free" in name for name in names), f"without a network: {sorted(names)}")
    done = command("--results", directory / "star.json", "--nodes", "2", "--tell-network")
    want(done.returncode != 0 and "--tell-network: accepted with a tree of switches" in done.stderr, f"a star has no network file: {done.stderr}")


def test_bad_options(directory):
    for arguments, text in ((["--bytes", "7"], "multiples of 8"), (["--network", "ring"], "star"), (["--setting", "X=1"], "HANPMPI_"),
                            (["--sides", "ours"], "library, algorithms, selectors, forced"), (["--ranks-per-node", "0"], "numbers from 1")):
        done = command("--results", directory / "none.json", *arguments)
        want(done.returncode == 2 and arguments[0] in done.stderr and text in done.stderr, f"{arguments}: {done.returncode} {done.stderr}")


if __name__ == "__main__":
    for test in (test_table_and_resume, test_messages_are_charged, test_wrong_algorithms_are_found, test_algorithms, test_bad_options):
        with tempfile.TemporaryDirectory(prefix="hanpmpi-compare-") as place:
            test(Path(place))
        print(f"{test.__name__}: passed")
