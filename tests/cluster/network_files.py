#!/usr/bin/env python3
"""Tests of vcluster's trees of switches: `vcluster up --network FILE`: the rates of a trunk, the queues of ports, files that do not fit.

Exit code: 0, 1 on a failure, 77 when no virtual cluster can be made here.
"""
import json
import os
import subprocess
import sys
import tempfile

import mpis

# vc2 sends to vc0 at 50 Mbit/s and to vc1 at 100; the stream tool sends from vc0.
CHAIN = "links 400mbit\nhosts vc0 on s0; hosts vc1 on s1; hosts vc2 on s2\ns0 - s1 100mbit/50mbit; s1 - s2 200mbit/100mbit\n"
failures = 0


def expect(what, good, seen=""):
    global failures
    failures += not good
    print(f"{'passed' if good else 'FAILED'}  {what}" + ("" if good else f"\n{seen}"), flush=True)


def call(*words):
    return subprocess.run([mpis.VCLUSTER, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)


def shaped():
    """Of each port of a switch its rate in Mbit/s, and the KiB that it holds: tc has that as the time until they are sent, behind the burst."""
    found = {}
    for queue in json.loads(subprocess.run(["tc", "-j", "qdisc", "show"], capture_output=True, text=True, check=True).stdout):
        if queue["kind"] == "tbf" and queue["dev"].startswith("vc"):
            options = queue["options"]
            found[queue["dev"]] = options["rate"] * 8e-6, round((options["lat"] * 1e-6 * options["rate"] + options["burst"]) / 1024)
    return found


def ports():
    found = shaped()
    expect("trunks have a rate in either direction", sorted(sorted(found[f"vct{i + end}"][0] for end in (0, 1)) for i in (0, 2)) == [[50, 100], [100, 200]], found)
    expect("ports hold what --queue says, of hosts, too", len(found) == 7 and all(held == 256 for _, held in found.values()), found)


def stream(program, mpi, first):
    """MB/s from the first host that has a rank to the others."""
    done = call("run", mpi, "1,1,1" if first == "vc0" else "0,1,1", program, "--stream")
    return {tuple(words[1:3]): float(words[3]) for words in (line.split() for line in done.stdout.splitlines()) if words[:1] == ["stream"]}


def trunks(directory):
    fit = [mpi for mpi in mpis.found() if mpi != "mpich"]  # README.md, MPICH 4.0
    if not fit:
        print("skipped: no MPI that uses the network")
        return
    program = mpis.compile(fit[0], "hosts.c", directory)
    speed = stream(program, fit[0], "vc0")
    print(f"        MB/s: {speed}")
    # TCP's share of a link is 0.96; what the shaper lets through at once, and a busy machine, need room.
    expect("vc0 to vc1, and on to vc2: 100 Mbit/s", len(speed) == 2 and all(0.4 < rate / 12.5 < 1.3 for rate in speed.values()), speed)
    speed = stream(program, fit[0], "vc1")
    print(f"        MB/s: {speed}")
    expect("vc1 to vc2: 200 Mbit/s", len(speed) == 1 and 1.1 * 12.5 < speed["vc1", "vc2"] < 1.3 * 25, speed)


def refusals(directory):
    for name, text, reason in (("names.net", "hosts vc0 b on s0\n", 'host "b": expected the hosts of a virtual cluster: vc0, vc1, ...'),
                               ("many.net", "hosts vc[0-100] on s0\n", "101 hosts: expected the hosts"),
                               ("cycle.net", CHAIN + "s2 - s0\n", "cycle.net:4: a link from")):
        file = os.path.join(directory, name)
        with open(file, "w") as out:
            out.write(text)
        done = call("up", "--network", file)
        expect(f"refused: {reason}", done.returncode == 1 and reason in done.stdout, done.stdout)
    for words in (("up",), ("up", "2", "1gbit", "--network", "x"), ("up", "--network", "x", "--top", "1gbit"), ("up", "2", "--queue", "64kb"),
                  ("up", "--network", "x", "--queue", "much"), ("with", "2", "1gbit")):
        expect(f"refused: {' '.join(words)}", call(*words).returncode == 2)


def main():
    if call("check").returncode == 77:
        print("skipped: no virtual cluster can be made here")
        return 77
    with tempfile.TemporaryDirectory(prefix="hanpmpi-") as directory:
        refusals(directory)
        file = os.path.join(directory, "chain.net")
        with open(file, "w") as out:
            out.write(CHAIN)
        made = call("up", "--network", file, "--queue", "256kb", "--wait", "60")
        expect("a chain of three switches", made.returncode == 0 and "3 hosts on 3 switches" in made.stdout, made.stdout)
        try:
            if made.returncode == 0:
                ports()
                trunks(directory)
        finally:
            call("down")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
