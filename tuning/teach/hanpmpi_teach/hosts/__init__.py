"""The MPIs that can be taught, by the word of --teach. Each is a module with

  NAME                           for people
  PROGRAMS                       the hanpmpi_teach.<mpi> that may run with it, in the order of preference
  CVARS                          prefixes of the control variables that it has to know
  recognises(version)            is it this MPI? version: of MPI_Get_library_version
  prepare(about, arguments)      what it finds out about the MPI; raises Trouble where it cannot be taught
  job_environment()              of all jobs that measure
  variants(knowledge, collectives, segments)
  uniform(knowledge)             collectives for which one choice must do for all sizes, and why
  left_out(knowledge)            collectives that cannot be taught, and why
  files(knowledge, choices)      {suffix behind the name of --output: content}; choices: {collective: [Choice]}
  withdraw(knowledge, choices)   a job with the files failed: gives choices back to the default; the text says which
  settings(knowledge, path, files)   the environment that has the MPI use them
"""
from . import intel, mpich, openmpi

HOSTS = {"openmpi": openmpi, "mpich": mpich, "intel": intel}
