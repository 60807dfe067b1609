"""The steps of `reproduce`: each runs some programs and leaves JSON files in the output folder.

A step is a function with a one-line description; STEPS names them in their order. Steps know how to measure, results_text and
results_pictures how to show."""
import json
import os
import shlex
import shutil
import subprocess
import sys

import results_examples

VCLUSTER = "tests/cluster/vcluster"
COLLECTIVES = ["bcast", "reduce", "allreduce"]
BLOCKS = ["allgather", "alltoall", "reduce_scatter_block", "gather", "scatter", "alltoallv", "scan"]
# What Open MPI 4.1's coll/tuned can be told to use, besides its own choice (0): ompi_info --param coll tuned --level 9.
OPENMPI_ALGORITHMS = {"bcast": range(1, 10), "reduce": range(1, 8), "allreduce": range(1, 7)}


# What is shown is what the rules say, whatever the guard would make of it; the step never_slower is for that.
RULES_ALONE = {"HANPMPI_GUARD": "0", "HANPMPI_CACHE": "off"}


class Skipped(Exception):
    """This machine cannot do the step; the text says why."""


class Failed(Exception):
    """A program of the step failed; the text says which."""


class Run:
    """One step in execution: where things are, how long it may take, and how to start programs."""

    def __init__(self, arguments):
        self.build, self.output, self.full = arguments.build, arguments.output, arguments.full
        self.library = os.path.abspath(os.path.join(self.build, "lib", "libhanpmpi.so"))

    def bench(self, mpi):
        path = os.path.abspath(os.path.join(self.build, "bin", f"hanpmpi_bench.{mpi}"))
        if not os.path.exists(path):
            raise Skipped(f"{path} is not built: needs the mpicc of {mpi} and libjansson-dev")
        return path

    def json(self, name):
        return os.path.abspath(os.path.join(self.output, name + ".json"))

    def command(self, command, environment=None, timeout=3600):
        """Runs it; its own output stays on the terminal."""
        shown = " ".join(f"{key}={shlex.quote(value)}" for key, value in (environment or {}).items())
        print(f"    {shown} {shlex.join(command)}".replace(os.getcwd() + "/", ""), file=sys.stderr, flush=True)
        try:
            done = subprocess.run(command, env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                                **RULES_ALONE, **(environment or {})}, stdout=sys.stderr, timeout=timeout)
        except subprocess.TimeoutExpired as problem:
            raise Failed(f"{command[0]} took more than {timeout} s") from problem
        if done.returncode == 77:
            raise Skipped(f"{command[0]} cannot run here")
        if done.returncode:
            raise Failed(f"{shlex.join(command[:4])} ... ended with {done.returncode}")

    def simulated(self, name, *options):
        """The library against SMPI's selectors (and forced algorithms) on a simulated machine: a JSON file and its table."""
        programs = os.path.join(self.build, "tests", "smpi")
        if not os.path.exists(os.path.join(programs, "simulated")):
            raise Skipped("the simulator is missing: apt-get install libsimgrid-dev, and build again")
        path = self.json(name)
        self.command([sys.executable, "tests/smpi/compare.py", "--programs", programs, "--results", path, "--table", path[:-4] + "md",
                      *options], timeout=24 * 3600)

    def on_cluster(self, mpi, program, hosts="4", ranks="4", library=True, launcher_options=(), environment=None):
        """A program and its arguments on virtual hosts with 1 Gbit/s links; ranks: of each host, a number or a list."""
        if subprocess.run([VCLUSTER, "check"], stdout=subprocess.DEVNULL).returncode:
            raise Skipped("no virtual cluster here: it needs root and iproute2")
        preload = ["env", "LD_PRELOAD=" + self.library] if library else []
        self.command([VCLUSTER, "with", hosts, "1gbit", "--wait", "600", "--", *preload, VCLUSTER, "run", mpi, ranks,
                      *launcher_options, *program], environment)


def launcher(mpi, ranks):
    name = f"mpirun.{mpi}"
    if not shutil.which(name):
        raise Skipped(f"{name} is not installed")
    yielding = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"] if mpi == "openmpi" else []
    return [name, *yielding, "-np", str(ranks)]


STEPS = {}


def step(function):
    STEPS[function.__name__] = function
    return function


