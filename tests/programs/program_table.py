"""The programs that real_programs.py runs: input files, command, and what of their output must not change."""
import math
import os
import re

import inputs

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.realpath(os.path.join(HERE, "..", ".."))
TRAINING = os.path.join(PROJECT, "examples", "training.py")
DIGITS = os.path.join(PROJECT, ".venv", "digits.csv.gz")  # scripts/setup fetches it
SCALAPACK = "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


class Program:
    """One program: its input files, its command, and the lines of its output that must not change.

    mpis: those that it runs on, of MPIS in real_programs.py: a binary for Open MPI 4 runs on Open MPI 5, too.
    tolerance: by what share numbers on these lines may differ, where reductions of floating-point numbers have a part in them.
    seconds, mpi_seconds: where it prints its own time, and what of it was spent in MPI by the mean of the ranks.
    needs: a file without which it is skipped. report: a file that it writes beside its output.
    prepare: commands that make further input files, once, without the library and before anything is timed.
    """

    def __init__(self, executable, arguments, files, keep, mpis=("openmpi", "openmpi5"), transform=None, tolerance=0.0, seconds=None,
                 mpi_seconds=None, needs=None, report=None, prepare=()):
        self.executable, self.arguments, self.files, self.keep = executable, arguments, files, keep
        self.mpis, self.transform, self.tolerance = mpis, transform, tolerance
        self.seconds, self.mpi_seconds, self.needs = seconds, mpi_seconds, needs
        self.report, self.prepare = report, prepare

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


THERMO = r"^\s*\d+(\s+-?[\d.eE+-]+){5}\s*$"
LAMMPS_TIMES = {"seconds": r"^Loop time of ([\d.]+)", "mpi_seconds": r"^Comm +\| [^|]+\| ([\d.]+)"}


def training(form, *arguments):
    """What was learned: the loss, and the images that were read right."""
    return Program("/usr/bin/python3", [TRAINING, "--data", DIGITS, "--form", form, *arguments], {}, r"^(learned|server|allreduce):",
                   tolerance=0.02, seconds=r"^seconds: ([\d.]+)", mpi_seconds=r"^seconds: .* in MPI ([\d.]+)", needs=DIGITS)


def hpcc(size):
    """HPL and PTRANS check their own residuals, RandomAccess that few of its updates were lost to others; figures of speed differ from run to
    run. PTRANS prints one WALL line for each test with its time, and a CPU line beside it only where the clock of the processor has
    ticked meanwhile."""
    def without_figures(line):
        line = re.sub(r"(PASSED|FAILED).*", r"\1", re.sub(r"^Found \d+ errors", "Found errors", line))
        return re.sub(r"^(WALL .*?)\s+[\d.]+\s+(PASSED|FAILED)", r"\1 \2", line)
    return Program("hpcc", [], {"hpccinf.txt": inputs.hpcc(size)}, r"^(?!CPU ).*(PASSED|FAILED)|Success=|Found \d+ errors|^\s*\d+ tests ",
                   transform=without_figures, report="hpccoutf.txt")


def espresso(text):
    """Total energy of every iteration, to the digits the convergence threshold allows."""
    return Program("pw.x", ["-in", "si.in"], {"si.in": text}, r"^!\s+total energy|convergence has been|JOB DONE",
                   seconds=r"^ +PWSCF +: .*CPU +([\d.]+)s WALL")


def example(name, *arguments):
    """One of examples/, built beside the library: a checksum of all results."""
    return Program("{examples}/" + name, arguments, {}, r"checksum", mpis=("openmpi", "openmpi5", "mpich", "mpich5"), transform=lambda line: line[line.index("checksum"):],
                   seconds=r"([\d.]+) s, of them", mpi_seconds=r"([\d.]+) s in MPI")


PROGRAMS = {
    # The thermodynamic table: step, temperature, energies, pressure.
    "lammps": Program("lmp", ["-in", "in.melt"], {"in.melt": inputs.MELT + "thermo 50\nrun 250\n"}, THERMO, **LAMMPS_TIMES),
    # Most of its time is computing, and what it communicates goes from neighbour to neighbour: nothing to gain, nothing to lose.
    "lammps-melt": Program("lmp", ["-in", "in.melt"], {"in.melt": inputs.LARGE_MELT}, THERMO, **LAMMPS_TIMES),
    "lammps-profile": Program("lmp", ["-in", "in.profile"], {"in.profile": inputs.MELT + inputs.PROFILE}, THERMO, **LAMMPS_TIMES),
    "lammps-long": Program("lmp", ["-in", "in.melt"], {"in.melt": inputs.MELT + "thermo 1000\nrun 5000\n"}, THERMO, **LAMMPS_TIMES),
    "hpcc": hpcc(400),
    "hpcc-large": hpcc(1500),
    "training-server": training("server"),
    "training-allreduce": training("allreduce", "--hidden", "1024"),
    "lammps-pppm": Program("lmp", ["-in", "in.charged"], {"in.charged": inputs.CHARGED}, r"^\s*\d+(\s+-?[\d.eE+-]+){5,}\s*$", tolerance=1e-3, **LAMMPS_TIMES),
    "mpi4py-fft": Program("/usr/bin/python3", ["fft.py"], {"fft.py": inputs.FFT}, r"^transformed", tolerance=1e-6, seconds=r"^seconds: ([\d.]+)"),
    "is": example("is", "--class", "B", "--check"),
    "is-a": example("is", "--class", "A", "--check"),
    "ft": example("ft", "--class", "A", "--check"),
    "sparse": example("sparse", "--check", "--iterations", "400"),
    "training-short": training("server", "--hidden", "128", "--epochs", "2"),
    "cp2k": Program("cp2k.psmp", ["-i", "water.inp"], {"water.inp": inputs.WATER}, r"ENERGY\| Total FORCE_EVAL", tolerance=1e-6,
                    seconds=r"^ CP2K +1 +1\.0 +\S+ +\S+ +\S+ +([\d.]+)"),
    "nwchem": Program("nwchem.openmpi", ["waters.nw"], {"waters.nw": inputs.WATERS}, r"Total SCF energy", tolerance=1e-8,
                      seconds=r"Total times.*wall: +([\d.]+)s"),
    # LU factorizations, each with its residual.
    "scalapack": Program(SCALAPACK + "xdlu", [], {"LU.dat": inputs.LU}, r"tests (completed and|skipped)"),
    "espresso": espresso(inputs.SILICON),
    "espresso-large": espresso(inputs.LARGE_SILICON),
    # 2,180 water molecules with their long-ranged forces (PME). Its energies; a trajectory is not the same to the digit.
    "gromacs": Program("gmx_mpi", ["mdrun", "-s", "water.tpr", "-g", "md.log", "-ntomp", "1", "-npme", "0", "-notunepme", "-dlb", "no", "-reprod"],
                       inputs.GROMACS, r"^(?:\s+-?\d\.\d{5}e[+-]\d\d){5}$", report="md.log", tolerance=0.05,
                       seconds=r"^ +Time: +[\d.]+ +([\d.]+)", prepare=inputs.GROMACS_PREPARE),
}
