# The headers that users include, and those that these need.
#
# Users may rely on what public_headers.txt lists. What else is installed, is so
# because one of these includes it.

# Sets `out` to the listed headers, as `caisson/x.hpp`, without those of
# components that are not built.
function(caisson_public_headers out)
  set(list ${PROJECT_SOURCE_DIR}/cmake/public_headers.txt)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY
    CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} headers)
  foreach(part IN ITEMS metrics http http_client grpc redis postgres asio control otlp
      config)
    if(NOT TARGET caisson_${part})
      list(FILTER headers EXCLUDE REGEX "^caisson/([a-z]+/)?${part}/")
    endif()
  endforeach()
  if(NOT TARGET caisson_config)
    list(REMOVE_ITEM headers caisson/reload.hpp caisson/settings/toml.hpp)
  endif()
  set(${out} ${headers} PARENT_SCOPE)
endfunction()

# Sets `out` to the path of a header below the project.
function(caisson_find_header header out)
  foreach(root IN ITEMS runtime actors)
    if(EXISTS ${PROJECT_SOURCE_DIR}/${root}/${header})
      set(${out} ${PROJECT_SOURCE_DIR}/${root}/${header} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "there is no header ${header}")
endfunction()

# Installs the headers and all that they include.
function(caisson_install_headers)
  set(pending ${ARGN})
  set(seen ${ARGN})
  while(pending)
    list(POP_FRONT pending header)
    caisson_find_header(${header} path)
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES ${path} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder}
      COMPONENT dev)
    file(STRINGS ${path} includes REGEX "^#include <caisson/")
    foreach(line IN LISTS includes)
      string(REGEX REPLACE "^#include <(.+)>.*" "\\1" next "${line}")
      if(NOT next IN_LIST seen)
        list(APPEND seen ${next})
        list(APPEND pending ${next})
      endif()
    endforeach()
  endwhile()
endfunction()
