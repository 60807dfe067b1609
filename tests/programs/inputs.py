"""Input files of the programs that real_programs.py runs: each small enough for a few seconds."""
import gzip
import os
import re

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

LARGE_MELT = MELT.replace("0 10 0 10 0 10", "0 40 0 40 0 40") + "thermo 20\nrun 40\n"

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
for _ in range(40):
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

# Eight atoms in a cube, more plane waves, and all of its points in k space: seconds on 16 cores.
LARGE_SILICON = (SILICON.replace("ibrav=2", "ibrav=1").replace("nat=2", "nat=8").replace("ecutwfc=20.0", "ecutwfc=40.0, nosym=.true.")
                 .replace(" Si 0.25 0.25 0.25\n", "".join(f" Si {x} {y} {z}\n" for x, y, z in (
                     (0.25, 0.25, 0.25), (0, 0.5, 0.5), (0.25, 0.75, 0.75), (0.5, 0, 0.5), (0.75, 0.25, 0.75), (0.5, 0.5, 0), (0.75, 0.75, 0.25)))))

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

# A box of 4 nm full of water, 60 steps.
GROMACS = {"water.top": """
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spc.itp"
[ system ]
water
[ molecules ]
""", "water.mdp": """
integrator = md
dt = 0.001
nsteps = 300
nstlog = 100
nstcalcenergy = 100
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
gen-vel = yes
gen-seed = 1
"""}
GROMACS_PREPARE = (
    ("gmx_mpi", "-quiet", "solvate", "-cs", "spc216.gro", "-box", "4", "4", "4", "-o", "water.gro", "-p", "water.top"),
    ("gmx_mpi", "-quiet", "grompp", "-f", "water.mdp", "-c", "water.gro", "-p", "water.top", "-o", "water.tpr"))


# For ScaLAPACK's test of LU decompositions, whose own input keeps 4 of 16 ranks busy and has no matrix above 57 rows.
LU = """'LU decompositions of more ranks and rows than in the example'
'MPI'
'LU.out' output file
6 device out
2 number of problem sizes
700 1000 M
700 1000 N
2 number of block sizes
4 8 NB
1 number of right-hand sides
4 NRHS
1 number of their block sizes
4 NBRHS
3 number of process grids
1 2 4 P
4 2 4 Q
1.0 threshold
F (T or F) Test Cond. Est. and Iter. Ref. Routines
"""


def hpcc(size=400):
    """The example input of the Debian package, made small; size: rows of its matrices."""
    path = "/usr/share/doc/hpcc/examples/_hpccinf.txt"
    if os.path.exists(path):
        text = open(path).read()
    elif os.path.exists(path + ".gz"):
        text = gzip.open(path + ".gz", "rt").read()
    else:
        return ""
    return re.sub(r"^\S+(\s+Ns)$", rf"{size}\1", text, flags=re.M)
