"""The measured half of study.py: slowdown on the virtual cluster."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
VCLUSTER = os.path.join(os.path.dirname(HERE), "cluster", "vcluster")


def run(arguments, collective):
    """One collective on a cluster of its own. -> (what slowdown printed, the command for the reader)"""
    build = os.path.abspath(arguments.build)
    program = os.path.join(build, "tests", "noise", arguments.mpi, "slowdown")
    for path in (program, os.path.join(build, "lib", "libhanpmpi-noise.so")):
        if not os.path.exists(path):
            sys.exit(f"study: {path} is missing: build first, or name the folder with --build")
    settings = {"LD_PRELOAD": f"{build}/lib/libhanpmpi.so:{build}/lib/libhanpmpi-noise.so", "HANPMPI_NOISE_SEED": str(arguments.seed)}
    settings.update(setting.split("=", 1) for setting in arguments.set)
    words = [VCLUSTER, "with", str(arguments.hosts), arguments.rate, "--wait", "600", "--", "env",
             *[f"{name}={value}" for name, value in settings.items()], VCLUSTER, "run", arguments.mpi,
             str(arguments.ranks_per_host), program, "--collective", collective, "--noise", "off," + arguments.noise, "--bytes",
             arguments.bytes, "--blocks", str(arguments.blocks), "--block-seconds", str(arguments.block_seconds), "--delayed",
             arguments.delayed, "--repeat", str(arguments.repeat)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=arguments.timeout + 600)
    if done.returncode:
        sys.exit(f"study: slowdown ended with code {done.returncode}; the command was\n  {' '.join(words)}")
    return done.stdout


def machine(arguments):
    return (f"{arguments.hosts} virtual hosts x {arguments.ranks_per_host} ranks, links of {arguments.rate}, on one machine of "
            f"{os.cpu_count()} cores, Linux {os.uname().release}")
