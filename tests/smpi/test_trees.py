#!/usr/bin/env python3
"""test_trees.py --programs BUILD --networks FOLDER: simulated trees of switches: their shapes, mappings, files, bounds, and that a link carries what
its file says."""
import argparse
import collections
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import compare
import machine
import smpirun
import trees

BYTES = 8_000_000


def want(condition, text):
    if not condition:
        sys.exit(f"test_trees.py: {text}")


def shapes(options, directory):
    """Every kind is a tree with all hosts, and the same as a file."""
    for kind in trees.KINDS:
        made = trees.make(kind, 10, 4, [2, 1], 1e9, 5e8, 1e-6)
        want(len(made.parent) == len(made.switches) + 10, f"{kind}: not all are connected")
        want(len(made.links) == len(made.switches) - 1, f"{kind}: no tree")
        file = directory / f"{kind}.net"
        file.write_text(made.text())
        read = trees.read(file)
        want(sorted(read.hosts) == sorted(made.hosts) and read.speeds.keys() == made.speeds.keys(), f"{kind}: the file says otherwise:\n{made.text()}")
        for link, (rate, latency) in made.speeds.items():
            want(math.isclose(read.speeds[link][0], rate) and math.isclose(read.speeds[link][1], latency), f"{kind}: {link}: {read.speeds[link]}")
    sizes = collections.Counter(host.switch for host in trees.make("uneven", 10, 4, [1], 1, 1, 1).hosts)
    want(sorted(sizes.values()) == [1, 2, 3, 4], f"uneven: {sizes}")
    chain = trees.make("chain", 8, 4, [1], 1, 1, 1)
    want(chain.path("node-0", "node-7") == [("node-0", "s0"), ("s0", "s1"), ("s1", "s2"), ("s2", "s3"), ("s3", "node-7")], "the chain's path")
    want(chain.hosts_behind("s1", "s2") == {"node-0", "node-1", "node-2", "node-3"}, "who is behind s1 - s2")
    want(chain.hosts_behind("s2", "s1") == {"node-4", "node-5", "node-6", "node-7"}, "who is behind s2 - s1")


def mappings(options, directory):
    def hosts(*more):
        parsed = machine.parse("--nodes", "4", "--leaf", "2", "--ranks-per-node", "2,1", *more)
        want(machine.write(parsed, "tree_chain", directory / "map") == 6, "six ranks")
        return (directory / "map.hosts").read_text().split()

    want(hosts() == ["node-0:2", "node-1:1", "node-2:2", "node-3:1"], f"block: {hosts()}")
    want(hosts("--order", "round_robin") == ["node-0:1", "node-1:1", "node-2:1", "node-3:1", "node-0:1", "node-2:1"], "round robin")
    shuffled = [hosts("--order", "random", "--seed", str(seed)) for seed in (1, 1, 2)]
    want(shuffled[0] == shuffled[1] != shuffled[2], f"the seed makes no difference, or not the same one: {shuffled}")
    want(sum(int(line.split(":")[1]) for line in shuffled[0]) == 6, "ranks got lost")


def bandwidths(options, directory):
    """Rates such that each link and direction, but for one fast host on each switch, is the slowest of some pair's path; each pair runs at that."""
    net = directory / "rates.net"
    net.write_text("links 1gbit 1us\nhosts a0 on s0 2gbit; hosts a1 on s0 800mbit/900mbit; hosts b0 on s1 2gbit; hosts b1 on s1 700mbit/650mbit\n"
                   "hosts c0 on s2 2gbit; hosts c1 on s2 850mbit/750mbit; hosts d0 on s3 2gbit; hosts d1 on s3 670mbit/640mbit\n"
                   "s0 - s1 600mbit/500mbit; s1 - s2 400mbit/550mbit; s1 - s3 630mbit/440mbit\n")
    tree = trees.read(net)
    ranks = machine.write(machine.parse(), str(net), directory / "rates")
    status, output, errors = smpirun.run(options.programs / "pairs", [str(BYTES)], directory / "rates", ranks)
    lines = [line.split() for line in output.splitlines()]
    want(status == 0 and len(lines) == ranks * (ranks - 1), f"exit status {status}:\n{output}{errors}")
    narrow = set()
    for source, target, seconds in lines:
        path = tree.path(source, target)
        slowest = min(path, key=lambda link: tree.speeds[link][0])
        narrow.add(slowest)
        rate = tree.speeds[slowest][0]
        want(abs(BYTES / float(seconds) / rate - 1) < 0.005, f"{source} to {target}: {BYTES / float(seconds):g} B/s where {slowest} has {rate:g}")
    unnoticed = {link for link in tree.speeds if link not in narrow}
    want(all(end.endswith("0") for link in unnoticed for end in link if end[0] != "s"), f"links that nobody noticed: {unnoticed}")
    want(len(unnoticed) == 8, f"those of four fast hosts are never the slowest, all others are: {unnoticed}")