@step
def node(run):
    """Two ranks on one node."""
    for mpi in ("openmpi", "mpich"):
        sizes = ["--bytes", "8:16M", "--factor", "2" if run.full else "8", "--seconds", "1" if run.full else "0.3"]
        run.command([*launcher(mpi, 2), run.bench(mpi), *sizes, "--json", run.json(f"node_{mpi}")], {"LD_PRELOAD": run.library})


@step
def cluster(run):
    """16 ranks on 4 virtual hosts: the library against the host MPI, and their lower bound."""
    sizes = ["--bytes", "8:16M" if run.full else "16:4M", "--factor", "2" if run.full else "4", "--seconds", "2" if run.full else "0.7"]
    run.on_cluster("openmpi", [run.bench("openmpi"), *sizes, "--json", run.json("cluster_openmpi")])
    large = ["--bytes", "64K:4M", "--factor", "4", "--seconds", "1"]
    patterns = ["--arrival", "none,ascending,late,random", "--skew", "0.5,1"] if run.full else ["--arrival", "none,late", "--skew", "1"]
    run.on_cluster("openmpi", [run.bench("openmpi"), "--bytes", "4M", "--seconds", "1", *patterns, "--json", run.json("arrival_openmpi")])
    if not run.full:
        return
    run.on_cluster("openmpi", [run.bench("openmpi"), *large, "--buffers", "cold", "--json", run.json("cold_openmpi")])
    for mpi, bench in (("openmpi5", "openmpi"), ("mpich5", "mpiabi")):
        run.on_cluster(mpi, [run.bench(bench), *large, "--json", run.json(f"cluster_{mpi}")])
    for hosts, ranks in (("8", "2"), ("2", "8"), ("4", "5,3,1,7")):
        run.on_cluster("openmpi", [run.bench("openmpi"), *large, "--json", run.json(f"layout_{hosts}_hosts_{ranks.replace(',', '_')}")],
                       hosts, ranks)


@step
def forced(run):
    """The host MPI at its best: every algorithm that Open MPI can be told to use, at 1 and 4 MiB (--full)."""
    if not run.full:
        raise Skipped("22 algorithms take 10 minutes; --full runs them")
    for collective in COLLECTIVES:
        rows = {}
        for algorithm in OPENMPI_ALGORITHMS[collective]:
            options = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", f"coll_tuned_{collective}_algorithm", str(algorithm)]
            path = run.json("forced_one")
            run.on_cluster("openmpi", [run.bench("openmpi"), "--collective", collective, "--bytes", "1M,4M", "--repeat", "10",
                                       "--json", path], library=False, launcher_options=options)
            with open(path) as file:
                document = json.load(file)
            os.remove(path)
            rows[str(algorithm)] = {str(row["bytes"]): row["host"]["t_max_us"]["median"] for row in document["rows"]}
        with open(run.json(f"forced_{collective}"), "w") as file:
            json.dump({"mpi": document["mpi"], "collective": collective, "algorithms": rows}, file, indent=1)


def pinned(hosts):
    """Before a program of one rank a host, where there are as many cores: a core each."""
    return ["sh", "-c", 'exec taskset -c "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" "$0" "$@"'] if int(hosts) <= os.cpu_count() else []


# Who makes the messages go on while the ranks compute: the MPI calls they make, or a thread of the library's.
OVERLAP_PROGRESS = {"calls": {}, "thread": {"HANPMPI_PROGRESS": "thread"}}


@step
def overlap(run):
    """Non-blocking collectives with a computation meanwhile, one rank a host (--full: the MPI alone too, more repetitions)."""
    options = ["--overlap", "--collective", "bcast,allreduce", "--bytes", "1M,4M", "--tests", "0,20", "--warmup", "3",
               "--repeat", "30" if run.full else "15"]
    for hosts in ("2", "4"):
        program = [*pinned(hosts), run.bench("openmpi"), *options]
        for progress, environment in OVERLAP_PROGRESS.items():
            run.on_cluster("openmpi", [*program, "--json", run.json(f"nonblocking_{hosts}_hosts_{progress}")], hosts, "1", environment=environment)
        if run.full: # nothing of the library in the process, which might help the host MPI's calls
            run.on_cluster("openmpi", [*program, "--json", run.json(f"nonblocking_{hosts}_hosts_alone")], hosts, "1", library=False)


