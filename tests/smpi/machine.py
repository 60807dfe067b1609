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
--ranks-per-node takes a list, repeated over the nodes: "32,30" makes uneven nodes. All routes are written out.
"""
import argparse
from pathlib import Path
from xml.sax.saxutils import quoteattr

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


def link(name, bandwidth, latency, **more):
    return element("link", id=name, bandwidth=f"{bandwidth:.17g}Bps", latency=f"{latency:.17g}s", **more) + "/>"


def route(source, target, links):
    return (element("route", src=f"node-{source}", dst=f"node-{target}", symmetrical="NO") + ">"
            + "".join(element("link_ctn", id=name) + "/>" for name in links) + "</route>")


def platform(options, between):
    hosts, links, routes, network = [], [], [], set()
    for node in range(options.nodes):
        hosts.append(element("host", id=f"node-{node}", speed=SPEED, core=max(options.ranks)) + "/>")
        links += [link(f"{way}-{node}", options.bandwidth, options.latency) for way in ("up", "down")]
        links.append(link(f"copy-{node}", options.copy_bandwidth, options.copy_latency, sharing_policy="FATPIPE"))
        links.append(link(f"memory-{node}", options.memory_bandwidth, 0))
        for target in range(options.nodes):
            if node == target:
                routes.append(route(node, node, [f"copy-{node}", f"memory-{node}"]))
            else:
                middle = between(options, node, target)
                network.update(middle)
                routes.append(route(node, target, [f"up-{node}"] + middle + [f"down-{target}"]))
    links += [link(name, options.bandwidth, options.latency) for name in sorted(network)]
    return ['<zone id="machine" routing="Full">'] + hosts + links + routes + ["</zone>"]


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
    group.add_argument("--routers", type=positive(int), default=4, help="dragonfly: routers a group (%(default)s)")


def parse(*arguments):
    """The options of a machine alone."""
    parser = argparse.ArgumentParser()
    add_options(parser)
    return parser.parse_args(arguments)


def slots(options):
    """Ranks on each node."""
    return [options.ranks[node % len(options.ranks)] for node in range(options.nodes)]


def write(options, network, stem):
    """Writes STEM.xml and STEM.hosts; returns the number of ranks."""
    lines = platform(options, NETWORKS[network])
    Path(f"{stem}.xml").write_text(HEAD + "\n".join(lines) + "\n</platform>\n")
    Path(f"{stem}.hosts").write_text("".join(f"node-{node}:{count}\n" for node, count in enumerate(slots(options))))
    return sum(slots(options))


def main():
    parser = argparse.ArgumentParser(description="Writes a simulated machine: NETWORK.xml and NETWORK.hosts.")
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("--output", help="path without its suffix (the network's name)")
    add_options(parser)
    options = parser.parse_args()
    stem = options.output or options.network
    print(f"{stem}.xml, {stem}.hosts: {write(options, options.network, stem)} ranks on {options.nodes} nodes")


if __name__ == "__main__":
    main()
