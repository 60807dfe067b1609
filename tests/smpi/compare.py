#!/usr/bin/env python3
"""compare.py: the library's collectives against SimGrid's SMPI, on a simulated machine.

    compare.py --programs build/tests/smpi --results star.json --table star.md

Against SMPI's four selectors (they choose as Open MPI, MPICH, MVAPICH2 and Intel MPI do) and every algorithm that it can be made to
run; with --sides algorithms also each of the library's. Every finished point goes to --results at once; started again with the same file, the command measures only what is missing.
What crashes or takes longer than --timeout is a point, too, and is listed under the table. Times are simulated, the same on every
machine and in every run.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import machine
import smpirun

SHAPES = ("chain", "linear", "binary", "binomial", "knomial4", "knomial8", "postal")
COLLECTIVES = ("bcast", "reduce", "allreduce", "barrier", "allgather", "alltoall", "gather", "scatter", "reduce_scatter_block", "alltoallv", "allgatherv")
OPTIONS = {"reduce_scatter_block": "reduce_scatter"}  # SMPI's option for its algorithm, where it has another name
SIDES = ("library", "algorithms", "selectors", "forced")
LIBRARY = "hanpmpi"
# Where a vector goes through a pipeline, each of the library's algorithms is tried with these.
SEGMENTS = (8192, 65536, 1 << 20)
# Messages of a rank under way in an alltoall, in place of the library's 4 to 16: nothing is lost in a simulated network.
ALL_AT_ONCE = 1024
# Where a simulation takes too long, it is tried again with sends from this size on waiting for their receive: SMPI then has few
# sends to search through. 512 B instead of 64 KiB changed the times of the ompi selector's reduce by 0.4% where both end.
WAITING_BYTES = 512
# What a message takes of the links of the way back, in parts of its bytes (SimGrid's network/crosstraffic: TCP's acknowledgements).
ACKNOWLEDGEMENTS = 0.05
Job = collections.namedtuple("Job", "side collective program settings options")


class Results:
    """The points measured so far: {"conditions": {...}, "points": {"side/collective/bytes": {"us": 1.5} or {"failed": "..."}}}."""

    def __init__(self, path, conditions):
        self.path, self.lock, self.closed = Path(path), threading.Lock(), False
        self.data = {"conditions": conditions, "points": {}}
        if self.path.exists():
            old = json.loads(self.path.read_text())
            if old["conditions"] != conditions:
                different = [key for key in conditions if old["conditions"].get(key) != conditions[key]]
                sys.exit(f"compare.py: {path} was measured under other conditions ({', '.join(different)} differ): name another file with --results")
            self.data = old

    def get(self, side, collective, size):
        return self.data["points"].get(f"{side}/{collective}/{size}")

    def put(self, side, collective, size, point):
        with self.lock:
            if self.closed:
                return
            self.data["points"][f"{side}/{collective}/{size}"] = point
            draft = self.path.with_suffix(".draft")
            draft.write_text(json.dumps(self.data, indent=1, sort_keys=True) + "\n")
            draft.replace(self.path)
        shown = f"{point['us']:.1f} us" if "us" in point else point["failed"]
        print(f"{side:32} {collective:10} {size:>10} B  {shown}", flush=True)


def charges(options, eager):
    """The environment of charge_messages.c. A message that waits for its receive is not copied."""
    return {"CHARGE_BETWEEN": str(options.message_charge), "CHARGE_INSIDE": str(options.inside_charge), "CHARGE_BYTE": str(options.byte_charge),
            "CHARGE_WAITING": str(eager)}


def traffic(options):
    return {"network/crosstraffic": "no"} if options.no_acknowledgements else {}


def sizes_of(collective, wanted):
    return [0] if collective == "barrier" else wanted


def is_library(side):
    return side == LIBRARY or side.startswith(LIBRARY + " ")


def measure(job, sizes, options, stem, ranks, results):
    """One simulation for all sizes that are missing; after a crash another one for the sizes behind it, after too long a time another
    one with sends that wait."""
    missing = [size for size in sizes_of(job.collective, sizes) if not results.get(job.side, job.collective, size)]
    if missing and not is_library(job.side) and is_wrong(job):
        for size in missing:
            results.put(job.side, job.collective, size, {"failed": "wrong result"})
        return

    detail = {}  # of the points to come

    def take(line):
        if line.startswith("{"):
            found = json.loads(line)
            nothing = found["us"] == 0 and "nobody has waited for a message"
            results.put(job.side, job.collective, found["bytes"],
                        {"failed": f"wrong result: {nothing}"} if nothing else {"us": found["us"], "taken": found["taken"], **detail})
            missing.remove(found["bytes"])

    while missing and not results.closed:
        arguments = ["--collective", job.collective, "--bytes", ",".join(str(size or 8) for size in missing), "--fold"]
        eager = WAITING_BYTES if detail else options.eager_bytes
        if options.reduce_bandwidth:
            arguments += ["--reduce-bandwidth", str(options.reduce_bandwidth)]
        status, _, _ = smpirun.run(job.program, arguments, stem, ranks, {**job.settings, **charges(options, eager)},
                                   {**job.options, **traffic(options), "smpi/send-is-detached-thresh": eager}, options.timeout, each_line=take,
                                   preload=[options.programs / f"lib{name}.so" for name in ("fold_memory", "charge_messages")])
        if missing and status is None and not detail:
            detail["waiting"] = True
        elif missing and status is None:
            for size in missing:
                results.put(job.side, job.collective, size, {"failed": f"not done within {options.timeout} s of real time"})
            return
        elif missing:
            results.put(job.side, job.collective, missing.pop(0), {"failed": f"SMPI ends with exit status {status} before it is done"})


def is_wrong(job):
    """Some of SMPI's algorithms are parts of others and do half of the work, and some selectors take those: tried on a small machine, with
    every element checked."""
    small = machine.parse("--nodes", "4", "--ranks-per-node", "4")
    with tempfile.TemporaryDirectory(prefix="hanpmpi-platform-") as directory:
        ranks = machine.write(small, "star", Path(directory) / "star")
        _, output, _ = smpirun.run(job.program, ["--collective", job.collective, "--bytes", "8192,262144", "--validate"],
                                   Path(directory) / "star", ranks, job.settings, job.options, 60)
    return any(json.loads(line)["wrong"] for line in output.splitlines() if line.startswith("{"))


def validate(options, stem, ranks):
    """Every element of every result, without folding."""
    sizes = ",".join(map(str, options.validate_bytes))
    status, output, errors = smpirun.run(options.programs / "simulated", ["--collective", ",".join(options.collectives), "--bytes", sizes,
                                                                          "--validate"],
                                         stem, ranks, library_settings(options, stem), smpirun.CHEAP, options.timeout)
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    if status != 0 or len(lines) != sum(len(sizes_of(collective, options.validate_bytes)) for collective in options.collectives) or any(line["wrong"] for line in lines):
        sys.exit(f"compare.py: validation failed (exit status {status}):\n{output}{errors}")
    print(f"validated: {', '.join(options.collectives)} of {sizes} bytes", flush=True)


def library_settings(options, stem):
    network = {"HANPMPI_NETWORK": f"{stem}.net"} if options.tell_network else {}
    return {"HANPMPI_SETUP_CALLS": "1", **network, **dict(item.split("=", 1) for item in options.setting)}


def option(collective):
    return OPTIONS.get(collective, collective)


def serving(collective, ranks, has_network):
    """The library's algorithms of a collective among so many ranks, {name: was it made for a network}: as hanpmpi_info lists them, a name and
    under it its patterns, with what is to be known of each in brackets."""
    pattern, own_sizes = collective.removesuffix("v").removesuffix("_block"), collective == "alltoallv"
    text = subprocess.run([machine.trees.find_reader(), "--schedules"], capture_output=True, text=True, check=True).stdout
    found = {}
    for name, patterns in re.findall(r"^(\w+): .*\n  (.*)$", text, re.M):
        traits = re.search(rf"(?:^|, ){pattern}(?: \(([^)]*)\))?(?:,|$)", patterns)
        traits = set((traits[1] or "").split(", ")) if traits else None
        if traits is None or ("power of two" in traits and ranks & (ranks - 1)) or ("even" in traits and ranks % 2) or (own_sizes and "direct" not in traits):
            continue
        if collective.endswith("v") and "equal blocks" in traits or "network" in traits and not has_network:
            continue
        if name in SHAPES and collective not in ("bcast", "reduce", "allreduce", "gather", "scatter"):  # no way to join nodes
            continue
        found[name] = "network" in traits
    return found


def algorithm_settings(collective, name):
    """{what it is called: its settings}: of a vector, with each size of a segment."""
    way = {"HANPMPI_BETWEEN_NODES": "tree", "HANPMPI_SHAPES": f"node:{name}"} if name in SHAPES else {"HANPMPI_BETWEEN_NODES": name}
    if collective not in ("bcast", "reduce", "allreduce"):
        flat = {f"HANPMPI_{collective.upper()}": "flat", **way}
        windows = {f"{name} all at once": {**flat, "HANPMPI_MESSAGES": str(ALL_AT_ONCE)}} if name == "pairwise" and "alltoall" in collective else {}
        return {name: flat, **windows}
    return {f"{name} {segment}": {f"HANPMPI_{collective.upper()}": "han", "HANPMPI_SEGMENT_BYTES": str(segment), **way} for segment in SEGMENTS}


def algorithm_jobs(options, stem, ranks, below):
    """Each of the library's algorithms, by force."""
    for collective in options.collectives:
        for name in serving(collective, ranks, options.tell_network) if collective != "barrier" else ():
            for called, settings in algorithm_settings(collective, name).items():
                yield Job(f"{LIBRARY} {called}", collective, options.programs / "simulated",
                          {**library_settings(options, stem), **settings, "HANPMPI_GUARD": "0"}, below)


