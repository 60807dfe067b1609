#!/usr/bin/env python3
"""The fault matrix (README.md): what must happen when something fails, and whether it does, with Open MPI and MPICH.

    matrix.py --library LIB --programs DIR [--all] [--repeat N] [NAME...]

NAME: parts of names of tests, such as alloc or mpich.kill; mpich.kill$ leaves kill_memory out. --all: every N of "the Nth call fails", under
both error handlers; without it a sample. Exit code: 0, or 1 when a test failed.
"""
import argparse
import concurrent.futures
import itertools
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cluster"))
import left_behind  # noqa: E402

RANKS, FAILING_RANK = 3, 1
LIMIT = 60  # seconds that a job which must end may take; a fault alone takes less than one
LEAVES_LIMIT = 20  # the same for one that ends in less than one, as far as seen, and may wait for ever
PATIENCE = 2.5  # seconds after which a job that cannot end is told to
LAUNCHERS = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--bind-to", "none"],
    "mpich": ["mpirun.mpich"],
}
# Every call is taken, on a machine of two nodes.
TAKE_ALL = {"HANPMPI_BCAST": "han", "HANPMPI_REDUCE": "han", "HANPMPI_ALLREDUCE": "han", "HANPMPI_SETUP_CALLS": "1"}
TOPOLOGY = {"HANPMPI_TOPOLOGY": "node:2 core:2"}
# The hierarchical pipeline on shared memory, all ranks on one node, or two of them.
MACHINES = ("node:1 core:4", "node:2 core:2")


def on_memory(module, machine):
    return {"HANPMPI_BCAST": "han", "HANPMPI_REDUCE": "han", "HANPMPI_ALLREDUCE": "han", "HANPMPI_TOPOLOGY": machine,
            "HANPMPI_MODULES": f"package:{module} core:{module}"}


FLAGS = {"HANPMPI_BCAST": "flags", "HANPMPI_REDUCE": "flags", "HANPMPI_ALLREDUCE": "flags", "HANPMPI_TOPOLOGY": MACHINES[0]}
EXIT_WRONG, LATE_SECONDS = 9, 2  # of job.c
CRASHES = {128 + number for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS)} | {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS}
# Of the MPIs: shared memory that they leave themselves when a rank is killed, without the library too.
HOSTS_OWN = re.compile(r"(mpich_shm_|vader_segment|ucx_shm|sm_segment)")


class Failed(Exception):
    pass


class Result:
    def __init__(self, code, out, seconds, hung, fault):
        self.code, self.out, self.seconds, self.hung, self.fault = code, out, seconds, hung, fault
        self.right = re.findall(r"rank \d+: \d+ rounds right, (\d+) taken", out)

    @property
    def outcome(self):
        """right: all ranks had right results; reported: an error ended the job, as MPI says; never anything else."""
        if self.hung:
            return "hangs"
        if self.code == 0:
            return "right" if len(self.right) == RANKS else "ends quietly"
        if "WRONG" in self.out or self.code == EXIT_WRONG and "KILLED" not in self.out.upper() and "BAD TERM" not in self.out:
            return "wrong"
        return "crashes" if self.code in CRASHES else "reported"

    def __str__(self):
        return f"{self.outcome} (exit code {self.code}, {self.seconds:.1f} s, {self.fault or 'no fault'})"


