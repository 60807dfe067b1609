"""trees: trees of switches with hosts on them, for the simulator (smpi/machine.py) and the virtual cluster (cluster/vcluster): read
from a network file (hanpmpi-network(5)), or made up. Rates are in bytes a second, latencies in seconds.

hanpmpi_info reads the files, whatever their form: HP_INFO names it, else it is the build's, or the one in PATH.
"""
import collections
import json
import math
import os
import shutil
import subprocess
from pathlib import Path

Host = collections.namedtuple("Host", "name switch ranks up down latency")
Link = collections.namedtuple("Link", "one other to back latency")  # to: from one to other
KINDS = ("chain", "star", "two_levels", "uneven")


class Trouble(Exception):
    """A file that is no network, or nobody who reads it; its text says what to do."""


class Tree:
    def __init__(self, switches, hosts, links, queue=None):
        """queue: what a port holds, as the file says it; None: it says nothing."""
        self.switches, self.hosts, self.links, self.queue = list(switches), list(hosts), list(links), queue
        self.speeds = {}  # of each link and direction, (from, to): rate, latency
        for link in self.links:
            self.speeds[link.one, link.other] = link.to, link.latency
            self.speeds[link.other, link.one] = link.back, link.latency
        for host in self.hosts:
            self.speeds[host.name, host.switch] = host.up, host.latency
            self.speeds[host.switch, host.name] = host.down, host.latency
        self.parent = self._parents()

    def _parents(self):
        """Of each node the next one on the way to the first switch."""
        neighbours = collections.defaultdict(list)
        for one, other in self.speeds:
            neighbours[one].append(other)
        found, waiting = {self.switches[0]: None}, [self.switches[0]]
        for node in waiting:
            for other in neighbours[node]:
                if other not in found:
                    found[other] = node
                    waiting.append(other)
        return found

    def path(self, source, target):
        """The links that a message takes, as (from, to)."""
        def above(node):
            while node is not None:
                yield node
                node = self.parent[node]

        up, down = list(above(source)), list(above(target))
        top = next(node for node in up if node in down)
        way = up[:up.index(top)] + [top] + down[:down.index(top)][::-1]
        return list(zip(way, way[1:]))

    def hosts_behind(self, one, other):
        """Names of the hosts from which messages come over the link from one to the other."""
        if self.parent[other] == one:
            return {host.name for host in self.hosts} - self.hosts_behind(other, one)
        return {host.name for host in self.hosts if one in self._above(host.name)}

    def _above(self, node):
        while node is not None:
            yield node
            node = self.parent[node]

    def text(self):
        """The same as a network file."""
        def rates(to, back):
            return f"{to * 1e-6:.17g}MB/{back * 1e-6:.17g}MB"

        lines = [f"hosts {host.name}:{host.ranks} on {host.switch} {rates(host.up, host.down)} {host.latency * 1e6:.17g}us" for host in self.hosts]
        lines += [f"{link.one} - {link.other} {rates(link.to, link.back)} {link.latency * 1e6:.17g}us" for link in self.links]
        lines += [f"queue {self.queue}"] if self.queue else []
        return "\n".join(lines) + "\n"


def find_reader():
    built = Path(__file__).resolve().parents[1] / "build/bin/hanpmpi_info"
    for candidate in filter(None, (os.environ.get("HP_INFO"), str(built), "hanpmpi_info")):
        if shutil.which(candidate):
            return candidate
    raise Trouble("no hanpmpi_info to read a network file with: build it, or name one in HP_INFO")


def read(path):
    done = subprocess.run([find_reader(), "--network", str(path), "--json"], capture_output=True, text=True)
    if done.returncode:
        raise Trouble(done.stderr.strip().removeprefix("hanpmpi_info: "))
    found = json.loads(done.stdout)

    def rates(text):
        """ "125MB" or "125MB/12.5MB": there and back."""
        both = [float(rate.removesuffix("MB")) * 1e6 for rate in text.split("/")]
        return both[0], both[-1]

    def latency(text):
        return float(text.removesuffix("us")) * 1e-6

    hosts = []
    for entry in found["hosts"]:
        name, ranks = entry["names"][0].rsplit(":", 1)
        hosts.append(Host(name, entry["switch"], int(ranks), *rates(entry["rate"]), latency(entry["latency"])))
    return Tree(found["switches"], hosts,
                [Link(*entry["between"], *rates(entry["rate"]), latency(entry["latency"])) for entry in found["links"]], found.get("queue"))


def pairs_of(kind, switches):
    """Which switches are joined; those of numbers from `switches` on have no hosts."""
    if kind == "chain":
        return [(i - 1, i) for i in range(1, switches)]
    if kind == "star":
        return [(0, i) for i in range(1, switches)]
    if kind == "uneven":
        return [((i - 1) // 2, i) for i in range(1, switches)]
    pod = math.ceil(math.sqrt(switches))  # two_levels: so many switches with hosts on one above them, those on a top one
    pods = math.ceil(switches / pod)
    return [(switches + i // pod, i) for i in range(switches)] + [(switches + pods, switches + i) for i in range(pods)]


def sizes_of(kind, nodes, switches):
    """Hosts on each switch: as many, or, of uneven ones, 1 : 2 : 3 ..."""
    shares = [i + 1 if kind == "uneven" else 1 for i in range(switches)]
    bounds = [round(nodes * sum(shares[:i]) / sum(shares)) for i in range(switches + 1)]
    return [after - before for before, after in zip(bounds, bounds[1:])]


def make(kind, nodes, switches, ranks, rate, trunk_rate, latency):
    """ranks: repeated over the nodes, which are called node-0, node-1 ...; every second trunk of an uneven tree has twice the rate."""
    pairs = pairs_of(kind, switches)
    where = [switch for switch, size in enumerate(sizes_of(kind, nodes, switches)) for _ in range(size)]
    hosts = [Host(f"node-{i}", f"s{where[i]}", ranks[i % len(ranks)], rate, rate, latency) for i in range(nodes)]
    trunks = [trunk_rate * (2 if kind == "uneven" and i % 2 else 1) for i in range(len(pairs))]
    names = sorted({f"s{end}" for pair in pairs for end in pair} | {"s0"}, key=lambda name: int(name[1:]))
    return Tree(names, hosts, [Link(f"s{one}", f"s{other}", trunk, trunk, latency) for (one, other), trunk in zip(pairs, trunks)])