def jobs(options, stem, ranks):
    """All simulations, the library's and the selectors' first."""
    native = options.programs / "simulated_native"
    below = smpirun.CHEAP if options.below == "cheap" else {"smpi/coll-selector": options.below}
    found = []
    for collective in options.collectives:
        if "library" in options.sides:
            found.append(Job(LIBRARY, collective, options.programs / "simulated", library_settings(options, stem), below))
        if "selectors" in options.sides:
            found += [Job(selector, collective, native, {}, {"smpi/coll-selector": selector}) for selector in smpirun.SELECTORS]
    if "algorithms" in options.sides:
        found += algorithm_jobs(options, stem, ranks, below)
    for collective in options.collectives if "forced" in options.sides else ():
        for name in smpirun.algorithms(option(collective), native, stem):
            if name not in (*smpirun.SELECTORS, "default", "automatic"):
                found.append(Job(f"forced {name}", collective, native, {}, {**smpirun.CHEAP, f"smpi/{option(collective)}": name}))
    return found


def least_bytes(collective, size, ranks, inside, nodes):
    """What a node's link must carry in one direction; and what bus and link of a node, together."""
    others = ranks - inside  # a node's own blocks stay in it
    return {"allreduce": (2 * (nodes - 1) / nodes * size, 2 * inside * (ranks - 1) / ranks * size),
            "allgather": (others * size, inside * (ranks - 1) * size),
            "reduce_scatter_block": (others * size, inside * (ranks - 1) * size),
            "alltoall": (inside * others * size, inside * (ranks - 1) * size),
            "gather": (others * size, (ranks - 1) * size),
            "scatter": (others * size, (ranks - 1) * size),
            "alltoallv": (0, 0), "allgatherv": (0, 0)}.get(collective, (size, inside * size))