class Bench:
    """Starts jobs and looks after them."""

    def __init__(self, options):
        self.options = options

    def run(self, mpi, job=(), settings=None, faults=None, native=False, limit=LIMIT, told_to_end=False):
        programs = os.path.join(self.options.programs, mpi)
        preload = [] if native else [self.options.library]
        if faults:
            preload.append(os.path.join(programs, "faults.so"))
        if mpi == "mpich":
            preload.append(self.options.yield_object)
        watch = left_behind.Watch(hosts=False)
        log = os.path.join(watch.folder, "fault")
        # Without the network, whose links may come and go with a virtual cluster, UCX's start cannot fail for it.
        of_ranks = {"UCX_TLS": "sm,self", **({} if native else {**TAKE_ALL, **TOPOLOGY}), **(settings or {}), **(faults or {}), "FAULT_LOG": log}
        words = [f"{name}={value}" for name, value in of_ranks.items() if value is not None]
        if preload:
            words.append("LD_PRELOAD=" + ":".join(preload))
        command = [*LAUNCHERS[mpi], "-np", str(RANKS), "env", *words, os.path.join(programs, "job"), *map(str, job)]
        environment = watch.environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        start, hung, out = time.monotonic(), False, os.path.join(watch.folder, "output")
        try:
            with open(out, "w") as file:
                child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                         start_new_session=True)
            try:
                child.wait(limit)
            except subprocess.TimeoutExpired:
                hung = True
                self.end(child, must_end=told_to_end)
            with open(out, errors="replace") as file:
                text = file.read()
            fault = ""
            if os.path.exists(log):
                with open(log) as file:
                    fault = file.read().strip()
                os.unlink(log)
            os.unlink(out)
            result = Result(child.returncode, text, time.monotonic() - start, hung, fault)
            self.nothing_left(watch, result)
            return result
        finally:
            left_behind.programs.end_processes(lambda: left_behind.programs.processes_marked(watch.mark))
            watch.close()

    @staticmethod
    def end(child, must_end):
        """As a batch system ends a job: SIGTERM for the launcher."""
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            if must_end:
                raise Failed("the launcher was told to end, and did not") from None

    @staticmethod
    def nothing_left(watch, result):
        for name in left_behind.listing("/dev/shm") - watch.before["/dev/shm"]:
            if result.outcome != "right" and HOSTS_OWN.match(name):
                os.unlink(os.path.join("/dev/shm", name))
        problems = watch.problems(patience=10)
        if problems:
            raise Failed(f"{result}: left behind: {'; '.join(problems)}")


TESTS = []
AT_ONCE = 5  # their jobs mostly wait: Open MPI's launcher takes a second to end one in which a rank has failed


def test(function):
    TESTS.append(function)
    return function


def expect(result, *outcomes):
    if result.outcome not in outcomes:
        raise Failed(f"{result}, expected {' or '.join(outcomes)}:\n{result.out[-2000:]}")
    if result.outcome == "right" and len(set(result.right)) != 1:
        raise Failed(f"the ranks took different calls: {result.right}")
    return result


MANY, THINNER = 120, 6  # behind so many calls each of the sample is by a sixth further on


def sweep(bench, mpi, kind, stride, *outcomes, settings=None, may_be_none=False):
    """The Nth call fails, for every N or a sample, until there are not that many. The handlers take turns, or both for --all.
    The sample is dense where a communicator is set up; the many calls behind it, of the planning and of the rounds, are alike."""
    seen, nth = {}, 1
    for number in itertools.count():
        handlers = ("return", "fatal") if bench.options.all else (("return", "fatal")[number % 2],)
        for handler in handlers:
            faults = {"FAULT": kind, "FAULT_NTH": nth, "FAULT_RANK": FAILING_RANK}
            result = bench.run(mpi, ["--handler", handler], settings, faults)
            try:
                expect(result, *(outcomes if result.fault else ["right"]))
            except Failed as failed:
                raise Failed(f"{kind} number {nth}, handler {handler}: {failed}") from None
            if result.fault:
                seen[result.outcome] = seen.get(result.outcome, 0) + 1
        if not result.fault:
            break
        nth += 1 if bench.options.all else stride if nth < MANY else max(stride, nth // THINNER)
    if not seen and not may_be_none:
        raise Failed("no call was met")
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(seen.items())) + f", fewer than {nth} calls"


@test
def nothing(bench, mpi):
    """No fault: all is right, and taken."""
    result = expect(bench.run(mpi, faults={"FAULT": "none"}), "right")
    if int(result.right[0]) != 12:
        raise Failed(f"{result.right} of 12 calls were taken")
    expect(bench.run(mpi, native=True), "right")


@test
def alloc(bench, mpi):
    """The Nth allocation fails: all ranks pass through, or the rank reports an MPI error."""
    return sweep(bench, mpi, "alloc", 7, "right", "reported")


@test
def alloc_memory(bench, mpi):
    """The same where the ranks of a node share memory."""
    return "; ".join(sweep(bench, mpi, "alloc", 17, "right", "reported", settings=on_memory(module, MACHINES[0]))
                     for module in ("shm", "single_copy"))


