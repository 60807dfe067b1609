#!/usr/bin/env python3
"""mpi4py's own test suite with and without the library: the same tests pass, fail and are skipped.

The suite comes from mpi4py's source distribution, which scripts/setup fetches. It runs on two ranks under the MPIs of .venv with every
collective taken; what it says is compared with what it says without the library. Left out: the tests that spawn processes, which need a
launcher set up for it, and test_datatype, which takes half of the time and makes no call that the library intercepts (MPI_Type_* only).

Exit code: 0, 1 on a difference, 77 when mpi4py or its source is not there.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(os.path.dirname(os.path.dirname(HERE)), ".venv")

COLLECTIVES = ("bcast", "reduce", "allreduce", "barrier", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "reduce_scatter",
               "reduce_scatter_block", "gather", "gatherv", "scatter", "scatterv", "scan", "exscan")
TAKEN = {"HANPMPI_TOPOLOGY": "node:2 core:1", "HANPMPI_SETUP_CALLS": "1", "HANPMPI_SEGMENT_BYTES": "64", "HANPMPI_STATS": "1",
         **{f"HANPMPI_{name.upper()}": "han" for name in COLLECTIVES}}

# What each rank says of the suite without the library, for the versions that scripts/setup installs. A run that says
# something else is compared with a run without the library, which takes as long again.
UNKNOWN_TO_MPICH = ("complex4", "integer16", "logical1", "logical16", "logical2", "logical4", "logical8", "real2")
KNOWN = {
    "openmpi": [["OK (skipped=122)", "Ran 2018 tests"]] * 2,
    "mpich": [[*(f"FAIL: testGetFortranInfo (test_mpiabi.TestMPIABI.testGetFortranInfo) (typename='{name}')" for name in UNKNOWN_TO_MPICH),
               "FAILED (failures=8, skipped=107)", "Ran 2018 tests"]] * 2,
}

LEFT_OUT = ("spawn", "test_datatype")
LAUNCHERS = {
    "openmpi": ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--bind-to", "none"],
    "mpich": [],
}


def run(mpi, source, environment):
    """What the suite says of each rank: failures, number of tests, verdict; and rank 0's whole output. Each rank writes its own file: lines
    of two ranks would mix."""
    directory = os.path.join(VENV, mpi, "bin")
    with tempfile.TemporaryDirectory(prefix="hanpmpi-") as outputs:
        shell = f'exec "$0" "$@" >{outputs}/${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} 2>&1'
        command = [os.path.join(directory, "mpirun")] + LAUNCHERS[mpi] + [
            "-np", "2", "sh", "-c", shell, os.path.join(directory, "python3"), os.path.join(source, "test", "main.py"), "-q"]
        command += [word for name in LEFT_OUT for word in ("-e", name)]
        subprocess.run(command, env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **environment),
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=900)
        texts = []
        for rank in ("0", "1"):
            path = os.path.join(outputs, rank)
            texts.append(open(path, errors="replace").read() if os.path.exists(path) else "")
    verdicts = [sorted(re.findall(r"^(?:FAIL|ERROR): .*|^Ran \d+ tests|^OK.*|^FAILED.*", text, flags=re.M)) for text in texts]
    return verdicts, texts[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="libhanpmpi.so")
    arguments = parser.parse_args()
    sources = glob.glob(os.path.join(VENV, "mpi4py-source", "mpi4py-*", ""))
    mpis = [mpi for mpi in LAUNCHERS if os.path.exists(os.path.join(VENV, mpi, "done"))]
    if not sources or not mpis:
        print("skipped: no mpi4py source in .venv; scripts/setup all fetches it")
        return 77
    good = True
    for mpi in mpis:
        library, output = run(mpi, sources[0], {"LD_PRELOAD": os.path.abspath(arguments.library), **TAKEN})
        native, of = KNOWN[mpi], "known"
        if library != native:
            (native, _), of = run(mpi, sources[0], {}), "native"
        taken = "hanpmpi: collectives of rank 0" in output
        equal = native == library and taken and all(any(line.startswith("Ran") for line in rank) for rank in native)
        good &= equal
        print(f"{'passed' if equal else 'FAILED'}  {mpi}: {of}, rank 0: {native[0]}", flush=True)
        if not equal:
            print(f"library {library}\n{output[-3000:]}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