def least_over_link(collective, size, here, there, from_root):
    """Bytes that must cross a link, between `here` ranks on the side that they come from and `there` ranks."""
    return {"bcast": size * from_root, "reduce": size * (not from_root), "allreduce": size, "allgather": here * size, "alltoall": here * there * size,
            "reduce_scatter_block": there * size, "gather": here * size * (not from_root), "scatter": there * size * from_root}.get(collective, 0)


def tree_bound(options, collective, size, ranks):
    tree, room = options.tree, machine.slots(options, options.tree)
    root = machine.placed(options, room)[0]
    latency = max(sum(tree.speeds[link][1] for link in tree.path(root, host.name)) for host in tree.hosts)
    loads = {}
    for one, other in tree.speeds:
        behind = tree.hosts_behind(one, other)
        here = sum(room[name] for name in behind)
        loads[one, other] = least_over_link(collective, size, here, ranks - here, root in behind)
    back = 0 if options.no_acknowledgements else ACKNOWLEDGEMENTS
    links = [(loads[link] + back * loads[link[::-1]]) / rate for link, (rate, _) in tree.speeds.items()]
    return 1e6 * max(latency + 2 * options.message_charge, *links)


def bound(options, collective, size, ranks):
    """No algorithm over these links is faster: see header()."""
    if options.tree:
        return tree_bound(options, collective, size, ranks)
    inside = max(machine.slots(options).values())
    if options.nodes > 1:
        latency = 2 * options.latency + 2 * options.message_charge
    else:
        latency = options.copy_latency + 2 * options.inside_charge
    link, bus = least_bytes(collective, size, ranks, inside, options.nodes)
    return 1e6 * max(latency, link / options.bandwidth, bus / (options.bandwidth + options.memory_bandwidth))


