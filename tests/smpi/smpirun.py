"""smpirun: runs an MPI program in SimGrid's SMPI, in a directory of its own.

Used by compare.py and check.py. What every run has in common: computation costs nothing (the machine that simulates does not
matter), nor do MPI_Test and MPI_Wtime; messages go at the platform's bandwidth and latency, without SMPI's default factors.
"""
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

OPTIONS = {
    "smpi/simulate-computation": "no", "smpi/host-speed": "1Gf", "smpi/test": "0", "smpi/wtime": "0", "smpi/iprobe": "0",
    "smpi/bw-factor": "0:1", "smpi/lat-factor": "0:1",
}
# Algorithms of SMPI that cost the simulator little at start-up. Its selectors for nodes of several ranks (mpich, mvapich2, impi)
# send a million messages before the first collective of 1,024 ranks, half a minute. And every send waits for its receive: SMPI
# walks through all sends that do not, for each one that completes.
CHEAP = {"smpi/bcast": "binomial_tree", "smpi/reduce": "binomial", "smpi/allreduce": "rdb", "smpi/allgather": "bruck",
         "smpi/barrier": "ompi_bruck", "smpi/send-is-detached-thresh": "0"}
running = set()  # processes, for end_all
SELECTORS = ("ompi", "mpich", "mvapich2", "impi")


def start(program, arguments, stem, ranks, settings=None, options=None, log="root.thresh:critical", preload=None):
    """Starts the program on the platform STEM.xml, STEM.hosts, with the libraries of preload. Returns the process; finish() must be called
    with it."""
    directory = tempfile.mkdtemp(prefix="hanpmpi-smpi-")
    configuration = [f"--cfg={key}:{value}" for key, value in {**OPTIONS, **(options or {})}.items()]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HANPMPI_")}
    environment.update(settings or {}, TMPDIR=directory)
    wrapper = ["-wrapper", "env LD_PRELOAD=" + ":".join(str(Path(library).resolve()) for library in preload)] if preload else []
    errors = tempfile.TemporaryFile("w+", dir=directory)
    process = subprocess.Popen(
        ["smpirun", *wrapper, "-np", str(ranks), "-platform", str(Path(f"{stem}.xml").resolve()), "-hostfile",
         str(Path(f"{stem}.hosts").resolve()), *configuration, f"--log={log}", str(Path(program).resolve()), *arguments],
        stdout=subprocess.PIPE, stderr=errors, text=True, env=environment, cwd=directory, start_new_session=True)
    process.directory, process.errors = directory, errors
    running.add(process)
    return process


def kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_all():
    """For a command that is interrupted: every run() in another thread returns, with a status of a killed process."""
    for process in list(running):
        kill(process)


def finish(process):
    """Ends what still runs of it, and removes its directory."""
    kill(process)
    process.wait()
    running.discard(process)
    process.stdout.close()
    process.errors.close()
    shutil.rmtree(process.directory, ignore_errors=True)


def run(program, arguments, stem, ranks, settings=None, options=None, timeout=600, log="root.thresh:critical", preload=None, each_line=None):
    """Returns exit status (None: time is up), standard output, standard error. each_line is handed each line of standard output
    as it comes."""
    process = start(program, arguments, stem, ranks, settings, options, log, preload)
    late = threading.Event()

    def give_up():
        late.set()
        kill(process)

    timer = threading.Timer(timeout, give_up)
    timer.start()
    try:
        output = []
        for line in process.stdout:
            output.append(line)
            if each_line:
                each_line(line)
        status = process.wait()
        process.errors.seek(0)
        return None if late.is_set() else status, "".join(output), process.errors.read()
    finally:
        timer.cancel()
        finish(process)


def algorithms(collective, program, stem):
    """The names of SMPI's algorithms: what it answers to a name that it does not know."""
    words = "Valid algorithms: "
    _, output, errors = run(program, [], stem, 1, options={f"smpi/{collective}": "?"}, timeout=60)
    found = [line for line in (output + errors).splitlines() if words in line]
    if not found:
        raise SystemExit(f"SMPI did not list its algorithms of {collective}; it said:\n{output}{errors}")
    return found[0].split(words)[1].rstrip(".").split(", ")
