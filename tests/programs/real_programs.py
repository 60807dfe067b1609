#!/usr/bin/env python3
"""Runs real MPI programs with and without the library and compares what they print.

A program passes when it ends with the library as it ends without it: the same exit code and the same
results (what is compared is told at each program below). The runs alternate; the table at the end shows the medians of
their times: the program's own where it tells them, else from start to end, and what it says of its time in MPI.

  real_programs.py --library build/lib/libhanpmpi.so lammps hpcc espresso training-server
  real_programs.py --library ... --cluster 4 --ranks 16 lammps-profile      over the virtual cluster (needs root)
  real_programs.py --library ... --side forced lammps                       every collective taken, two made-up nodes
  real_programs.py --library ... --side applications --json out.json ft is  a first run, and one that knows what that has found

Exit code: 0 all equal, 1 a difference, 77 nothing could be run (program not installed).
"""
import argparse
import collections
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.realpath(os.path.join(HERE, "..", ".."))
VCLUSTER = os.path.join(HERE, "..", "cluster", "vcluster")
TRAINING = os.path.join(PROJECT, "examples", "training.py")
DIGITS = os.path.join(PROJECT, ".venv", "digits.csv.gz")  # scripts/setup fetches it

FORCED = {
    "HANPMPI_TOPOLOGY": "node:2 core:2",
    "HANPMPI_SETUP_CALLS": "1",
    "HANPMPI_SEGMENT_BYTES": "4K",
    **{f"HANPMPI_{name}": "han" for name in (
        "BCAST", "REDUCE", "ALLREDUCE", "BARRIER", "ALLGATHER", "ALLGATHERV", "ALLTOALL", "ALLTOALLV", "ALLTOALLW", "REDUCE_SCATTER",
        "REDUCE_SCATTER_BLOCK", "GATHER", "GATHERV", "SCATTER", "SCATTERV", "SCAN", "EXSCAN")},
}

MELT = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
"""

# The flow field of the melt on a 48 x 48 x 48 grid, averaged on the fly: LAMMPS adds up 110,592 cells of
# density and velocity over all ranks with MPI_Allreduce at every sample.
PROFILE = """
compute cells all chunk/atom bin/3d x lower 0.0208333 y lower 0.0208333 z lower 0.0208333 units reduced
fix field all ave/chunk 1 1 5 cells density/number vx vy vz
thermo 50
run 100
"""

# Charged particles, so that the long-ranged forces come from an FFT over all ranks (PPPM).
CHARGED = """
units lj
atom_style charge
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 2 box
create_atoms 1 box
set group all type/fraction 2 0.5 12393
set type 1 charge 1.0
set type 2 charge -1.0
mass * 1.0
velocity all create 1.0 87287 loop geom
pair_style lj/cut/coul/long 2.5
pair_coeff * * 1.0 1.0
kspace_style pppm 1.0e-4
neighbor 0.3 bin
fix 1 all nve
thermo 25
run 50
"""

# Three-dimensional FFTs, there and back, of 128 x 128 x 128 real numbers in slabs.
FFT = """
import time
import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray
comm, spent = MPI.COMM_WORLD, 0.0
fft = PFFT(comm, (128, 128, 128), axes=(0, 1, 2), dtype=float, slab=True)
field = newDistArray(fft, False)
field[:] = np.random.default_rng(comm.rank).standard_normal(field.shape)
begin = field.copy()
comm.Barrier()
start = time.perf_counter()
for _ in range(8):
    field = fft.backward(fft.forward(field))
seconds = comm.allreduce(time.perf_counter() - start, MPI.MAX)
error = comm.allreduce(float(np.abs(field - begin).max()), MPI.MAX)
total = comm.allreduce(float((np.abs(fft.forward(field)) ** 2).sum()))
if comm.rank == 0:
    print(f"transformed: the same to 1e-12: {error < 1e-12}, energy {total:.9e}")
    print(f"seconds: {seconds:.3f}")
"""

SILICON = """
&control
 calculation='scf', prefix='si', pseudo_dir='/usr/share/espresso/pseudo', outdir='./out', disk_io='none'
/
&system
 ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc=20.0
/
&electrons
 conv_thr=1.0d-8
/
ATOMIC_SPECIES
 Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.25 0.25 0.25
K_POINTS automatic
 4 4 4 1 1 1
"""

# Born-Oppenheimer steps of a water molecule in a box: FFTs, and products of small distributed matrices.
WATER = """
&GLOBAL
  PROJECT water
  RUN_TYPE MD
&END GLOBAL
&MOTION
  &MD
    ENSEMBLE NVE
    STEPS 4
    TIMESTEP 0.5
  &END MD