def header(options, ranks):
    reductions = f"{options.reduce_bandwidth:g} B/s for both" if options.reduce_bandwidth else "free for both"
    below = "binomial tree, recursive doubling" if options.below == "cheap" else options.below
    network = options.network
    if network == "fat_tree":
        network += f" ({options.leaf} nodes a switch, {options.spines or options.leaf} links up from it)"
    links = f"{options.nodes} nodes, {network}, link {options.bandwidth:g} B/s a direction, latency\n{options.latency:g} s a link"
    least = """the largest of one message between nodes; m bytes over a node's link (allreduce: 2(N-1)/N m; of blocks of b bytes, (p-c) b, alltoall c(p-c) b);
what the c ranks of a node must get over bus and link together (c m; allreduce: 2c(p-1)/p m; of blocks c(p-1) b, gather and scatter (p-1) b); of
alltoallv and allgatherv the first alone"""
    if options.tree:
        order = options.order + (f", seed {options.seed}" if options.order == "random" else "")
        links = (f"{len(options.tree.hosts)} nodes, {Path(network).name}: {len(options.tree.switches)} switches in a tree, ranks laid {order}")
        least = """the largest of the longest path's latency and what must cross each link, between x ranks and y: m bytes; of blocks of b bytes x b,
reduce_scatter_block and scatter y b, alltoall x y b; of alltoallv and allgatherv the first alone"""
        if not options.no_acknowledgements:
            least += f";\nand {ACKNOWLEDGEMENTS:.0%} of what must cross the link the other way"
    way_back = "Messages take nothing of the links of the way back.\n" if options.no_acknowledgements else ""
    return f"""Simulated (SimGrid SMPI): {ranks} ranks on {links}; in a node: bus {options.memory_bandwidth:g} B/s, one message {options.copy_bandwidth:g} B/s, {options.copy_latency:g} s.
Processor time of a message, at each end, everybody's: {options.message_charge:g} s between nodes, {options.inside_charge:g} s inside one, where {LIBRARY} has
messages, too, in place of the memory that its ranks would share. Sends below {options.eager_bytes} B do not wait for their receive; between nodes a byte
of them costs {options.byte_charge:g} s more at each end.
{way_back}Time from a common start to the last rank's return, after one warm-up, us. Reductions: {reductions}. Where a cell of {LIBRARY} has a *, no rule took the call: it is SMPI's ({below}); where one has a +, sends
from {WAITING_BYTES} B up wait: SMPI would not have been done otherwise.
bytes: of a vector; of allgather and those below it, of one block; alltoallv sends blocks between 5% of the pairs, in allgatherv every fourth rank has none.
bound: {least}. fraction: bound / {LIBRARY}. Ratios: how many times as fast {LIBRARY} is.
Settings: {' '.join(options.setting + ["HANPMPI_NETWORK"] * options.tell_network) or 'none'}.
"""


