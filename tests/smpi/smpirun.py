"""smpirun: runs an MPI program in SimGrid's SMPI, in a directory of its own.

Used by compare.py and check.py. What every run has in common: computation costs nothing (the machine that simulates does not
matter), nor do MPI_Test and MPI_Wtime; messages go at the platform's bandwidth and latency, without SMPI's default factors.
"""
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

OPTIONS = {
    "smpi/simulate-computation": "no", "smpi/host-speed": "1Gf", "smpi/test": "0", "smpi/wtime": "0", "smpi/iprobe": "0",
    "smpi/bw-factor": "0:1", "smpi/lat-factor": "0:1",
}
# Algorithms of SMPI that cost the simulator little at start-up. Its selectors for nodes of several ranks (mpich, mvapich2, impi)
# send a million messages before the first collective of 1,024 ranks, half a minute.
CHEAP = {"smpi/bcast": "binomial_tree", "smpi/reduce": "binomial", "smpi/allreduce": "rdb", "smpi/allgather": "bruck",
         "smpi/barrier": "ompi_bruck"}
SELECTORS = ("ompi", "mpich", "mvapich2", "impi")


def start(program, arguments, stem, ranks, settings=None, options=None, log="root.thresh:critical"):
    """Starts the program on the platform STEM.xml, STEM.hosts. Returns the process; finish() must be called with it."""
    directory = tempfile.mkdtemp(prefix="hanpmpi-smpi-")
    configuration = [f"--cfg={key}:{value}" for key, value in {**OPTIONS, **(options or {})}.items()]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HANPMPI_")}
    environment.update(settings or {}, TMPDIR=directory)
    # smpirun says what failed on its standard output.
    process = subprocess.Popen(
        ["smpirun", "-np", str(ranks), "-platform", str(Path(f"{stem}.xml").resolve()), "-hostfile",
         str(Path(f"{stem}.hosts").resolve()), *configuration, f"--log={log}", str(Path(program).resolve()), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=directory, start_new_session=True)
    process.directory = directory
    return process


def finish(process):
    """Ends what still runs of it, and removes its directory."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    shutil.rmtree(process.directory, ignore_errors=True)


def run(program, arguments, stem, ranks, settings=None, options=None, timeout=600, log="root.thresh:critical"):
    """Returns exit status (None: time is up), standard output, standard error."""
    process = start(program, arguments, stem, ranks, settings, options, log)
    try:
        output, errors = process.communicate(timeout=timeout)
        return process.returncode, output, errors
    except subprocess.TimeoutExpired as late:
        def text(data):
            return data.decode() if isinstance(data, bytes) else data or ""
        return None, text(late.stdout), text(late.stderr)
    finally:
        finish(process)


def algorithms(collective, program, stem):
    """The names of SMPI's algorithms: what it answers to a name that it does not know."""
    words = "Valid algorithms: "
    _, output, errors = run(program, [], stem, 1, options={f"smpi/{collective}": "?"}, timeout=60)
    found = [line for line in (output + errors).splitlines() if words in line]
    if not found:
        raise SystemExit(f"SMPI did not list its algorithms of {collective}; it said:\n{output}{errors}")
    return found[0].split(words)[1].rstrip(".").split(", ")
