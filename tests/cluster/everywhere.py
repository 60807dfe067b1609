#!/usr/bin/env python3
"""`LD_PRELOAD=libhanpmpi.so HANPMPI_...=... mpirun ...` over several hosts: does every rank on every host run with the library and
the settings? (docs/pitfalls.md 8)

On the virtual cluster, whose remote shell brings no environment, as ssh does; some jobs at a time. Open MPI: also when the user forwards
variables in any of Open MPI's ways. Then one host of a job lacks the library: a warning, and the program runs.

Exit code: 0, 1 on a failure, 77 when no virtual cluster can be made here.
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile

import mpis
from mpis import VCLUSTER

HOSTS, RANKS_PER_HOST, VALUE, JOBS = 3, 2, "12K", 3

OPENMPI_WAYS = {
    "nothing else forwarded": ([], {}),
    "-x on the command line": (["-x", "FOO=bar"], {}),
    "-x LD_PRELOAD on the command line": (["-x", "LD_PRELOAD"], {}),
    "mca_base_env_list on the command line": (["--mca", "mca_base_env_list", "FOO=bar;HOME"], {}),
    "mca_base_env_list in the environment": ([], {"OMPI_MCA_mca_base_env_list": "FOO=bar;HOME"}),
}
PLAIN = {"nothing else forwarded": ([], {})}
WAYS = {"openmpi": OPENMPI_WAYS, "openmpi5": OPENMPI_WAYS, "mpich": PLAIN, "mpich5": PLAIN}


def run(title, mpi, words, environment, expected):
    done = subprocess.run([VCLUSTER, "run", mpi, str(RANKS_PER_HOST)] + words,
                          env=dict(os.environ, **environment), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    good = all(text in done.stdout for text in expected)
    print(f"{'passed' if good else 'FAILED'}  {mpi}: {title}", flush=True)
    if not good:
        print(f"exit code {done.returncode}, expected {expected} in:\n{done.stdout[-3000:]}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="libhanpmpi.so")
    arguments = parser.parse_args()
    library = os.path.abspath(arguments.library)
    made = subprocess.run([VCLUSTER, "up", str(HOSTS), "none"])
    if made.returncode:
        return made.returncode
    ranks = HOSTS * RANKS_PER_HOST
    everywhere = [f"{ranks} ranks: {ranks} with the library, {ranks} with the settings"]
    jobs = []
    try:
        with tempfile.TemporaryDirectory(prefix="hanpmpi-") as directory, concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            for mpi in mpis.found():
                program = mpis.compile(mpi, "everywhere.c", directory)
                settings = {"LD_PRELOAD": library, "HANPMPI_SEGMENT_BYTES": VALUE}
                for title, (words, environment) in WAYS[mpi].items():
                    jobs.append(pool.submit(run, title, mpi, words + [program, VALUE], {**settings, **environment}, everywhere))
                # A host without the library: the ranks of the others get it from a script, no launcher forwards it.
                # (MPICH 5 calls a message that rank 0 never receives an error at MPI_Finalize; a rank without the library
                # cannot receive it, so with MPICH 5 only a host further back can lack it.)
                for host in (f"vc{HOSTS - 1}", "vc0")[:1 if mpi == "mpich5" else 2]:
                    wrapper = os.path.join(directory, f"{mpi}-{host}.sh")
                    with open(wrapper, "w") as file:
                        file.write(f"#!/bin/sh\n[ \"$(hostname)\" = {host} ] || export LD_PRELOAD={library}\n"
                                   f"export HANPMPI_HANDSHAKE_SECONDS=2\nexec {program} {VALUE}\n")
                    os.chmod(wrapper, 0o755)
                    jobs.append(pool.submit(run, f"{host} without the library", mpi, [wrapper], {},
                                            ["did not answer", f"{ranks} ranks: 0 with the library"]))
    finally:
        subprocess.run([VCLUSTER, "down"])
    return 0 if all(job.result() for job in jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
