# Finds an mpi.h of every ABI that a backend can be built for. Headers only: nothing is linked with an MPI.
#
# Looked at: HANPMPI_MPI_INCLUDE_DIRS (a list the user may give), the include directories that the mpicc* wrappers in PATH
# report, Debian's directories, and the Python environment .venv of the source tree (scripts/setup makes it).
# Result: HANPMPI_ABIS, and for each abi HANPMPI_HEADER_<abi>, HANPMPI_INCLUDE_<abi>.

set(HANPMPI_MPI_INCLUDE_DIRS "" CACHE STRING "Further directories to look for mpi.h or mpi_abi.h in")

set(_candidates ${HANPMPI_MPI_INCLUDE_DIRS})
foreach(wrapper mpicc.openmpi mpicc.mpich mpicc)
  find_program(HANPMPI_WRAPPER_${wrapper} ${wrapper})
  mark_as_advanced(HANPMPI_WRAPPER_${wrapper})
  if(HANPMPI_WRAPPER_${wrapper})
    execute_process(COMMAND ${HANPMPI_WRAPPER_${wrapper}} -show OUTPUT_VARIABLE _show ERROR_QUIET)
    string(REGEX MATCHALL "-I[^ \n]+" _flags "${_show}")
    list(TRANSFORM _flags REPLACE "^-I" "")
    list(APPEND _candidates ${_flags})
  endif()
endforeach()
list(APPEND _candidates ${PROJECT_SOURCE_DIR}/.venv/mpich/include)
list(REMOVE_DUPLICATES _candidates)

set(HANPMPI_ABIS "")
macro(_hanpmpi_take abi header directory)
  if(NOT ${abi} IN_LIST HANPMPI_ABIS)
    list(APPEND HANPMPI_ABIS ${abi})
    set(HANPMPI_HEADER_${abi} ${header})
    set(HANPMPI_INCLUDE_${abi} ${directory})
    message(STATUS "Backend ${abi}: ${directory}/${header}")
  endif()
endmacro()

foreach(directory IN LISTS _candidates)
  if(EXISTS ${directory}/mpi_abi.h)
    _hanpmpi_take(mpiabi mpi_abi.h ${directory})
  endif()
  if(EXISTS ${directory}/mpi.h)
    file(STRINGS ${directory}/mpi.h _marks REGEX "define +(OMPI_MAJOR_VERSION|MPICH_VERSION|MPI_ABI_VERSION)")
    if(_marks MATCHES "OMPI_MAJOR_VERSION")
      _hanpmpi_take(openmpi mpi.h ${directory})
    elseif(_marks MATCHES "MPICH_VERSION")
      _hanpmpi_take(mpich mpi.h ${directory})
    elseif(_marks MATCHES "MPI_ABI_VERSION")
      _hanpmpi_take(mpiabi mpi.h ${directory})
    endif()
  endif()
endforeach()

if(NOT HANPMPI_ABIS)
  message(FATAL_ERROR "No mpi.h found: install libopenmpi-dev or libmpich-dev, or set HANPMPI_MPI_INCLUDE_DIRS")
endif()
