#!/usr/bin/env python3
"""test_generate: hanpmpi_generate writes schedules for a network, and hanpmpi_info finds them by HANPMPI_SCHEDULES.

usage: test_generate.py --generate hanpmpi_generate --info hanpmpi_info
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

CHAIN = "hosts a[0-7] on s0; hosts b[0-7] on s1; hosts c[0-7] on s2; hosts d[0-7] on s3\ns0 - s1; s1 - s2; s2 - s3\n"


def run(program, *arguments, code=0, **settings):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HANPMPI_")}
    done = subprocess.run([program, *arguments], capture_output=True, text=True, env={**environment, **settings}, check=False)
    assert done.returncode == code, (arguments, done)
    return done.stderr if code else done.stdout


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def files_are_written_and_found(folder, network):
    schedules = os.path.join(folder, "schedules")
    said = run(OPTIONS.generate, network, "--with", "ranks=16 order=over_switches", "-o", schedules)
    names = sorted(os.listdir(schedules))
    assert names == ["allgather_depth_first_ring.json", "allreduce_depth_first_ring.json", "alltoall_contention_free.json",
                     "bcast_depth_first_chain.json", "reduce_depth_first_rabenseifner.json", "reduce_scatter_depth_first_ring.json"], names
    assert said.count("of 16 ranks") == len(names), said
    listed = json.loads(run(OPTIONS.info, "--json", "--schedules", HANPMPI_SCHEDULES=schedules))["schedules"]
    found = {row["name"] for row in listed if not row["built_in"]}
    assert found == {name[:-5] for name in names}, found
    for name in names:
        pattern = name.split("_depth")[0].split("_cont")[0]
        again = run(OPTIONS.info, "--schedule", f"{pattern} {name[:-5]}", "--verify", "--cost", f"network={network} bytes=4K order=over_switches",
                    HANPMPI_SCHEDULES=schedules)
        assert "\nverified: " in again and "busiest link" in again, again
    # A word for those who join as many nodes.
    said = run(OPTIONS.info, "--algorithms", HANPMPI_SCHEDULES=schedules)
    assert "bcast_depth_first_chain" in said, said


def one_of_them(folder, network):
    said = run(OPTIONS.generate, network, "--collective", "alltoall", "--algorithm", "contention_free_barriers", "--with", "ranks=8 barriers=3", "-o", folder)
    path = os.path.join(folder, "alltoall_contention_free_barriers.json")
    assert said == f"{path}: alltoall of 8 ranks\n", said
    with open(path, encoding="ascii") as file:
        its = json.load(file)
    assert its["parameters"] == {"barriers": 3} and its["positions"] == 8
    assert json.dumps(its).count('"sync"') == 3 * 3 * 8
    sizes = write(folder, "sizes.txt", "0 5 0\n0 0 7\n9 0 0\n")
    run(OPTIONS.generate, network, "-c", "alltoall", "--algorithm", "greedy", "--with", f"ranks=3 sizes={sizes}", "-o", folder)


def what_is_wrong_is_said(folder, network):
    short = write(folder, "short.txt", "1 2 3\n4 5\n")
    for arguments, reason in (((), "NETWORK is missing"), ((network, "other"), "one NETWORK is enough"), ((network, "-c", "all"), "accepted are alltoall"),
                              ((network, "--algorithm", "greedy"), "--collective=NAME is missing")):
        assert reason in run(OPTIONS.generate, *arguments, code=64), arguments
    for arguments, reason in ((("/nowhere.net", "-o", folder), "/nowhere.net: No such file"), ((network, "-o", "/dev/null/x"), "/dev/null/x: Not a directory"),
                              ((network, "-c", "gather", "-o", folder), "no algorithm for it is made for a network"),
                              ((network, "-c", "bcast", "--algorithm", "ring", "-o", folder), "is no algorithm for bcast"),
                              ((network, "-c", "alltoall", "--with", "barriers=1", "-o", folder), "not understood"),
                              ((network, "-c", "alltoall", "--with", f"ranks=3 sizes={short}", "-o", folder), f"{short}:3: expected 3 rows of 3 whole numbers")):
        said = run(OPTIONS.generate, *arguments, code=1)
        assert reason in said, (arguments, said)


def the_cost_knows_the_network(folder, network):
    """Through the chain's trunks the ring of ranks in no order takes eight times as long as the one through the machines."""
    def cost(text):
        said = run(OPTIONS.info, "--schedule", f"{text} network={network} order=over_switches", "--verify", "--cost", "bytes=32K")
        return float(said.split("  time ")[1].split(" us")[0])
    ring, placed = cost("allgather ring"), cost("allgather depth_first_ring")
    print(f"allgather of 32 KiB, 32 ranks over the switches of a chain: ring {ring:.0f} us, depth_first_ring {placed:.0f} us: {ring / placed:.2f}")
    assert ring >= 7 * placed, (ring, placed)
    bound = 256 * 32 * 1024 / 125
    placed, pair = cost("alltoall contention_free"), cost("alltoall pairwise_xor")
    print(f"alltoall: contention_free {placed / bound:.3f}, pairwise_xor {pair / bound:.3f} of the bound")
    assert placed <= 1.03 * bound, (placed, bound)
    assert folder


def main():
    with tempfile.TemporaryDirectory() as folder:
        network = write(folder, "chain.net", CHAIN)
        for case in (files_are_written_and_found, one_of_them, what_is_wrong_is_said, the_cost_knows_the_network):
            case(folder, network)
            print(f"{case.__name__}: ok", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generate", help="hanpmpi_generate")
    parser.add_argument("--info", help="hanpmpi_info")
    OPTIONS = parser.parse_args()
    sys.exit(main())