@test
def setup(bench, mpi):
    """The Nth MPI call of setting up a communicator fails: as alloc."""
    return sweep(bench, mpi, "setup", 4, "right", "reported")


@test
def isend(bench, mpi):
    """The Nth MPI_Isend fails: reported."""
    return sweep(bench, mpi, "isend", 28, "reported")


@test
def irecv(bench, mpi):
    """The Nth MPI_Irecv fails: reported."""
    return sweep(bench, mpi, "irecv", 28, "reported", "right")


@test
def pack(bench, mpi):
    """The Nth MPI_Pack of a root fails: reported, and nobody gets what was not packed. Also where ranks read each other's memory."""
    return "; ".join(sweep(bench, mpi, "pack", 1, "reported", settings=settings)
                     for settings in (None, on_memory("shm", MACHINES[0]), on_memory("single_copy", MACHINES[0])))


@test
def mmap(bench, mpi):
    """The Nth mmap fails (there is one at most, by which the library looks into the program's file): no harm."""
    return sweep(bench, mpi, "mmap", 1, "right", may_be_none=True)


@test
def hwloc(bench, mpi):
    """The Nth call of hwloc fails on one rank: of that rank only the node is known; all calls are taken all the same. Ranks ask hwloc
    if they are bound: to one processor, here."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        return sweep(bench, mpi, "hwloc", 5, "right", settings={"HANPMPI_TOPOLOGY": None})
    finally:
        os.sched_setaffinity(0, before)


def as_native(bench, mpi, job, *outcomes, same_code=True, **how):
    """The same happens with the library as without. Of a job that had to be told to end the exit code says nothing."""
    native = expect(bench.run(mpi, job, native=True, **how), *outcomes)
    ours = expect(bench.run(mpi, job, **how), *outcomes)
    if same_code and (ours.outcome, None if ours.hung else ours.code) != (native.outcome, None if native.hung else native.code):
        raise Failed(f"{ours}, without the library {native}")
    return f"{ours}, without the library {native}"


@test
def kill(bench, mpi):
    """A rank is killed in the middle of a collective: the launcher ends the job. (UCX, below MPICH, may abort a rank that was just
    copying from the dead one; the exit code is then another.)"""
    return as_native(bench, mpi, ["--seconds", 30, "--act", "kill", "--rank", FAILING_RANK, "--after", 300], "reported", "crashes",
                     same_code=False, limit=25)


@test
def kill_memory(bench, mpi):
    """The same where the others wait for a flag of the killed one, or copy from it, on one node and on two. Nothing of the memory they
    shared stays behind (it has no name)."""
    told = []
    for settings in [on_memory(module, machine) for module in ("shm", "single_copy") for machine in MACHINES] + [FLAGS]:
        small = ["--bytes", 400] if settings is FLAGS else []
        told.append(as_native(bench, mpi, ["--seconds", 30, "--act", "kill", "--rank", FAILING_RANK, "--after", 300, *small], "reported",
                              "crashes", same_code=False, limit=25, settings=settings))
    return "; ".join(told)


def refusal(bench, mpi, kind, rank, module, said):
    """Without what is refused the next module serves, on all ranks, and rank 0 says so once."""
    faults = {"FAULT": kind, "FAULT_NTH": "all", "FAULT_RANK": rank}
    result = expect(bench.run(mpi, settings=on_memory(module, MACHINES[0]), faults=faults), "right")
    if not result.fault:
        raise Failed(f"no call of {kind} was met")
    if set(result.right) != {"12"}:
        raise Failed(f"{result.right} of 12 calls were taken")
    if result.out.count(said) != 1 or result.out.count("hanpmpi: warning") > 1:
        raise Failed(f"{kind} refused on rank {rank}, and said {result.out.count(said)} times: {said}\n{result.out[-2000:]}")


@test
def refused(bench, mpi):
    """The kernel, or a container, refuses memfd_create, process_vm_readv or process_vm_writev, on all ranks or on one: the next module is taken."""
    for rank in ("all", 0, FAILING_RANK, RANKS - 1):
        refusal(bench, mpi, "read_peer", rank, "single_copy", "the module shm takes the place of single_copy")
    refusal(bench, mpi, "write_peer", FAILING_RANK, "single_copy", "the module shm takes the place of single_copy")
    for rank in ("all", 0):
        refusal(bench, mpi, "memfd", rank, "single_copy", "the module p2p takes the place of shm and single_copy")
        refusal(bench, mpi, "memfd", rank, "shm", "the module p2p takes the place of shm and single_copy")
    faults = {"FAULT": "read_peer", "FAULT_NTH": "all", "FAULT_RANK": "all"}
    asked = {**on_memory("single_copy", MACHINES[0]), "HANPMPI_READ_PEERS": "0"}
    result = expect(bench.run(mpi, settings=asked, faults=faults), "right")  # nobody wanted it: nothing to say
    if "warning" in result.out or result.fault:
        raise Failed(f"something was tried, or said, that was switched off: {result.fault} {result.out}")


@test
def leaves(bench, mpi):
    """A rank leaves without entering the collective, and without MPI_Finalize: the job ends, or hangs, as without the library.
    (MPICH's launcher may take it for a failure or not, from run to run.)"""
    return as_native(bench, mpi, ["--act", "exit", "--rank", FAILING_RANK], "reported", "ends quietly", "hangs",
                     same_code=mpi != "mpich", limit=LEAVES_LIMIT, told_to_end=True)


@test
def absent(bench, mpi):
    """A rank never enters the collective: the others wait, as MPI says; told to end, the job does."""
    return as_native(bench, mpi, ["--act", "absent", "--rank", FAILING_RANK], "hangs", limit=PATIENCE, told_to_end=True)


@test
def late(bench, mpi):
    """A rank enters late."""
    result = expect(bench.run(mpi, ["--act", "late", "--rank", FAILING_RANK]), "right")
    if result.seconds < LATE_SECONDS:
        raise Failed("nobody was late")
    return str(result)


@test
def stop(bench, mpi):
    """A rank is stopped for 5 seconds in the middle of a collective."""
    result = expect(bench.run(mpi, ["--seconds", 1, "--act", "stop", "--rank", FAILING_RANK, "--after", 300]), "right")
    if result.seconds < 5:
        raise Failed("nobody was stopped")
    return str(result)


def run_here(bench, mpi, function):
    """Returns whether it has failed."""
    start = time.monotonic()
    try:
        told, verdict = function(bench, mpi), "passed"
    except Failed as failed:
        told, verdict = failed, "FAILED"
    print(f"{verdict}  {mpi}.{function.__name__} ({time.monotonic() - start:.1f} s){f': {told}' if told else ''}", flush=True)
    return verdict == "FAILED"


def run_apart(options, mpi, function):
    """In a process with memory files of its own (left_behind). Returns whether it has failed."""
    environment = {name: value for name, value in os.environ.items() if name != left_behind.OWN_SHM}
    command = [sys.executable, os.path.realpath(__file__), "--library", options.library, "--programs", options.programs,
               "--yield", options.yield_object or "", "--mpi", mpi, *(["--all"] if options.all else []), f"{mpi}.{function.__name__}$"]
    child = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(child.stdout.rsplit("\n", 2)[0] if child.returncode == 0 else child.stdout, flush=True)  # without its count
    return child.returncode != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="libhanpmpi.so")
    parser.add_argument("--programs", required=True, help="folder with a folder per MPI: job, faults.so")
    parser.add_argument("--yield", dest="yield_object", help="yield.so of tests/mpi")
    parser.add_argument("--mpi", action="append", choices=LAUNCHERS, help="only this one; may be given again")
    parser.add_argument("--all", action="store_true", default=bool(os.environ.get("FAULT_ALL")),
                        help="every N, both error handlers; also by FAULT_ALL=1")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.library = os.path.abspath(options.library)
    left_behind.with_own_memory_files()
    bench, failed = Bench(options), []
    wanted = [(mpi, function) for mpi in options.mpi or LAUNCHERS for function in TESTS
              if not options.names or any(name in f"{mpi}.{function.__name__}$" for name in options.names)]
    for _ in range(options.repeat):
        if options.names:
            failed += [run_here(bench, *one) for one in wanted]
            continue
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            failed += pool.map(lambda one: run_apart(options, *one), reversed(wanted))  # the longest are among the last
    print(f"{sum(failed)} of {len(failed)} failed")
    return 1 if any(failed) or not failed else 0


if __name__ == "__main__":
    sys.exit(main())
