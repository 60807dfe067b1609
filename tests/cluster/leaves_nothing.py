#!/usr/bin/env python3
"""Tests that vcluster leaves nothing behind: after up and down, after signals at random moments of up, run and with, after a
killed one. And that two users of a machine do not wreck each other's cluster.

    leaves_nothing.py [--moments N] [--mpis all] [--seed S]       N interrupted runs of each kind

Exit code: 0, 1 on a failure, 77 when no virtual cluster can be made here.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import left_behind
import mpis

VCLUSTER = mpis.VCLUSTER
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Failed(Exception):
    pass


def vcluster(watch, *words, expect=0):
    done = subprocess.run([VCLUSTER, *words], env=watch.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120)
    if done.returncode != expect:
        raise Failed(f"vcluster {' '.join(words)} ended with {done.returncode}: {done.stdout}")
    return done.stdout


def interrupted(watch, words, longest, choices):
    """Starts a command, sends it a signal at a random moment; it must end, and the signal be its exit code where it was in time.
    Returns what happened, to be shown."""
    moment, number = choices.uniform(0.15, longest), choices.choice(SIGNALS)
    child = subprocess.Popen([VCLUSTER, *words], env=watch.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        child.communicate(timeout=moment)
    except subprocess.TimeoutExpired:
        child.send_signal(number)
    out = child.communicate(timeout=60)[0]
    happened = f"{number.name} after {moment:.2f} s, exit code {child.returncode}"
    # Before Python has started the signal just kills, which leaves nothing either.
    if child.returncode not in (0, 128 + number, -number):
        raise Failed(f"{happened}: {out}")
    return happened


def nothing_left(watch, after):
    problems = watch.problems()
    if problems:
        raise Failed(f"{after}: left behind: {'; '.join(problems)}")


def up_and_down(watch, options, _choices):
    for words in (("up", "3", "none"), ("up", "4", "1gbit", "--top", "500mbit")):
        vcluster(watch, *words)
        vcluster(watch, "down")
        nothing_left(watch, words)
    code = 7
    vcluster(watch, "with", "2", "none", "--", "sh", "-c", f"sleep 1000 & exit {code}", expect=code)
    nothing_left(watch, "with, and a process that stays")
    # /proc shows no environment of a process that is just starting a program, which this one always is.
    script, number = (os.path.join(options.directory, name) for name in ("again", "number"))
    with open(script, "w") as file:
        file.write('#!/bin/sh\nexec "$0"\n')
    os.chmod(script, 0o755)
    vcluster(watch, "with", "1", "none", "--", "sh", "-c", f"{script} > /dev/null 2>&1 & echo $! > {number}; exit {code}", expect=code)
    with open(number) as file:
        pid = int(file.read())
    if os.path.exists(f"/proc/{pid}/exe"):  # a zombie has none
        os.kill(pid, signal.SIGKILL)
        raise Failed(f"left behind: process {pid}, which starts itself again and again")
    nothing_left(watch, "with, and a process that starts itself again and again")


def interrupted_up(watch, options, choices):
    for _ in range(options.moments):
        happened = interrupted(watch, ("up", "4", "1gbit", "--top", "500mbit"), 0.8, choices)
        if "exit code 0" in happened:
            vcluster(watch, "down")
        nothing_left(watch, happened)


def interrupted_with(watch, options, choices):
    for _ in range(options.moments):
        nothing_left(watch, interrupted(watch, ("with", "2", "1gbit", "--", "sleep", "1000"), 1.2, choices))


def interrupted_run(watch, options, choices):
    for mpi in [name for name in mpis.found() if options.mpis == "all" or name in options.mpis.split(",")]:
        program = mpis.compile(mpi, "hosts.c", options.directory)
        vcluster(watch, "up", "3", "1gbit")
        try:
            inside = left_behind.Watch()
            for _ in range(options.moments):
                happened = interrupted(inside, ("run", mpi, "2,1,1", "sh", "-c", f"{program}; sleep 1000"), 2.0, choices)
                nothing_left(inside, f"{mpi}: {happened}")
            inside.close()
        finally:
            vcluster(watch, "down")
        nothing_left(watch, mpi)
    # A job inside a `with` that is told to end: both clean up.
    for _ in range(options.moments):
        words = ("with", "2", "1gbit", "--", "sh", "-c", f"{VCLUSTER} run {mpis.found()[0]} 1 sleep 1000")
        nothing_left(watch, interrupted(watch, words, 3.0, choices))


def killed(watch, _options, _choices):
    """SIGKILL cannot be helped; but the next one tidies up."""
    child = subprocess.Popen([VCLUSTER, "with", "3", "1gbit", "--", "sh", "-c", "sleep 0.1"], env=watch.environment())
    time.sleep(0.4)
    child.kill()
    child.wait()
    vcluster(watch, "with", "2", "none", "--", "true")
    nothing_left(watch, "the next one after SIGKILL")


def two_users(watch, _options, _choices):
    """The cluster of a living process that is no ancestor of ours is neither replaced nor removed, unless by force."""
    other = subprocess.Popen([VCLUSTER, "with", "2", "none", "--", "sleep", "1000"], env=watch.environment(), stdout=subprocess.PIPE,
                             text=True)
    try:
        if "2 hosts" not in other.stdout.readline():
            raise Failed("the other's cluster did not come up")
        for words in (("up", "3", "none"), ("with", "3", "none", "--", "true"), ("down",)):
            said = vcluster(watch, *words, expect=1)
            if str(other.pid) not in said or "--force" not in said:
                raise Failed(f"{words}: the message does not tell whose cluster it is: {said}")
        if sorted(left_behind.listing("/run/netns") - watch.before["network namespaces"]) != ["vc0", "vc1"]:
            raise Failed("the other's cluster was changed")
        waiting = subprocess.Popen([VCLUSTER, "with", "1", "none", "--wait", "60", "--", "true"], env=watch.environment())
        time.sleep(0.5)
        other.terminate()
        if waiting.wait(60) != 0:
            raise Failed("--wait did not wait")
    finally:
        other.terminate()
        other.wait(60)
    nothing_left(watch, "two users")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=2, help="interrupted runs of each kind")
    parser.add_argument("--mpis", default="openmpi,mpich", help="whose runs are interrupted; all: every one that is here")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the random moments")
    options = parser.parse_args()
    possible = subprocess.run([VCLUSTER, "check"])
    if possible.returncode:
        return possible.returncode
    left_behind.with_own_memory_files()
    subprocess.run([VCLUSTER, "down"], check=True)  # what others may have left is none of ours to be compared with
    print(f"seed {options.seed}", flush=True)
    choices, failures = random.Random(options.seed), 0
    with tempfile.TemporaryDirectory(prefix="hanpmpi-") as options.directory:
        for test in (up_and_down, interrupted_up, interrupted_with, interrupted_run, killed, two_users):
            watch, start = left_behind.Watch(), time.monotonic()
            try:
                test(watch, options, choices)
                print(f"passed  {test.__name__} ({time.monotonic() - start:.1f} s)", flush=True)
            except Failed as failed:
                failures += 1
                print(f"FAILED  {test.__name__}: {failed}", flush=True)
                subprocess.run([VCLUSTER, "down", "--force"])
            watch.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
