# Finds SimGrid's SMPI, the simulator that runs an MPI program on a machine that is described in a file.
#
# Result: HANPMPI_SMPI_FOUND, HANPMPI_SMPIRUN, HANPMPI_SMPI_COMPILE_OPTIONS, HANPMPI_SMPI_INCLUDE, HANPMPI_SMPI_LIBRARY.

find_program(HANPMPI_SMPICC smpicc)
find_program(HANPMPI_SMPIRUN smpirun)
mark_as_advanced(HANPMPI_SMPICC HANPMPI_SMPIRUN)
set(HANPMPI_SMPI_FOUND OFF)
if(HANPMPI_SANITIZE)
  message(STATUS "SMPI is left out: a program for it is loaded a thousand times, which no sanitizer expects")
elseif(HANPMPI_SMPICC AND HANPMPI_SMPIRUN)
  execute_process(COMMAND ${HANPMPI_SMPICC} -show OUTPUT_VARIABLE _show ERROR_QUIET)
  string(REGEX MATCH "-include +([^ \n]+)" _helpers "${_show}")
  set(_helpers ${CMAKE_MATCH_1})
  get_filename_component(HANPMPI_SMPI_INCLUDE "${_helpers}" DIRECTORY)
  find_library(HANPMPI_SMPI_LIBRARY simgrid)
  mark_as_advanced(HANPMPI_SMPI_LIBRARY)
  if(EXISTS "${HANPMPI_SMPI_INCLUDE}/mpi.h" AND HANPMPI_SMPI_LIBRARY)
    # The helpers turn the clock and sleep into simulated ones. malloc stays what it is: folded buffers would
    # be the library's own, too.
    set(HANPMPI_SMPI_COMPILE_OPTIONS "SHELL:-include ${_helpers}")
    set(HANPMPI_SMPI_FOUND ON)
    message(STATUS "Backend smpi: ${HANPMPI_SMPI_INCLUDE}/mpi.h")
  endif()
endif()
if(NOT HANPMPI_SMPI_FOUND AND NOT HANPMPI_SANITIZE)
  message(STATUS "No SMPI: simulations are left out (install libsimgrid-dev for them)")
endif()
