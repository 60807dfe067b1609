"""The measured half of study.py: slowdown on the virtual cluster."""
import fcntl
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
VCLUSTER = os.path.join(os.path.dirname(HERE), "cluster", "vcluster")
LOCK = "/tmp/vcluster.lock" # the virtual hosts' names are global to the machine


def run(arguments, collective):
    """One collective on a cluster of its own. -> (what slowdown printed, the command for the reader)"""
    build = os.path.abspath(arguments.build)
    program = os.path.join(build, "tests", "noise", arguments.mpi, "slowdown")
    for path in (program, os.path.join(build, "lib", "libhanpmpi-noise.so")):
        if not os.path.exists(path):
            sys.exit(f"study: {path} is missing: build first, or name the folder with --build")
    settings = {"LD_PRELOAD": f"{build}/lib/libhanpmpi.so:{build}/lib/libhanpmpi-noise.so", "HANPMPI_NOISE_SEED": str(arguments.seed)}
    settings.update(setting.split("=", 1) for setting in arguments.set)
    words = [VCLUSTER, "run", arguments.mpi, str(arguments.ranks_per_host), program, "--collective", collective, "--noise",
             "off," + arguments.noise, "--bytes", arguments.bytes, "--blocks", str(arguments.blocks), "--block-seconds",
             str(arguments.block_seconds), "--delayed", arguments.delayed, "--repeat", str(arguments.repeat)]
    with open(LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = subprocess.run([VCLUSTER, "up", str(arguments.hosts), arguments.rate], stdout=sys.stderr)
        if made.returncode:
            sys.exit(made.returncode)
        try:
            done = subprocess.run(words, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  text=True, timeout=arguments.timeout)
        finally:
            subprocess.run([VCLUSTER, "down"])
    if done.returncode:
        sys.exit(f"study: slowdown ended with code {done.returncode}; the command was\n  {' '.join(words)}")
    return done.stdout


def machine(arguments):
    return (f"{arguments.hosts} virtual hosts x {arguments.ranks_per_host} ranks, links of {arguments.rate}, on one machine of "
            f"{os.cpu_count()} cores, Linux {os.uname().release}")
