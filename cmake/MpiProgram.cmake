# Programs for users, one binary an MPI: compiled and linked with that MPI's compiler wrapper, as a user's program is.

# hp_mpi_tool_object(mpi compiler path): compiles path, a source in tuning/, unless another tool has; `object` of the caller is the
# object file. mpi: `plain` for what does not include mpi.h, once for all MPIs.
function(hp_mpi_tool_object mpi compiler path)
  file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR}/tuning ${path})
  set(object ${PROJECT_BINARY_DIR}/tuning/objects/${mpi}/${name}.o)
  set(object ${object} PARENT_SCOPE)
  get_property(known GLOBAL PROPERTY HP_MPI_TOOL_OBJECTS)
  if(object IN_LIST known)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY HP_MPI_TOOL_OBJECTS ${object})
  set(which -1)
  if(mpi STREQUAL "plain" OR HP_BENCH_MPIS MATCHES "^${mpi}(;|$)")
    set(which 0)
  endif()
  list(GET HANPMPI_MPI_OPTIMIZATION ${which} optimization)
  set(flags -std=gnu11 ${optimization} ${HP_DEBUG_INFORMATION} -D_GNU_SOURCE -DHANPMPI_VERSION="${PROJECT_VERSION}" -Wall -Wextra -Wshadow -Wstrict-prototypes
      -Wmissing-prototypes -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/tuning
      -I${PROJECT_BINARY_DIR}/generated ${JANSSON_CFLAGS})
  if(HANPMPI_WERROR)
    list(APPEND flags -Werror)
  endif()
  get_filename_component(folder ${object} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  # Which headers: the compiler says. The generated one must be there before.
  add_custom_command(OUTPUT ${object} COMMAND ${compiler} ${flags} -MD -MF ${object}.d -MT ${object} -c ${path} -o ${object}
    DEPENDS ${path} ${PROJECT_BINARY_DIR}/generated/between_nodes.h between_nodes DEPFILE ${object}.d VERBATIM)
endfunction()

# hp_tool_parts(target names...): gives a test the objects of sources that do not include mpi.h, tuning/<name>.c; with sanitizers, which the
# tools are built without, the sources.
function(hp_tool_parts target)
  foreach(name IN LISTS ARGN)
    set(part ${PROJECT_SOURCE_DIR}/tuning/${name}.c)
    if(NOT HANPMPI_SANITIZE)
      hp_mpi_tool_object(plain ${CMAKE_C_COMPILER} ${part})
      set(part ${object})
      set_source_files_properties(${part} PROPERTIES GENERATED ON EXTERNAL_OBJECT ON)
    endif()
    target_sources(${target} PRIVATE ${part})
  endforeach()
  hp_after_tools(${target})
endfunction()

# hp_after_tools(target): the tools share objects; other generators than Ninja know only for the target that comes first how they are made.
function(hp_after_tools target)
  get_property(before GLOBAL PROPERTY HP_TOOL_TARGETS)
  if(before AND NOT CMAKE_GENERATOR MATCHES "Ninja")
    add_dependencies(${target} ${before})
  endif()
endfunction()

# hp_mpi_tool(name mpi wrapper FOLDERS folders SOURCES names PLAIN names LIBRARIES words): bin/<name>.<mpi> from the sources
# <folder>/<name>.c, where the first folder that has one counts; PLAIN: those that do not include mpi.h. Appends the program to `programs`
# of the caller.
function(hp_mpi_tool name mpi wrapper)
  cmake_parse_arguments(ARG "" "" "FOLDERS;SOURCES;PLAIN;LIBRARIES" ${ARGN})
  set(objects "")
  foreach(source IN LISTS ARG_SOURCES ARG_PLAIN)
    unset(path)
    foreach(folder IN LISTS ARG_FOLDERS)
      if(NOT path AND EXISTS ${folder}/${source}.c)
        set(path ${folder}/${source}.c)
      endif()
    endforeach()
    if(source IN_LIST ARG_PLAIN)
      hp_mpi_tool_object(plain ${CMAKE_C_COMPILER} ${path})
    else()
      hp_mpi_tool_object(${mpi} ${wrapper} ${path})
    endif()
    list(APPEND objects ${object})
  endforeach()
  set(program ${PROJECT_BINARY_DIR}/bin/${name}.${mpi})
  add_custom_command(OUTPUT ${program} COMMAND ${wrapper} ${objects} -o ${program} ${ARG_LIBRARIES} -lm -ldl DEPENDS ${objects} VERBATIM)
  set(programs ${programs} ${program} PARENT_SCOPE)
endfunction()

# hp_tool_target(name programs...): the target that builds a tool.
function(hp_tool_target name)
  add_custom_target(${name} ALL DEPENDS ${ARGN})
  hp_after_tools(${name})
  set_property(GLOBAL APPEND PROPERTY HP_TOOL_TARGETS ${name})
endfunction()
