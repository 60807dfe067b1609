#!/usr/bin/env python3
"""scaling.py: recordings of simulated machines.

    scaling.py --programs build/tests/smpi

The program ../mpi/scales.c, which has a call site that loses scaling and one that does not, is recorded on 64, 256 and 1,024 simulated
ranks; hanpmpi_profile has to rank the two rightly, with the losses that the program was made with.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import machine
import smpirun

RANKS_PER_NODE, NODES = 32, (2, 8, 32)
# As in scales.c, milliseconds; WORK: what all ranks share in a step.
LATE, EARLY, WORK = 40.0, 16.0, 25600.0
TOOLS = [str(Path(__file__).resolve().parents[2] / "tuning" / name) for name in ("report", "profile")]
ERROR = 0.02 # of a run: messages take time, too


def losses(p, q):
    """Of the site that loses, and of the other: (q C(q) - p C(p)) / (q T(q)); all ranks but one wait."""
    step = WORK / q + LATE + EARLY / q
    return (q - p) * LATE / (q * step), EARLY * (1 / p - 1 / q) / (q * step)


def record(programs, nodes, file):
    with tempfile.TemporaryDirectory(prefix="hanpmpi-platform-") as directory:
        stem = Path(directory) / "machine"
        ranks = machine.write(machine.parse("--nodes", str(nodes), "--ranks-per-node", str(RANKS_PER_NODE)), "star", stem)
        status, output, errors = smpirun.run(programs / "scales", [str(WORK)], stem, ranks,
                                             {"HANPMPI_PROFILE": str(file), "HANPMPI_ENABLE": "0", "HANPMPI_PROFILE_FRAMES": "1"}, smpirun.CHEAP, 200)
    if status != 0 or not file.exists():
        sys.exit(f"{ranks} ranks: exit status {status}, {'a' if file.exists() else 'no'} recording\n{output}{errors}")
    return ranks


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hanpmpi-scaling-") as directory:
        files = [Path(directory) / f"{nodes}.json" for nodes in NODES]
        scales = [record(options.programs, nodes, file) for nodes, file in zip(NODES, files)]
        done = subprocess.run([sys.executable, "-m", "hanpmpi_profile", "scaling", "--json", "--no-symbols", *map(str, files)], capture_output=True, text=True,
                              check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(TOOLS), "PYTHONDONTWRITEBYTECODE": "1"})
    if done.returncode:
        sys.exit(done.stderr)
    sites = [row for row in json.loads(done.stdout)["sites"] if row["call"] == "MPI_Barrier"]
    if len(sites) != 2:
        sys.exit(f"two call sites are in the program, not {[(row['site'], row['losses']) for row in sites]}")
    loses, keeps = sites # in the order of the largest loss
    for row in sites:
        print(row["call"], row["site"], row["verdict"], [(pair["from"], pair["to"], round(pair["loss"], 4)) for pair in row["losses"]])
    if not loses["loses"] or not loses["verdict"].startswith("imbalance") or keeps["loses"]:
        sys.exit("the wrong call site loses, or for another reason than the one that comes late")
    if sorted({pair["to"] for pair in loses["losses"]}) != scales[1:]:
        sys.exit(f"these scales should have been compared: {scales}")
    for row, which in ((loses, 0), (keeps, 1)):
        for pair in row["losses"]:
            wanted = losses(pair["from"], pair["to"])[which]
            if abs(pair["loss"] - wanted) > ERROR:
                sys.exit(f"{row['site']}, {pair['from']} to {pair['to']} ranks: a loss of {pair['loss']:.4f}, not {wanted:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
