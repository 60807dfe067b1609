# Programs for users, one binary an MPI: compiled and linked with that MPI's compiler wrapper, as a user's program is.

# hp_mpi_compile(VARIABLE wrapper): the words that `wrapper -c` stands for, asked once: MPICH's is a script that starts processes for each of its
# arguments, and takes as long as the compiler. The wrapper itself where it does not say. Programs are linked by the wrapper.
function(hp_mpi_compile variable wrapper)
  get_property(words GLOBAL PROPERTY "HP_MPI_COMPILE_${wrapper}")
  if(NOT words)
    execute_process(COMMAND ${wrapper} -show -c x.c OUTPUT_VARIABLE said OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
    separate_arguments(words UNIX_COMMAND "${said}")
    if(failed OR NOT said MATCHES "^[^\n]+ -c x\\.c[^\n]*$")
      set(words ${wrapper})
    endif()
    list(REMOVE_ITEM words -c x.c)
    set_property(GLOBAL PROPERTY "HP_MPI_COMPILE_${wrapper}" ${words})
  endif()
  set(${variable} ${words} PARENT_SCOPE)
endfunction()

# What the compiler says of an object's headers Ninja takes as it is, where the object has the name that Ninja knows: no start of CMake for each
# object to rewrite it.
cmake_policy(PUSH)
cmake_policy(SET CMP0116 OLD)

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
  set(known_as ${object})
  if(CMAKE_GENERATOR MATCHES "Ninja")
    file(RELATIVE_PATH known_as ${CMAKE_BINARY_DIR} ${object})
  endif()
  # Which headers: the compiler says. The generated one must be there before.
  add_custom_command(OUTPUT ${object} COMMAND ${compiler} ${flags} -MD -MF ${object}.d -MT ${known_as} -c ${path} -o ${object}
    DEPENDS ${path} ${PROJECT_BINARY_DIR}/generated/between_nodes.h between_nodes DEPFILE ${object}.d VERBATIM)
endfunction()
cmake_policy(POP)

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
  hp_mpi_compile(compile ${wrapper})
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
      hp_mpi_tool_object(${mpi} "${compile}" ${path})
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
