#!/usr/bin/env python3
"""machine.py: writes a machine for SimGrid: a platform (XML) and the hostfile that places the ranks on it.

    machine.py --nodes 32 --ranks-per-node 32 star         -> star.xml, star.hosts

A node is a host with a link to and from the network and a memory bus: messages between ranks of a node take the host's route
to itself, on which one link is the bus that they share, and one limits each message to what a single core copies.
  star       every node on one switch that never blocks
  fat_tree   switches with --leaf nodes and --spines links up (as many as nodes; fewer: oversubscribed): the spine switch of the
             target's number carries a message
  dragonfly  groups of --routers with --leaf nodes each; routers of a group are joined in pairs, and so are groups; messages
             take the shortest way
  tree_chain, tree_star, tree_two_levels, tree_uneven
             --leaf nodes on a switch, and the switches in a tree, whose links have --trunk-bandwidth (tests/trees.py)
  FILE       the tree of a network file (hanpmpi-network(5)), with the file's hosts, ranks, rates and latencies
--ranks-per-node takes a list, repeated over the nodes: "32,30" makes uneven nodes. Ranks are laid on nodes one node after the other
(--order block), one on each in turns (round_robin), or at random, the same way for the same --seed. All routes are written out.
"""
import argparse
import itertools
import random
import sys
from pathlib import Path
from xml.sax.saxutils import quoteattr

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import trees  # noqa: E402

HEAD = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
"""
# Flops a second of a host; smpirun's smpi/host-speed says the same.
SPEED = "1Gf"


def element(name, **attributes):
    return f"<{name}" + "".join(f" {key}={quoteattr(str(value))}" for key, value in attributes.items())


def star(options, source, target):
    """The links between two nodes' own ones."""
    return []


def fat_tree(options, source, target):
    here, there, spine = source // options.leaf, target // options.leaf, target % (options.spines or options.leaf)
    return [] if here == there else [f"leaf-{here}-spine-{spine}", f"spine-{spine}-leaf-{there}"]