&END MOTION
&FORCE_EVAL
  METHOD Quickstep
  &DFT
    BASIS_SET_FILE_NAME BASIS_SET
    POTENTIAL_FILE_NAME POTENTIAL
    &MGRID
      CUTOFF 200
    &END MGRID
    &SCF
      EPS_SCF 1.0E-7
      SCF_GUESS ATOMIC
    &END SCF
    &XC
      &XC_FUNCTIONAL Pade
      &END XC_FUNCTIONAL
    &END XC
  &END DFT
  &SUBSYS
    &CELL
      ABC 4.0 4.0 4.0
    &END CELL
    &COORD
      O 0.000000  0.000000 -0.065587
      H 0.000000 -0.757136  0.520545
      H 0.000000  0.757136  0.520545
    &END COORD
    &KIND H
      BASIS_SET DZVP-GTH-PADE
      POTENTIAL GTH-PADE-q1
    &END KIND
    &KIND O
      BASIS_SET DZVP-GTH-PADE
      POTENTIAL GTH-PADE-q6
    &END KIND
  &END SUBSYS
&END FORCE_EVAL
"""

# The energy of two water molecules.
WATERS = """
start waters
geometry units angstrom noautosym
O 0.0 0.0 0.0
H 0.757 0.586 0.0
H -0.757 0.586 0.0
O 0.0 0.0 2.9
H 0.757 -0.586 2.9
H -0.757 -0.586 2.9
end
basis
* library 6-31g*
end
scf
 thresh 1e-8
