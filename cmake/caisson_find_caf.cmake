# Provides the targets CAF::core and CAF::io, CAISSON_CAF_VERSION, and, if CAF has
# its OpenSSL module, CAF::openssl and CAISSON_CAF_HAS_TLS.
#
# CAF 1.x installs a CMake package. The packaged CAF 0.17 (libcaf-dev of Debian
# and Ubuntu) installs neither a CMake package nor a pkg-config file, so its
# libraries are imported by hand. If there is no CAF at all there are no
# targets, and it is up to the includer to say so: this file is used by the
# build and, installed, by find_package(caisson).

if(NOT TARGET CAF::core)
  find_package(CAF CONFIG QUIET COMPONENTS core io)
  if(TARGET CAF::core)
    set(CAISSON_CAF_VERSION ${CAF_VERSION})
  endif()
endif()

if(NOT TARGET CAF::core)
  find_package(Threads QUIET)
  find_path(CAF_INCLUDE_DIR caf/all.hpp)
  find_library(CAF_CORE_LIBRARY caf_core)
  find_library(CAF_IO_LIBRARY caf_io)
  find_library(CAF_OPENSSL_LIBRARY caf_openssl)
  mark_as_advanced(CAF_INCLUDE_DIR CAF_CORE_LIBRARY CAF_IO_LIBRARY
    CAF_OPENSSL_LIBRARY)
  if(CAF_INCLUDE_DIR AND CAF_CORE_LIBRARY AND CAF_IO_LIBRARY
     AND TARGET Threads::Threads)
    set(caisson_parts core io)
    if(CAF_OPENSSL_LIBRARY)
      list(APPEND caisson_parts openssl)
    endif()
    foreach(caisson_part IN LISTS caisson_parts)
      string(TOUPPER ${caisson_part} caisson_upper)
      add_library(CAF::${caisson_part} UNKNOWN IMPORTED)
      set_target_properties(CAF::${caisson_part} PROPERTIES
        IMPORTED_LOCATION "${CAF_${caisson_upper}_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}"
        INTERFACE_LINK_LIBRARIES Threads::Threads)
    endforeach()
    target_link_libraries(CAF::io INTERFACE CAF::core)
    if(TARGET CAF::openssl)
      target_link_libraries(CAF::openssl INTERFACE CAF::io)
    endif()
    unset(caisson_part)
    unset(caisson_parts)
    unset(caisson_upper)
  endif()
endif()

# The package of CAF 1.x names OpenSSL's targets but does not look for them; the
# module of 0.17 brings the library itself.
set(CAISSON_CAF_HAS_TLS FALSE)
if(TARGET CAF::openssl)
  if(CAF_OPENSSL_LIBRARY)
    set(CAISSON_CAF_HAS_TLS TRUE)
  else()
    find_package(OpenSSL QUIET)
    if(TARGET OpenSSL::SSL)
      set(CAISSON_CAF_HAS_TLS TRUE)
    endif()
  endif()
endif()

# 0.17.6 is `#define CAF_VERSION 1706`; 1.x has it in a generated header, but
# comes with a package that says it.
if(TARGET CAF::core AND NOT CAISSON_CAF_VERSION)
  set(CAISSON_CAF_VERSION "(version unknown)")
  if(CAF_INCLUDE_DIR)
    file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" caisson_line
      REGEX "define CAF_VERSION [0-9]+")
    if(caisson_line MATCHES "CAF_VERSION ([0-9]+)")
      set(caisson_number ${CMAKE_MATCH_1})
      math(EXPR caisson_major "${caisson_number} / 10000")
      math(EXPR caisson_minor "${caisson_number} / 100 % 100")
      math(EXPR caisson_patch "${caisson_number} % 100")
      set(CAISSON_CAF_VERSION
        ${caisson_major}.${caisson_minor}.${caisson_patch})
      unset(caisson_number)
      unset(caisson_major)
      unset(caisson_minor)
      unset(caisson_patch)
    endif()
    unset(caisson_line)
  endif()
endif()