def dragonfly(options, source, target):
    def router(node):
        return divmod(node // options.leaf, options.routers)

    def inside(group, one, other):
        return [] if one == other else [f"router-{group}.{one}-{group}.{other}"]

    def gateway(group, other):
        """The router of group that has the link to the other group."""
        return (other - (other > group)) % options.routers

    (group, one), (other_group, other) = router(source), router(target)
    if group == other_group:
        return inside(group, one, other)
    out, into = gateway(group, other_group), gateway(other_group, group)
    return inside(group, one, out) + [f"group-{group}-{other_group}"] + inside(other_group, into, other)


NETWORKS = {"star": star, "fat_tree": fat_tree, "dragonfly": dragonfly}
TREES = tuple(f"tree_{kind}" for kind in trees.KINDS)
ORDERS = ("block", "round_robin", "random")


def network_name(text):
    """For argparse: one of the networks, or a file."""
    if text in NETWORKS or text in TREES or Path(text).is_file():
        return text
    raise argparse.ArgumentTypeError(f"'{text}' is not accepted; accepted are {', '.join((*NETWORKS, *TREES))} and network files")


def tree_of(options, network):
    """None: it is no tree."""
    if network in TREES:
        switches = -(-options.nodes // options.leaf)
        return trees.make(network.removeprefix("tree_"), options.nodes, switches, options.ranks, options.bandwidth,
                          options.trunk_bandwidth or options.bandwidth, options.latency)
    return None if network in NETWORKS else trees.read(network)


def link(name, bandwidth, latency, **more):
    return element("link", id=name, bandwidth=f"{bandwidth:.17g}Bps", latency=f"{latency:.17g}s", **more) + "/>"


def route(source, target, links):
    return (element("route", src=source, dst=target, symmetrical="NO") + ">"
            + "".join(element("link_ctn", id=name) + "/>" for name in links) + "</route>")


def inside(options, name):
    """The links of a host's route to itself."""
    return [link(f"copy-{name}", options.copy_bandwidth, options.copy_latency, sharing_policy="FATPIPE"),
            link(f"memory-{name}", options.memory_bandwidth, 0)], route(name, name, [f"copy-{name}", f"memory-{name}"])


def zone(hosts, links, routes):
    return ['<zone id="machine" routing="Full">'] + hosts + links + routes + ["</zone>"]


def platform(options, between):
    hosts, links, routes, network = [], [], [], set()
    for node in range(options.nodes):
        hosts.append(element("host", id=f"node-{node}", speed=SPEED, core=max(options.ranks)) + "/>")
        links += [link(f"{way}-{node}", options.bandwidth, options.latency) for way in ("up", "down")]
        own, home = inside(options, f"node-{node}")
        links += own
        for target in range(options.nodes):
            if node == target:
                routes.append(home)
            else:
                middle = between(options, node, target)
                network.update(middle)
                routes.append(route(f"node-{node}", f"node-{target}", [f"up-{node}"] + middle + [f"down-{target}"]))
    links += [link(name, options.bandwidth, options.latency) for name in sorted(network)]
    return zone(hosts, links, routes)


def tree_platform(options, tree):
    """A link a direction of each cable, called "FROM to TO"."""
    hosts, routes = [], []
    links = [link(f"{one} to {other}", rate, latency) for (one, other), (rate, latency) in tree.speeds.items()]
    for host in tree.hosts:
        hosts.append(element("host", id=host.name, speed=SPEED, core=host.ranks) + "/>")
        own, home = inside(options, host.name)
        links += own
        for target in tree.hosts:
            way = [f"{one} to {other}" for one, other in tree.path(host.name, target.name)]
            routes.append(home if target is host else route(host.name, target.name, way))
    return zone(hosts, links, routes)


def positive(kind):
    def parse(text):
        value = kind(text)
        if value <= 0:
            raise argparse.ArgumentTypeError(f"'{text}' is not accepted; accepted are numbers above 0")
        return value
    return parse


def rank_list(text):
    try:
        ranks = [int(item) for item in text.split(",")]
    except ValueError:
        ranks = [0]
    if min(ranks) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not accepted; accepted are numbers from 1, with commas between")
    return ranks


def add_options(parser):
    """The machine's options, also those of compare.py."""
    group = parser.add_argument_group("machine", "bandwidths in bytes a second and direction, latencies in seconds")
    group.add_argument("--nodes", type=positive(int), default=32, help="(%(default)s)")
    group.add_argument("--ranks-per-node", type=rank_list, default=[32], dest="ranks", metavar="N[,N...]", help="repeated over the nodes (32)")
    group.add_argument("--bandwidth", type=positive(float), default=12.5e9, help="of a node's link (%(default)g)")
    group.add_argument("--latency", type=positive(float), default=1e-6, help="of one link, of which a message takes two in a star (%(default)g)")
    group.add_argument("--memory-bandwidth", type=positive(float), default=80e9, help="of a node's memory bus (%(default)g)")
    group.add_argument("--copy-bandwidth", type=positive(float), default=10e9, help="of one message inside a node (%(default)g)")
    group.add_argument("--copy-latency", type=positive(float), default=5e-7, help="of one message inside a node (%(default)g)")
    group.add_argument("--leaf", type=positive(int), default=4, help="nodes on one switch or router (%(default)s)")
    group.add_argument("--spines", type=positive(int), help="fat tree: links up from a switch, each to a switch of its own (as many as --leaf)")
    group.add_argument("--trunk-bandwidth", type=positive(float), help="trees: of the links between switches (as --bandwidth)")
    group.add_argument("--order", choices=ORDERS, default="block", help="how ranks are laid on nodes (%(default)s)")
    group.add_argument("--seed", type=int, default=1, help="of --order random (%(default)s)")
    group.add_argument("--routers", type=positive(int), default=4, help="dragonfly: routers a group (%(default)s)")


def parse(*arguments):
    """The options of a machine alone."""
    parser = argparse.ArgumentParser()
    add_options(parser)
    return parser.parse_args(arguments)


def slots(options, tree=None):
    """Ranks on each node."""
    if tree:
        return {host.name: host.ranks for host in tree.hosts}
    return {f"node-{node}": options.ranks[node % len(options.ranks)] for node in range(options.nodes)}


def placed(options, room):
    """The host of each rank."""
    ranks = [name for name, count in room.items() for _ in range(count)]
    if options.order == "round_robin":
        ranks = [name for turn in range(max(room.values())) for name, count in room.items() if turn < count]
    elif options.order == "random":
        random.Random(options.seed).shuffle(ranks)
    return ranks


def write(options, network, stem):
    """Writes STEM.xml and STEM.hosts, and of a tree also STEM.net, which describes it; returns the number of ranks."""
    tree = tree_of(options, network)
    lines = tree_platform(options, tree) if tree else platform(options, NETWORKS[network])
    ranks = placed(options, slots(options, tree))
    Path(f"{stem}.xml").write_text(HEAD + "\n".join(lines) + "\n</platform>\n")
    Path(f"{stem}.hosts").write_text("".join(f"{name}:{len(list(same))}\n" for name, same in itertools.groupby(ranks)))
    if tree:
        Path(f"{stem}.net").write_text(tree.text())
    return len(ranks)


def main():
    parser = argparse.ArgumentParser(description="Writes a simulated machine: NETWORK.xml and NETWORK.hosts.")
    parser.add_argument("network", type=network_name, help=f"{', '.join((*NETWORKS, *TREES))} or a network file")
    parser.add_argument("--output", help="path without its suffix (the network's name)")
    add_options(parser)
    options = parser.parse_args()
    stem = options.output or Path(options.network).name
    try:
        ranks = write(options, options.network, stem)
    except trees.Trouble as trouble:
        sys.exit(f"machine.py: {trouble}")
    print(f"{stem}.xml, {stem}.hosts: {ranks} ranks")


if __name__ == "__main__":
    main()