end
task scf energy
"""

SCALAPACK = "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/"


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


class Program:
    """One program: its input files, its command, and the lines of its output that must not change.

    tolerance: by what share numbers on these lines may differ, where reductions of floating-point numbers have a part in them.
    seconds, mpi_seconds: where it prints its own time, and what of it was spent in MPI by the mean of the ranks.
    needs: a file without which it is skipped.
    """

    def __init__(self, executable, arguments, files, keep, mpi="openmpi", transform=None, tolerance=0.0, seconds=None, mpi_seconds=None,
                 needs=None):
        self.executable, self.arguments, self.files, self.keep = executable, arguments, files, keep
        self.mpi, self.transform, self.tolerance = mpi, transform, tolerance
        self.seconds, self.mpi_seconds, self.needs = seconds, mpi_seconds, needs

    def result(self, text):
        lines = [line.strip() for line in text.splitlines() if re.search(self.keep, line)]
        return [self.transform(line) for line in lines] if self.transform else lines

    def equal(self, one, other):
        """Of results, each with its exit code."""
        if not self.tolerance:
            return one == other
        words = [[NUMBER.sub("#", line) for line in lines] for _, lines in (one, other)]
        numbers = [[float(number) for line in lines for number in NUMBER.findall(line)] for _, lines in (one, other)]
        return one[0] == other[0] and words[0] == words[1] and all(
            math.isclose(a, b, rel_tol=self.tolerance) for a, b in zip(*numbers))


def told(pattern, text):
    """The seconds that a program prints, or None."""
    found = pattern and re.search(pattern, text, re.M)
    return float(found.group(1)) if found else None


def text_of(path):
    """Of an input file that a Debian package brings; empty where that is not installed."""
    return open(path).read() if os.path.exists(path) else ""


def hpcc_input():
    """The example input of the Debian package, made small."""
    import gzip
    path = "/usr/share/doc/hpcc/examples/_hpccinf.txt"
    if os.path.exists(path):
        text = open(path).read()
    elif os.path.exists(path + ".gz"):
        text = gzip.open(path + ".gz", "rt").read()
    else:
        return ""
    return re.sub(r"^\S+(\s+Ns)$", r"400\1", text, flags=re.M)


THERMO = r"^\s*\d+(\s+-?[\d.eE+-]+){5}\s*$"
LAMMPS_TIMES = {"seconds": r"^Loop time of ([\d.]+)", "mpi_seconds": r"^Comm +\| [^|]+\| ([\d.]+)"}


def training(form, *arguments):
    """What was learned: the loss, and the images that were read right."""
    return Program("/usr/bin/python3", [TRAINING, "--data", DIGITS, "--form", form, *arguments], {}, r"^(learned|server|allreduce):",
                   tolerance=0.02, seconds=r"^seconds: ([\d.]+)", mpi_seconds=r"^seconds: .* in MPI ([\d.]+)", needs=DIGITS)


def example(name, *arguments):
    """One of examples/, built beside the library: a checksum of all results."""
    return Program("{examples}/" + name, arguments, {}, r"checksum", transform=lambda line: line[line.index("checksum"):],
                   seconds=r"([\d.]+) s, of them", mpi_seconds=r"([\d.]+) s in MPI")


PROGRAMS = {
    # The thermodynamic table: step, temperature, energies, pressure.
    "lammps": Program("lmp", ["-in", "in.melt"], {"in.melt": MELT + "thermo 50\nrun 250\n"}, THERMO, **LAMMPS_TIMES),
    "lammps-profile": Program("lmp", ["-in", "in.profile"], {"in.profile": MELT + PROFILE}, THERMO, **LAMMPS_TIMES),
    # HPL and PTRANS check their own residuals; figures of speed differ from run to run. PTRANS prints one WALL line for each
    # test with its time, and a CPU line beside it only where the clock of the processor has ticked meanwhile.
    "hpcc": Program("hpcc", [], {"hpccinf.txt": hpcc_input()},
                    r"^(?!CPU ).*(PASSED|FAILED)|Success=|Found \d+ errors|^\s*\d+ tests ",
                    transform=lambda line: re.sub(r"^(WALL .*?)\s+[\d.]+\s+(PASSED|FAILED).*", r"\1 \2",
                                                  re.sub(r"(PASSED|FAILED).*", r"\1", line))),
    "training-server": training("server"),
    "training-allreduce": training("allreduce"),
    "lammps-pppm": Program("lmp", ["-in", "in.charged"], {"in.charged": CHARGED}, r"^\s*\d+(\s+-?[\d.eE+-]+){5,}\s*$", tolerance=1e-3, **LAMMPS_TIMES),
    "mpi4py-fft": Program("/usr/bin/python3", ["fft.py"], {"fft.py": FFT}, r"^transformed", tolerance=1e-6, seconds=r"^seconds: ([\d.]+)"),
    "is": example("is", "--class", "A", "--check"),
    "ft": example("ft", "--class", "W", "--check"),
    "sparse": example("sparse", "--check"),
    "training-short": training("server", "--hidden", "128", "--epochs", "2"),
    "cp2k": Program("cp2k.psmp", ["-i", "water.inp"], {"water.inp": WATER}, r"ENERGY\| Total FORCE_EVAL", tolerance=1e-6,
                    seconds=r"^ CP2K +1 +1\.0 +\S+ +\S+ +\S+ +([\d.]+)"),
    "nwchem": Program("nwchem.openmpi", ["waters.nw"], {"waters.nw": WATERS}, r"Total SCF energy", tolerance=1e-8,
                      seconds=r"Total times.*wall: +([\d.]+)s"),
    # LU factorizations, each with its residual.
    "scalapack": Program(SCALAPACK + "xdlu", [], {"LU.dat": text_of(SCALAPACK + "LU.dat")}, r"tests (completed and|skipped)"),
    # Total energy of every iteration, to the digits the convergence threshold allows.
    "espresso": Program("pw.x", ["-in", "si.in"], {"si.in": SILICON}, r"^!\s+total energy|convergence has been|JOB DONE"),
}


def launcher(arguments, program):
    """The launcher up to the program's name, and the environment it needs."""
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")
    if arguments.cluster:
        command = [VCLUSTER, "run", program.mpi, str(arguments.ranks // arguments.cluster), "-x", "OMP_NUM_THREADS", "-wdir", "."]
    else:
        command = ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--bind-to", "none",
                   "-np", str(arguments.ranks)]
    return command, environment


def executable_of(arguments, program):
    """None: it is not installed."""
    examples = os.path.join(os.path.dirname(arguments.library), "..", "examples", program.mpi)
    return shutil.which(program.executable.format(examples=os.path.realpath(examples)))


def run(arguments, program, side, directory, stats=False):
    command, environment = launcher(arguments, program)
    command = [directory if word == "." else word for word in command]
    if side != "native":
        environment["LD_PRELOAD"] = arguments.library
        if stats:
            environment["HANPMPI_STATS"] = "1"
        if side == "forced":
            environment.update(FORCED)
    if side in ("first", "wisdom"):
        cache = environment["HANPMPI_CACHE"] = os.path.join(directory, "cache")
        if side == "first":
            shutil.rmtree(cache, ignore_errors=True)
    for name, text in program.files.items():
        with open(os.path.join(directory, name), "w") as file:
            file.write(text)
    report = os.path.join(directory, "hpccoutf.txt") # HPCC appends to it
    if os.path.exists(report):
        os.remove(report)
    begin = time.monotonic()
    done = subprocess.run([*command, executable_of(arguments, program), *program.arguments], cwd=directory, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=arguments.timeout)
    seconds = time.monotonic() - begin
    text = done.stdout
    if os.path.exists(report):
        text += open(report).read()
    own = told(program.seconds, text)
    return (done.returncode, program.result(text)), own or seconds, told(program.mpi_seconds, text), done


SIDES = {"library": ["library"], "forced": ["forced"], "both": ["library", "forced"], "applications": ["first", "wisdom"]}
# share: of the time since MPI_Init in collectives; taken: of that in those that the library ran; by rank 0, with the library.
Row = collections.namedtuple("Row", "program side equal lines native library native_in_mpi library_in_mpi share taken")
SHARES = re.compile(r"were in collectives \(([\d.]+)%.*of these ([\d.]+)% in calls")


def compare(arguments, name):
    program = PROGRAMS[name]
    if not executable_of(arguments, program) or (program.needs and not os.path.exists(program.needs)):
        print(f"{name}: {program.needs or program.executable} is not installed, skipped", flush=True)
        return None
    sides = ["native", *SIDES[arguments.side]]
    shares = None, None
    times, in_mpi = {side: [] for side in sides}, {side: [] for side in sides}
    results, equal = {}, {side: True for side in sides}
    with tempfile.TemporaryDirectory(prefix="hanpmpi-") as directory:
        for repetition in range(arguments.repeat):
            for side in sides:
                print(f"{name}: {side}, run {repetition + 1} of {arguments.repeat} ...", flush=True)
                result, seconds, mpi_seconds, done = run(arguments, program, side, directory, arguments.stats)
                times[side].append(seconds)
                in_mpi[side].append(mpi_seconds)
                if side != "native" and arguments.stats and repetition == 0:
                    print("".join(line + "\n" for line in done.stderr.splitlines()
                                  if line.startswith(("hanpmpi", "  "))), end="", flush=True)
                first = results.setdefault("native", result)
                if side == "native" and (result[0] != 0 or not result[1]):
                    print(f"{name}: does not run here even without the library (exit code {result[0]}), skipped\n"
                          + done.stdout[-1500:] + done.stderr[-1500:])
                    return None
                if not program.equal(first, result):
                    equal[side] = False
                    print(f"{name}: DIFFERENT\nnative: {first}\n{side}: {result}\n{done.stderr[-3000:]}")
        if arguments.side == "applications":  # statistics take time, so this run is not among those above
            found = SHARES.search(run(arguments, program, sides[-1], directory, True)[-1].stderr)
            shares = tuple(float(share) / 100 for share in found.groups()) if found else shares
    return [Row(name, side, equal[side] and equal["native"], len(results["native"][1]),
                *(statistics.median(times[one]) for one in ("native", side)),
                *(statistics.median(in_mpi[one]) if in_mpi[one][0] is not None else None for one in ("native", side)), *shares)
            for side in sides[1:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", choices=sorted(PROGRAMS), metavar="PROGRAM",
                        help="one or more of: " + ", ".join(sorted(PROGRAMS)))
    parser.add_argument("--library", required=True, help="libhanpmpi.so")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--cluster", type=int, default=0, metavar="HOSTS", help="run over a virtual cluster of so many hosts")
    parser.add_argument("--rate", default="1gbit", help="its links (default 1gbit)")
    parser.add_argument("--side", choices=sorted(SIDES), default="library",
                        help="what is compared with the host MPI alone: the library as it is (library), under settings by which every "
                        "collective is taken (forced), each of them (both), or a first run and one that knows what that has found "
                        "(applications)")
    parser.add_argument("--json", metavar="FILE", help="keep the table")
    parser.add_argument("--stats", action="store_true", help="show the library's table of collectives")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=500, help="seconds for one run")
    arguments = parser.parse_args()
    arguments.library = os.path.abspath(arguments.library)
    if not os.path.exists(arguments.library):
        parser.error(f"--library {arguments.library}: no such file; build it first: cmake --build --preset release")
    if arguments.cluster:
        made = subprocess.run([VCLUSTER, "up", str(arguments.cluster), arguments.rate])
        if made.returncode:
            return made.returncode
    rows = []
    try:
        for name in arguments.programs:
            rows += compare(arguments, name) or []
    finally:
        if arguments.cluster:
            subprocess.run([VCLUSTER, "down"])
    if not rows:
        return 77
    where = f"{arguments.cluster} virtual hosts at {arguments.rate}" if arguments.cluster else "one node"
    print(f"\n{arguments.ranks} ranks on {where}, medians of {arguments.repeat}"
          + ("; forced: every collective taken" if "forced" in SIDES[arguments.side] else ""))
    print(f"{'program':<19} {'side':<8} {'result':<10} {'lines':>5} {'native s':>9} {'library s':>9} {'ratio':>6} {'in MPI: native':>15} {'library':>8}")
    for row in rows:
        in_mpi = [f"{seconds:.2f}" if seconds is not None else "-" for seconds in (row.native_in_mpi, row.library_in_mpi)]
        print(f"{row.program:<19} {row.side:<8} {'equal' if row.equal else 'DIFFERENT':<10} {row.lines:>5} {row.native:>9.2f} {row.library:>9.2f}"
              f" {row.native / row.library:>6.2f} {in_mpi[0]:>15} {in_mpi[1]:>8}")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"where": f"{arguments.ranks} ranks, {where}", "repeat": arguments.repeat, "rows": [row._asdict() for row in rows]}, file, indent=1)
    return 0 if all(row.equal for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