def table(options, results, ranks):
    sides = [LIBRARY, *smpirun.SELECTORS]
    forced, own = (sorted({key.split("/")[0] for key in results.data["points"] if key.startswith(prefix)}) for prefix in ("forced ", LIBRARY + " "))
    more = [f"best of {LIBRARY}'s algorithms"] if own else []
    columns = ["collective", "bytes", *sides, *more, "best forced", "best selector / ours", "best forced / ours", "bound", "fraction"]
    lines = [header(options, ranks), "| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]

    def time(side, collective, size):
        return (results.get(side, collective, size) or {}).get("us", math.inf)

    def mark(side, collective, size):
        return "+" if (results.get(side, collective, size) or {}).get("waiting") else ""

    def shown(value):
        return f"{value:.4g}" if value < 1000 else f"{value:.0f}" if value < math.inf else "-"

    def ratio(time, of):
        return f"{time / of:.2f}" if max(time, of) < math.inf else "-"

    def best(of, collective, size):
        """Time and name."""
        return min([(math.inf, "")] + [(time(side, collective, size), side.split(" ", 1)[1]) for side in of])

    for collective in options.collectives:
        for size in sizes_of(collective, options.bytes):
            ours = time(LIBRARY, collective, size)
            point = results.get(LIBRARY, collective, size) or {}
            selector = min(time(side, collective, size) for side in smpirun.SELECTORS)
            fastest, name = best(forced, collective, size)
            least = bound(options, collective, size, ranks)
            cells = [shown(ours) + ("" if point.get("taken", True) else "*")]
            cells += [shown(time(side, collective, size)) + mark(side, collective, size) for side in smpirun.SELECTORS]
            cells += ["{} {}".format(shown(us), name) for us, name in [best(own, collective, size)] if own]
            cells += [f"{shown(fastest)}{mark('forced ' + name, collective, size)} {name}", ratio(selector, ours), ratio(fastest, ours), shown(least), ratio(least, ours)]
            lines.append(f"| {collective} | {size} | " + " | ".join(cells) + " |")
    failed = collections.defaultdict(list)
    for key, point in results.data["points"].items():
        side, collective, size = key.split("/")
        if "failed" in point and collective in options.collectives:
            failed[f"{collective} {side}: {point['failed']}"].append(int(size))
    lines += ["", *(f"- {what}: {', '.join(map(str, sorted(sizes)))} B" for what, sizes in sorted(failed.items()))]
    return "\n".join(lines) + "\n"


def words(accepted):
    def parse(text):
        items = text.split(",")
        for item in items:
            if item not in accepted:
                raise argparse.ArgumentTypeError(f"'{item}' is not accepted; accepted are {', '.join(accepted)}")
        return items
    return parse


def sizes(text):
    try:
        found = sorted({int(item) for item in text.split(",")})
    except ValueError:
        found = [0]
    if any(size <= 0 or size % 8 for size in found):
        raise argparse.ArgumentTypeError(f"'{text}' is not accepted; accepted are multiples of 8, with commas between")
    return found


def setting(text):
    if not text.startswith("HANPMPI_") or "=" not in text:
        raise argparse.ArgumentTypeError(f"'{text}' is not accepted; accepted are HANPMPI_NAME=value")
    return text


def read_options():
    parser = argparse.ArgumentParser(description="The library against SMPI's selectors and algorithms, simulated.")
    parser.add_argument("--programs", type=Path, required=True, help="folder of the programs simulated and simulated_native")
    parser.add_argument("--results", required=True, metavar="JSON", help="points measured so far; the run goes on from there")
    parser.add_argument("--table", metavar="MARKDOWN", help="file for the table (standard output)")
    parser.add_argument("--network", type=machine.network_name, default="star",
                        help=f"{', '.join((*machine.NETWORKS, *machine.TREES))} or a network file (%(default)s)")
    parser.add_argument("--collectives", type=words(COLLECTIVES), default=list(COLLECTIVES), help=f"of {', '.join(COLLECTIVES)} (all)")
    parser.add_argument("--bytes", type=sizes, default="8,64,512,4096,32768,65536,262144,1048576,4194304,16777216", help="(%(default)s)")
    parser.add_argument("--setting", type=setting, action="append", default=[], metavar="HANPMPI_NAME=VALUE", help="for the library; repeatable")
    parser.add_argument("--tell-network", action="store_true", help="HANPMPI_NETWORK describes the tree to the library")
    parser.add_argument("--no-acknowledgements", action="store_true", help="messages take nothing of the links of the way back; else 5%% of their bytes, "
                        "and a long way back that a short message fills makes a message slow")
    parser.add_argument("--below", choices=["cheap", *smpirun.SELECTORS], default="cheap", help="what of SMPI runs the calls that no rule takes; cheap: "
                        "binomial trees, recursive doubling (%(default)s)")
    parser.add_argument("--eager-bytes", type=int, default=8192, help="sends below do not wait for their receive (%(default)s; SMPI, whose own "
                        "default is 65536, takes days with that)")
    parser.add_argument("--message-charge", type=float, default=3e-7, metavar="SECONDS", help="processor time of a message between nodes, at each end "
                        "(%(default)g; TCP: 1.5e-6)")
    parser.add_argument("--inside-charge", type=float, default=3e-7, metavar="SECONDS", help="the same inside a node (%(default)g)")
    parser.add_argument("--byte-charge", type=float, default=1e-10, metavar="SECONDS", help="of a byte between nodes whose send does not wait: it is "
                        "copied (%(default)g)")
    parser.add_argument("--reduce-bandwidth", type=float, default=0, metavar="BYTES/S", help="charge reductions, everybody's (0: free)")
    parser.add_argument("--sides", type=words(SIDES), default=["library", "selectors", "forced"], help="what to measure, of %s (all but algorithms)" % ", ".join(SIDES))
    parser.add_argument("--validate-bytes", type=sizes, default="8,65536", help="sizes whose results are checked first (%(default)s)")
    parser.add_argument("--no-validate", action="store_true")
    parser.add_argument("--processes", type=int, default=2, help="simulations at a time (%(default)s)")
    parser.add_argument("--timeout", type=int, default=900, metavar="SECONDS", help="of one simulation, real time (%(default)s)")
    parser.add_argument("--table-only", action="store_true", help="measure nothing")
    machine.add_options(parser)
    return parser.parse_args()


def main():
    options = read_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("compare.py: ended; the same command goes on from here"))
    os.nice(10)
    names = ("network", "nodes", "ranks", "bandwidth", "latency", "memory_bandwidth", "copy_bandwidth", "copy_latency", "leaf", "routers",
             "eager_bytes", "message_charge", "inside_charge", "byte_charge", "reduce_bandwidth", "setting", "below")
    names += tuple(name for name in ("spines", "order", "seed", "tell_network", "no_acknowledgements") if getattr(options, name) != machine.parse().__dict__.get(name, False))
    conditions = {name: getattr(options, name) for name in names}
    try:
        options.tree = machine.tree_of(options, options.network)
    except machine.trees.Trouble as trouble:
        sys.exit(f"compare.py: {trouble}")
    if options.tell_network and not options.tree:
        sys.exit("compare.py: --tell-network: accepted with a tree of switches, --network tree_... or a file")
    if options.tree:
        conditions.update(network=Path(options.network).name, tree=options.tree.text())
    results = Results(options.results, conditions)
    with tempfile.TemporaryDirectory(prefix="hanpmpi-platform-") as directory:
        stem = Path(directory) / "machine"
        ranks = machine.write(options, options.network, stem)
        if not options.table_only:
            if "library" in options.sides and not options.no_validate:
                validate(options, stem, ranks)
            with concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
                running = [pool.submit(measure, job, options.bytes, options, stem, ranks, results) for job in jobs(options, stem, ranks)]
                try:
                    for job in concurrent.futures.as_completed(running):
                        job.result()
                except BaseException:  # also Ctrl-C: what is not measured now is measured by the next run
                    results.closed = True
                    pool.shutdown(wait=False, cancel_futures=True)
                    smpirun.end_all()
                    raise
    text = table(options, results, ranks)
    if options.table:
        Path(options.table).write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
