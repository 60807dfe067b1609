#!/usr/bin/python3
"""How much do collectives slow down when their ranks are interrupted? One command: runs, tables, pictures.

    study.py                     16 ranks on the virtual cluster (needs root), some minutes
    study.py --simulated         1,024 simulated ranks (needs SimGrid), hours on two cores
    study.py --draw FILE.json    tables and pictures of figures taken before

Three sides, interleaved inside one run: the library, the host MPI, and a control that runs the library's tree with
MPI_Waitall. README.md beside this file tells the method. Written to --output: noise_<kind>.json (all raw figures), .md (tables),
and pictures as .svg and .png.
"""
import argparse
import datetime
import json
import os
import shlex
import sys

import study_cluster
import study_figures


def draw(study, directory):
    try:
        import study_pictures
    except ImportError as problem:
        print(f"study: no pictures: {problem}; apt-get install python3-matplotlib, and run this with /usr/bin/python3", file=sys.stderr)
        return
    written = []
    if study["calls"]:
        written += study_pictures.draw_slow_down(study, directory, f"noise_{study['kind']}_slowdown")
    for collective in study["finish"]:
        written += study_pictures.draw_finishing_times(study, collective, directory, f"noise_{study['kind']}_delayed_{collective}")
    for path in written:
        print(f"wrote {path}", file=sys.stderr)


def new_study(kind, title, machine):
    command = "tests/noise/study.py " + shlex.join(sys.argv[1:])
    return {"kind": kind, "title": title, "machine": machine, "mpi": "", "date": datetime.date.today().isoformat(),
            "command": command.strip(), "commands": [command.strip()], "calls": {}, "noise": {}, "finish": {}, "trees": {}}


def save(study, directory):
    """-> the path without its suffix"""
    os.makedirs(directory, exist_ok=True)
    base = os.path.join(directory, f"noise_{study['kind']}")
    with open(base + ".json", "w") as file:
        json.dump(study, file)
    return base


def write(study, directory):
    base = save(study, directory)
    text = study_figures.tables(study)
    with open(base + ".md", "w") as file:
        file.write(text + "\n")
    print(text)
    draw(study, directory)


def simulate(arguments):
    import study_simulated
    study = new_study("simulated", "Simulated machine", study_simulated.machine(arguments))
    for collective in arguments.collective.split(","):
        for output in study_simulated.run(arguments, collective, study):
            study_figures.read_lines(output, study)
            save(study, arguments.output) # long work: what is there stays
        rates = ", ".join(f"{hz:.0f} a second ({name})" for name, hz in study["noise_hz"].items())
        study["machine"] = f"{study_simulated.machine(arguments)}; interruptions: {rates}"
        write(study, arguments.output)


def measure(arguments):
    study = new_study("measured", "Virtual cluster", "; ".join([study_cluster.machine(arguments), *arguments.set]))
    for collective in arguments.collective.split(","):
        study_figures.read_lines(study_cluster.run(arguments, collective), study)
        write(study, arguments.output)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--build", default="build", help="build folder (default build)")
    add("--output", default="noise-study", help="folder for what is written (default noise-study)")
    add("--draw", metavar="FILE", help="only tables and pictures, of this JSON file")
    add("--simulated", action="store_true", help="SimGrid instead of the virtual cluster")
    add("--collective", default="bcast,reduce", help="of bcast, reduce (default both)")
    add("--bytes", default="4M", help="message size (default 4M)")
    add("--noise", default="2%,5%,10%", help="levels (default 2%%,5%%,10%%)")
    add("--seed", type=int, default=1)
    add("--blocks", type=int, default=10, help="of each side and level (default 10)")
    add("--block-seconds", type=float, default=0.4, help="length of one (default 0.4)")
    add("--delayed", default="5,8", help="ranks to delay, one after the other (default 5,8: a leaf and an inner one)")
    add("--repeat", type=int, default=15, help="repetitions with a delayed rank (default 15)")
    add("--set", action="append", default=[], metavar="VAR=VALUE", help="a HANPMPI variable for the runs, several times")
    cluster = parser.add_argument_group("virtual cluster")
    cluster.add_argument("--mpi", choices=["openmpi", "mpich"], default="openmpi")
    cluster.add_argument("--hosts", type=int, default=4)
    cluster.add_argument("--ranks-per-host", type=int, default=4)
    cluster.add_argument("--rate", default="1gbit")
    add("--timeout", type=float, default=7200, help="seconds for one run of slowdown (default 7200)")
    simulated = parser.add_argument_group("simulation")
    simulated.add_argument("--nodes", type=int, default=32)
    simulated.add_argument("--ranks-per-node", type=int, default=32)
    simulated.add_argument("--calls", type=int, default=3, help="calls of a block (default 3)")
    simulated.add_argument("--eager", type=int, default=16384, help="bytes up to which a send does not wait for its receive (default 16384)")
    simulated.add_argument("--forced", metavar="NAME", help="SMPI's algorithm to compare with, or none (default: scatter_LR_allgather for bcast, scatter_gather for reduce)")
    simulated.add_argument("--selectors", default="ompi,mpich,mvapich2,impi", help="of SMPI, to compare with (default: all four; none)")
    simulated.add_argument("--jobs", type=int, default=os.cpu_count(), help="simulations at a time (default: the cores)")
    arguments = parser.parse_args()
    for setting in arguments.set:
        if not setting.startswith("HANPMPI_") or "=" not in setting:
            parser.error(f"--set {setting}: accepted is HANPMPI_NAME=VALUE")
    for selector in arguments.selectors.split(","):
        if selector not in ("ompi", "mpich", "mvapich2", "impi", "none"):
            parser.error(f"--selectors {selector}: accepted are ompi, mpich, mvapich2, impi, or none")
    for collective in arguments.collective.split(","):
        if collective not in ("bcast", "reduce"):
            parser.error(f"--collective {collective}: accepted are bcast and reduce")
    return arguments


def main():
    arguments = parse()
    if arguments.draw:
        with open(arguments.draw) as file:
            study = json.load(file)
        print(study_figures.tables(study))
        draw(study, arguments.output if os.path.isdir(arguments.output) else os.path.dirname(os.path.abspath(arguments.draw)))
        return 0
    if arguments.simulated:
        simulate(arguments)
    else:
        measure(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
