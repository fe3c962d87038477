# Compile options of caisson's own code. Everything here is scoped to caisson's
# directories: nothing of it reaches those who link the libraries.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CAISSON_CCACHE ccache)
  mark_as_advanced(CAISSON_CCACHE)
  if(CAISSON_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CAISSON_CCACHE})
  endif()
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU
   AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns about `"text" + std::string` when it optimises: GCC bug 105651.
  add_compile_options(-Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND PROJECT_IS_TOP_LEVEL)
  # Half a gigabyte for each compiler before it collects garbage: a tenth of the
  # time is saved.
  add_compile_options("SHELL:--param ggc-min-heapsize=524288")
endif()
if(CAISSON_WERROR)
  add_compile_options(-Werror)
endif()

if(CAISSON_SANITIZE)
  # CAF 0.17's spawn forms a null reference that it never reads, in a header:
  # that one check is turned off.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

# Compiles `count` sources of `target` as one: most of their time is spent on
# reading the same headers and making the same templates. Names in unnamed
# namespaces must differ. CMake's own UNITY_BUILD writes absolute paths, so that
# ccache would not know the sources again in another clone.
function(caisson_join target count)
  get_target_property(sources ${target} SOURCES)
  set(result)
  set(includes)
  foreach(source IN LISTS sources)
    get_source_file_property(is_alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(is_alone)
      list(APPEND result ${source})
    else()
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${source})
      list(APPEND includes "#include \"${path}\"\n")
    endif()
  endforeach()
  list(LENGTH includes left)
  set(number 0)
  while(left GREATER 0)
    math(EXPR first "${number} * ${count}")
    list(SUBLIST includes ${first} ${count} part)
    list(JOIN part "" text)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/joined/${target}_${number}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
    list(APPEND result ${file})
    math(EXPR left "${left} - ${count}")
    math(EXPR number "${number} + 1")
  endwhile()
  set_target_properties(${target} PROPERTIES SOURCES "${result}")
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  # What is joined hides names of what it is joined with, and GCC takes it for a
  # header, whose classes should not hold what is in unnamed namespaces.
  target_compile_options(${target} PRIVATE -Wno-shadow
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# Adds the library `caisson_<name>`, known to users as `caisson::<name>`.
function(caisson_add_library name)
  set(target caisson_${name})
  add_library(${target} ${ARGN})
  add_library(caisson::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  # GCC's -Wconversion leaves out changes of sign alone, Clang's does not.
  target_compile_options(${target} PRIVATE -Wconversion
    $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>)
  if(CAISSON_JOIN STREQUAL ALL)
    caisson_join(${target} 8)
  endif()
  # Headers lie beside their sources, under both roots.
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/actors>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()


# Tests and demos are written as users of CAF 0.17 write; 1.x takes that too,
# deprecated.
function(caisson_take_deprecated name)
  if(CAISSON_CAF_VERSION VERSION_GREATER_EQUAL 1)
    target_compile_options(${name} PRIVATE -Wno-deprecated-declarations)
  endif()
endfunction()

# Embeds files into `target`, as the constants that `header` declares in
# `namespace`. Further arguments are the parts: NAME=FILE,FILE,…
function(caisson_embed target header namespace)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}_parts.cpp)
  set(script ${PROJECT_SOURCE_DIR}/cmake/caisson_embed.cmake)
  set(files)
  foreach(part IN LISTS ARGN)
    string(REGEX REPLACE "^[^=]*=" "" paths "${part}")
    string(REPLACE "," ";" paths "${paths}")
    list(APPEND files ${paths})
  endforeach()
  list(JOIN ARGN "|" parts)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DOUT=${source} -DHEADER=${header}
      -DNAMESPACE=${namespace} "-DPARTS=${parts}" -P ${script}
    DEPENDS ${script} ${files}
    VERBATIM)
  # Made by a build.
  # Compilers take longer texts than they have to.
  set_source_files_properties(${source} PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS -Wno-overlength-strings)
  target_sources(${target} PRIVATE ${source})
endfunction()
