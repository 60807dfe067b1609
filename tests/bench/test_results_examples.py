#!/usr/bin/python3
"""The figures that results_examples.py makes of measurements: of made-up ones, whose tables are known. Argument: a folder to work in."""
import json
import os
import sys

import results_examples

# What a run with HANPMPI_STATS=1 prints.
STATS = """hanpmpi: collectives of rank 0
  collective bytes per call            taken        bytes      mean us     passed      mean us  passed through because
  bcast      16 B to < 256 B               1           80     21948.59          2         0.00  setup
  bcast      256 KiB to < 1 MiB          100     52428800      4800.10          3      9000.00  rule, setup
  allreduce  0 B                           7            0       183.38          1         0.00  size
  barrier    0 B                           2            0       776.45          0         0.00  """


def variant(total, communication, taken=None):
    """Two runs around a middle: 10% less, 10% more."""
    figures = {"total_seconds": total, "compute_seconds": total - communication, "communication_seconds": communication,
               "communication_slowest_seconds": 1.5 * communication}
    made = {name: [0.9 * value, 1.1 * value] for name, value in figures.items()}
    return {**made, "taken": taken[0], "passed": taken[1]} if taken else made


def document():
    def program(name, nonblocking_calls):
        return {"program": name, "options": ["--size", "1"], "nonblocking_options": ["--nonblocking"], "message_bytes": 8, "variants": {
            "host blocking": variant(4, 2), "host nonblocking": variant(3.2, 1), "library blocking": variant(2, 0.5, (75, 25)),
            "library nonblocking": variant(1, 0.1, nonblocking_calls)}}
    return {"mpi": "Open MPI v0.0.0", "machine": {}, "repetitions": 2, "ended": "2000-01-02T03:04:05+00:00",
            "layouts": [{"hosts": 4, "programs": [program("kmeans", (100, 0)), program("apsp", (5, 0))]}]}


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    failures = []

    def expect(what, got, expected):
        if got != expected:
            failures.append(f"{what}: {got!r}, expected {expected!r}")

    expect("bcast", results_examples.taken_of(STATS, "Bcast"), [101, 5])
    expect("allreduce", results_examples.taken_of(STATS, "Allreduce"), [7, 1])
    expect("reduce", results_examples.taken_of(STATS, "Reduce"), [0, 0])

    path, readme = os.path.join(folder, results_examples.NAME + ".json"), os.path.join(folder, "README.md")
    if os.path.exists(path):
        os.remove(path)
    with open(readme, "w") as file:
        file.write(f"before\n{results_examples.BEGIN}\nold\n{results_examples.END}\nafter\n")
    expect("no figures, section", results_examples.section(folder, lambda _: "machine"), [])
    results_examples.write_readme(folder, readme)
    with open(path, "w") as file:
        json.dump(document(), file)
    for _ in range(2): # the second time changes nothing
        results_examples.write_readme(folder, readme)
    with open(readme) as file:
        lines = file.read().splitlines()
    cells = "4.000 | 3.200 | 1.25 | 2.000 | 1.000 | 2.00 | 2.00 | 3.20 | 1.00, 3.00"
    expect("kmeans", [line for line in lines if "kmeans" in line], [f"| 4 | kmeans | {cells} | 75%, 100% |"])
    expect("apsp", [line for line in lines if "apsp" in line], [f"| 4 | apsp | {cells} | 75%, not seen |"])
    expect("around it", [lines[0], lines[1], lines[-2], lines[-1]], ["before", results_examples.BEGIN, results_examples.END, "after"])
    expect("lines", len(lines), 10)
    text = results_examples.section(folder, lambda _: "machine")
    expect("ASP", [line for line in text if line.startswith("| 4 | share") or line.startswith("| 4 | slowest")],
           ["| 4 | slowest rank's, s | 3.000 | 1.500 | 0.750 | 0.150 |", "| 4 | share | 50.0% | 31.2% | 25.0% | 10.0% |"])
    print("\n".join(failures) or "passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
