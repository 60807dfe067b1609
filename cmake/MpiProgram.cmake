# Programs for users, one binary an MPI: compiled and linked with that MPI's compiler wrapper, as a user's program is.

# hp_mpi_tool(name mpi wrapper FOLDERS folders SOURCES names LIBRARIES words): bin/<name>.<mpi> from the sources <folder>/<name>.c,
# where the first folder that has one counts. Appends the program to `programs` of the caller.
function(hp_mpi_tool name mpi wrapper)
  cmake_parse_arguments(ARG "" "" "FOLDERS;SOURCES;LIBRARIES" ${ARGN})
  set(flags -std=gnu11 -O2 -g -D_GNU_SOURCE -DHANPMPI_VERSION="${PROJECT_VERSION}" -Wall -Wextra -Wshadow -Wstrict-prototypes
      -Wmissing-prototypes -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/tuning
      -I${PROJECT_BINARY_DIR}/generated ${JANSSON_CFLAGS})
  if(HANPMPI_WERROR)
    list(APPEND flags -Werror)
  endif()
  set(headers ${PROJECT_SOURCE_DIR}/include/hanpmpi/hanpmpi.h ${PROJECT_BINARY_DIR}/generated/between_nodes.h)
  foreach(folder IN LISTS ARG_FOLDERS)
    file(GLOB found CONFIGURE_DEPENDS ${folder}/*.h)
    list(APPEND headers ${found})
  endforeach()
  set(to ${CMAKE_CURRENT_BINARY_DIR}/${mpi}/${name})
  file(MAKE_DIRECTORY ${to})
  set(objects "")
  foreach(source IN LISTS ARG_SOURCES)
    unset(path)
    foreach(folder IN LISTS ARG_FOLDERS)
      if(NOT path AND EXISTS ${folder}/${source}.c)
        set(path ${folder}/${source}.c)
      endif()
    endforeach()
    add_custom_command(OUTPUT ${to}/${source}.o COMMAND ${wrapper} ${flags} -c ${path} -o ${to}/${source}.o
      DEPENDS ${path} ${headers} between_nodes VERBATIM)
    list(APPEND objects ${to}/${source}.o)
  endforeach()
  set(program ${PROJECT_BINARY_DIR}/bin/${name}.${mpi})
  add_custom_command(OUTPUT ${program} COMMAND ${wrapper} ${objects} -o ${program} ${ARG_LIBRARIES} -lm -ldl DEPENDS ${objects} VERBATIM)
  set(programs ${programs} ${program} PARENT_SCOPE)
endfunction()