def bounds(options, directory):
    """8 x 24 blocks of an alltoall over the trunks of a star, 16 x 16 over the middle one of a chain; and what acknowledges those of the other way."""
    for kind, blocks in (("star", 8 * 24), ("chain", 16 * 16)):
        parsed = argparse.Namespace(**vars(machine.parse("--nodes", "32", "--leaf", "8", "--ranks-per-node", "1", "--bandwidth", "1e8")),
                                    message_charge=0,
                                    no_acknowledgements=True)
        parsed.tree = machine.tree_of(parsed, f"tree_{kind}")
        want(math.isclose(compare.bound(parsed, "alltoall", 10000, 32), 1e6 * blocks * 10000 / 1e8), f"{kind}: alltoall's bound")
        want(math.isclose(compare.bound(parsed, "allgather", 10000, 32), 1e6 * 31 * 10000 / 1e8), f"{kind}: allgather's bound")
        parsed.no_acknowledgements = False
        want(math.isclose(compare.bound(parsed, "alltoall", 10000, 32), 1.05e6 * blocks * 10000 / 1e8), f"{kind}: alltoall's bound, acknowledged")
        want(math.isclose(compare.bound(parsed, "allgather", 10000, 32), 1e6 * (31 + 0.05) * 10000 / 1e8), f"{kind}: allgather's bound, acknowledged")


def measured(options, directory, collective, size, *more):
    """The time of compare.py's library, us, and the fraction of the bound that it reaches."""
    measured.number = getattr(measured, "number", 0) + 1
    done = subprocess.run([sys.executable, Path(__file__).parent / "compare.py", "--programs", options.programs, "--results",
                           directory / f"{measured.number}.json", "--collectives", collective, "--bytes", str(size), "--sides", "library", "--no-validate",
                           "--network", "tree_chain", "--ranks-per-node", "1", "--bandwidth", "125e6", "--message-charge", "1.5e-6", "--tell-network",
                           *more], capture_output=True, text=True, timeout=200)
    rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith(f"| {collective}")]
    want(done.returncode == 0 and len(rows) == 1, f"{collective}, {more}:\n{done.stdout}{done.stderr}")
    return float(rows[0][3]), float(rows[0][-2])


def setting(**settings):
    return [word for name, value in settings.items() for word in ("--setting", f"HANPMPI_{name}={value}")]


def contention_free(options, directory):
    """32 hosts on a chain of four switches: phases that share no link reach 97% of the bound where a message takes nothing of the way back."""
    way = setting(ALLTOALL="flat", BETWEEN_NODES="contention_free_pairwise")
    _, fraction = measured(options, directory, "alltoall", 131072, "--nodes", "32", "--leaf", "8", "--no-acknowledgements", *way)
    want(0.97 < fraction <= 1, f"contention_free_pairwise reaches {fraction} of the bound")
    way = setting(ALLTOALL="flat", BETWEEN_NODES="pairwise")
    _, fraction = measured(options, directory, "alltoall", 1048576, "--nodes", "4", "--leaf", "2", *way)
    want(0.99 < fraction <= 1, f"among four hosts pairwise reaches {fraction} of the bound with acknowledgements")


def told(options, directory):
    """Halving across the trunk is what the rules say, for a network that is not known; what is told decides. (ring: 960 us, the rules: 2,894.)"""
    place = ("--nodes", "8", "--leaf", "4", "--no-acknowledgements")
    us, _ = measured(options, directory, "allreduce", 65536, *place)
    ring, _ = measured(options, directory, "allreduce", 65536, *place, *setting(ALLREDUCE="han", BETWEEN_NODES="ring", SEGMENT_BYTES=65536))
    rules, _ = measured(options, directory, "allreduce", 65536, *place, *setting(MODEL=0))
    want(us <= 1.05 * ring and us < 0.5 * rules, f"allreduce takes {us} us where it is told the network, a ring {ring}, what the rules say {rules}")



def comparison(options, directory):
    """compare.py takes a file, and a tree that is made up; what is no network is refused."""
    command = [sys.executable, Path(__file__).parent / "compare.py", "--programs", options.programs, "--bytes", "65536", "--collectives", "allgather",
               "--sides", "library", "--no-validate"]
    for network, text in ((options.networks / "slurm.conf", "slurm.conf: 4 switches in a tree, ranks laid block"),
                          ("tree_two_levels", "4 switches in a tree, ranks laid random, seed 3")):
        done = subprocess.run([*command, "--results", directory / f"{Path(network).name}.json", "--network", network, "--nodes", "4", "--leaf", "2",
                               "--ranks-per-node", "1", *(["--order", "random", "--seed", "3"] if network == "tree_two_levels" else [])],
                              capture_output=True, text=True, timeout=100)
        rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith("| allgather")]
        want(done.returncode == 0 and text in done.stdout and len(rows) == 1, f"{network}:\n{done.stdout}{done.stderr}")
        want(0 < float(rows[0][-2]) <= 1, f"{network}: a fraction of {rows[0][-2]}")
    broken = options.networks / "broken" / "cycle.net"
    done = subprocess.run([*command, "--results", directory / "none.json", "--network", broken], capture_output=True, text=True, timeout=100)
    want(done.returncode == 1 and "cycle.net:4: " in done.stderr, f"a broken network: {done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--networks", type=Path, required=True)
    options = parser.parse_args()
    for test in (shapes, mappings, bandwidths, bounds, contention_free, told, comparison):
        with tempfile.TemporaryDirectory(prefix="hanpmpi-trees-") as directory:
            test(options, Path(directory))
        print(f"{test.__name__}: passed", flush=True)


if __name__ == "__main__":
    main()