@step
def persistent(run):
    """Persistent collectives, one rank a host: an MPI that has them."""
    options = ["--overlap", "--persistent", "--collective", "bcast,allreduce", "--bytes", "16K,128K,1M,4M", "--tests", "20", "--warmup", "3",
               "--repeat", "30" if run.full else "15"]
    for hosts in ("2", "4"):
        program = [*pinned(hosts), run.bench("mpiabi"), *options]
        run.on_cluster("mpich5", [*program, "--json", run.json(f"persistent_{hosts}_hosts")], hosts, "1")


@step
def noise(run):
    """Slow-down under noise on the virtual cluster."""
    run.command(["/usr/bin/python3", "tests/noise/study.py", "--build", run.build, "--output", run.output,
                 *(["--blocks", "12", "--block-seconds", "3"] if run.full else ["--blocks", "6", "--block-seconds", "0.8"])])


# Simulated machines: nodes (and ranks of each), sizes, what one simulation may take in seconds of real time.
SIMULATED = {8: ("8,64,512,4096,24576,32768,65536,262144,1048576,4194304,16777216", 150),
             16: ("8,64,512,4096,24576,32768,65536,262144,1048576,4194304,16777216", 1200),
             32: ("8,64,512,4096,24576,32768,65536,262144,1048576,4194304,16777216", 3600)}


@step
def simulated(run):
    """Simulated machines: the library against SMPI's selectors, messages that cost little processor time and as much as TCP's."""
    for nodes, (sizes, seconds) in SIMULATED.items() if run.full else [(8, SIMULATED[8])]:
        for kind, charge in (("", "3e-7"), ("_tcp", "1.5e-6")):
            run.simulated(f"simulated_{nodes}x{nodes}{kind}", "--nodes", str(nodes), "--ranks-per-node", str(nodes), "--bytes", sizes, "--message-charge",
                          charge, "--collectives", "bcast,reduce,allreduce,barrier", "--sides", "library,selectors", "--timeout", str(seconds))


# The same for collectives of blocks: sizes of one, whom to measure.
SIMULATED_BLOCKS = {8: ("8,64,512,4096,32768,262144", "library"), 16: ("8,64,512,4096,32768,262144", "library"), 32: ("8,1024,8192", "library,selectors")}


@step
def blocks(run):
    """Collectives of blocks, simulated: what the model's predictions are compared with (tests/unit/test_model_blocks.c)."""
    for nodes, (sizes, sides) in SIMULATED_BLOCKS.items() if run.full else [(8, SIMULATED_BLOCKS[8])]:
        run.simulated(f"blocks_{nodes}x{nodes}", "--nodes", str(nodes), "--ranks-per-node", str(nodes), "--bytes", sizes, "--sides", sides,
                      "--validate-bytes", "8", "--collectives", "allgather,alltoall,gather,scatter,reduce_scatter_block")


@step
def scaling(run):
    """Time against the number of ranks, simulated: 16 a node, 1 MiB."""
    for nodes in (4, 8, 16, 32, 64, 128) if run.full else (4, 8, 16):
        run.simulated(f"scaling_{nodes}", "--nodes", str(nodes), "--ranks-per-node", "16", "--bytes", "1048576", "--sides",
                      "library,selectors", "--validate-bytes", "8", "--collectives", "bcast,reduce,allreduce")


@step
def noise_simulated(run):
    """Slow-down under noise in simulation: 16 ranks, with --full also 1,024."""
    study = ["/usr/bin/python3", "tests/noise/study.py", "--simulated", "--build", run.build, "--output"]
    run.command([*study, run.output, "--nodes", "4", "--ranks-per-node", "4"])
    if run.full:
        run.command([*study, os.path.join(run.output, "1024_ranks"), "--bytes", "1M", "--delayed", "37,32"], timeout=24 * 3600)


def spread(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def tuning_summary(document):
    """What RESULTS.md shows of a tune.json, which is large."""
    measured = {(row["collective"], row["bytes"], row["configuration"]): row["us"] for row in document["measured"]}
    summary = {key: document[key] for key in ("date", "mpi", "machine", "layout", "searches")}
    summary["collectives"] = {}
    for collective in dict.fromkeys(row["collective"] for row in document["choices"]):
        errors = {model: spread([abs(row["us"] / measured[key] - 1) for row in document["predicted"] if row["model"] == model
                                 and row["collective"] == collective and (key := (collective, row["bytes"], row["configuration"])) in measured])
                  for model in ("lockstep", "events")}
        sizes = []
        for size in sorted({row["bytes"] for row in document["choices"] if row["collective"] == collective}):
            times = [us for (which, bytes_, _), us in measured.items() if (which, bytes_) == (collective, size)]
            sizes.append({"bytes": size, "best_us": min(times), "median_us": spread(times), "mean_us": sum(times) / len(times),
                          "choices": {row["search"]: {"configuration": row["configuration"], "off": row["us"] / row["best_us"] - 1}
                                      for row in document["choices"] if row["collective"] == collective and row["bytes"] == size and "best_us" in row}})
        summary["collectives"][collective] = {"median_error": errors, "sizes": sizes}
    return summary


@step
def tuning(run):
    """The tuner's four searches on the virtual cluster, and how good its predictions are (--full)."""
    if not run.full:
        raise Skipped("it takes 10 minutes; --full runs it")
    folder = os.path.abspath(os.path.join(run.build, "tuning_results"))
    os.makedirs(folder, exist_ok=True)
    run.on_cluster("openmpi", [os.path.abspath(os.path.join(run.build, "bin", "hanpmpi_tune.openmpi")), "-c", "bcast,allreduce", "--compare", "--restart",
                               "--segments", "4K,16K,64K,256K", "-o", os.path.join(folder, "rules.json")])
    run.command([sys.executable, "-m", "hanpmpi_report", os.path.join(folder, "tune.json"), "--output", folder],
                {"PYTHONPATH": os.path.abspath("tuning/report")})
    for name in os.listdir(folder):
        if name.startswith("tune_") and name.endswith(".svg"):
            shutil.copy(os.path.join(folder, name), run.output)
    with open(os.path.join(folder, "tune.json")) as file:
        summary = tuning_summary(json.load(file))
    with open(run.json("tuning"), "w") as file:
        json.dump(summary, file, indent=1)


# Nothing is set: no rules, no probes from before. 20 calls come first, which is what the guard takes to settle, and some.
GUARD_LAYOUTS = {"4 hosts x 4": ("4", "4"), "8 hosts x 2": ("8", "2"), "one node x 2": (None, "2"), "one node x 4": (None, "4"), "one node x 16": (None, "16")}
GUARD_CORES = {"one node x 16": 16}  # with fewer it is not measured
GUARD_MPIS = {"openmpi": "openmpi", "openmpi5": "openmpi", "mpich": "mpich"}
GUARD_LEAST = 0.95


def one_node_launcher(mpi, ranks):
    if mpi != "openmpi5":
        return launcher(mpi, ranks), {}
    prefix = os.path.abspath(".venv/openmpi")
    if not os.path.exists(os.path.join(prefix, "bin", "mpirun")):
        raise Skipped("Open MPI 5 is missing: scripts/setup all")
    return [os.path.join(prefix, "bin", "mpirun"), *launcher("openmpi", ranks)[1:]], {"LD_LIBRARY_PATH": os.path.join(prefix, "lib")}


def guard_bench(run, layout, mpi, options):
    """hanpmpi_bench there; the rows of its JSON."""
    hosts, ranks = GUARD_LAYOUTS[layout]
    path = run.json("never_slower_one")
    program = [run.bench(GUARD_MPIS[mpi]), "--datatype", "MPI_INT", "--warmup", "20", "--json", path, *options]
    if hosts:
        run.on_cluster(mpi, program, hosts, ranks, environment={"HANPMPI_GUARD": "1"})
    else:
        command, environment = one_node_launcher(mpi, ranks)
        run.command([*command, *program], {"LD_PRELOAD": run.library, "HANPMPI_GUARD": "1", **environment})
    with open(path) as file:
        document = json.load(file)
    os.remove(path)
    return document


def guard_rows(document):
    return [{"collective": row["collective"], "bytes": row["bytes"], "ratio": row["ratio"], "taken": row["taken"],
             "mean_ratio": row["host"]["t_avg_us"]["median"] / row["library"]["t_avg_us"]["median"],
             "host_us": row["host"]["t_max_us"]["median"], "library_us": row["library"]["t_max_us"]["median"]} for row in document["rows"]]


def never_slower_on(run, layout, mpi, kind, options):
    """One machine and MPI; of the collectives with blocks the sizes are a block's."""
    name = f"never_slower_{kind}{layout.replace(' ', '_')}_{mpi}"
    if os.path.exists(run.json(name)) and run.full:  # a night may be cut short; remove what is to be measured again
        return
    document = guard_bench(run, layout, mpi, options)
    rows = guard_rows(document)
    # A ratio of two medians moves by some per cent from run to run: what looks slower is measured again, four times as long.
    for row in rows:
        if row["ratio"] < GUARD_LEAST:
            options_again = ["--collective", row["collective"], "--bytes", str(max(row["bytes"], 4)), "--seconds", "2"]
            again = guard_rows(guard_bench(run, layout, mpi, options_again))[0]
            row.update(again=again["ratio"], mean_ratio_again=again["mean_ratio"], taken_again=again["taken"])
    with open(run.json(name), "w") as file:
        json.dump({"layout": layout, "mpi": document["mpi"], "ended": document["ended"], "machine": document["machine"], "rows": rows}, file, indent=1)


@step
def never_slower(run):
    """Nothing set, after the guard has settled: every collective and size against the host MPI (--full: more machines)."""
    layouts = list(GUARD_LAYOUTS) if run.full else ["one node x 2"]
    for layout in layouts:
        if os.cpu_count() < GUARD_CORES.get(layout, 1):
            continue
        for mpi in GUARD_MPIS if run.full else ["openmpi"]:
            # MPICH's waiting ranks take the cores of the others: 16 of them on 2 cores need seconds for a call of a megabyte.
            is_slow = mpi == "mpich" and "one node" not in layout
            factor = ["--factor", "8" if run.full else "64", "--seconds", "0.4"]
            never_slower_on(run, layout, mpi, "", ["--bytes", "4:16K" if is_slow else "4:16M", *factor])
            never_slower_on(run, layout, mpi, "blocks_", ["--collective", ",".join(BLOCKS), "--bytes", "8:512" if is_slow else "8:32K", *factor])


@step
def examples(run):
    """The programs of examples/: blocking and non-blocking, the library and the host MPI, in turns."""
    folder = os.path.abspath(os.path.join(run.build, "examples", "openmpi"))
    if not os.path.exists(os.path.join(folder, "kmeans")):
        raise Skipped(f"{folder} has no programs: needs mpicc.openmpi")
    if subprocess.run([VCLUSTER, "check"], stdout=subprocess.DEVNULL).returncode:
        raise Skipped("no virtual cluster here: it needs root and iproute2")
    try:
        results_examples.measure(run.library, folder, run.json(results_examples.NAME), 15 if run.full else 4)
    except (results_examples.Wrong, subprocess.TimeoutExpired) as problem:
        raise Failed(str(problem)) from problem


# Where and on what the table of applications is measured: hosts (0: one node), ranks, and how often each program runs.
APPLICATIONS = {"4_hosts_x_4_openmpi": ("openmpi", 4, 16, 5), "4_hosts_x_4_openmpi5": ("openmpi5", 4, 16, 5),
                "one_node_x_2_openmpi": ("openmpi", 0, 2, 5), "one_node_x_2_openmpi5": ("openmpi5", 0, 2, 5)}


@step
def applications(run):
    """Real programs without the library and with it, a first run and one that knows what that has found (--full: more machines)."""
    for name, (mpi, hosts, ranks, repeat) in list(APPLICATIONS.items())[:None if run.full else 1]:
        where = ["--cluster", str(hosts)] if hosts else []
        run.command([sys.executable, "tests/programs/real_programs.py", "--library", run.library, "--side", "applications", "--mpi", mpi, *where, "--ranks", str(ranks),
                     "--repeat", str(repeat if run.full else 3), "--json", run.json(f"applications_{name}"), *(["--resume"] if run.full else []), "all"],
                    {"HANPMPI_GUARD": "1"})
